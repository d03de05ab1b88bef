"""Atomic writes, and stamps that tell a file from another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_audioretrieval.base.files import expanded, stamp, write_atomically


def test_it_makes_folders_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a/b/run.json"
    for content in (b"old", b"new"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["run.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_failure_leaves_what_stood_there_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("run.json", b"old")]


@pytest.mark.parametrize("anew", [False, True], ids=["in place", "removed and made anew"])
def test_another_content_is_told_where_the_time_of_the_last_write_was_set_back(tmp_path: Path, anew: bool) -> None:
    path = tmp_path / "sound.wav"
    path.write_bytes(b"old")
    before, found = stamp(path), path.stat()
    assert stamp(path) == before
    while path.stat().st_ctime_ns == found.st_ctime_ns:  # until the clock of the file system moves on
        path.touch()
    if anew:
        path.unlink()  # the next file may get its inode
    path.write_bytes(b"new")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_mtime_ns == found.st_mtime_ns
    assert stamp(path) != before


def test_a_home_is_that_of_the_user_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("~/clips") == Path("/home/me/clips")
    assert expanded(Path("a/~b")) == Path("a/~b")
    assert expanded("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")
