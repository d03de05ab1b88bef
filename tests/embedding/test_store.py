"""Embedding store: round trips, damage, and faults that cost warnings and no run."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.base import versions
from pytest_audioretrieval.embedding import store
from pytest_audioretrieval.embedding.store import Store, space
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol

Vectors = npt.NDArray[np.float32]
ROWS = np.array([[1.5, -2.0, 3e-38], [0.1, 0.2, 0.3]], dtype=np.float32)


def shards(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_is_put_comes_back(tmp_path: Path) -> None:
    Store(tmp_path).put("audio-1", ["a", "b"], ROWS)
    Store(tmp_path).put("audio-1", ["c"], ROWS[:1] * 2)
    found = Store(tmp_path).get("audio-1")
    assert {key: row.tobytes() for key, row in found.items()} == {
        "a": ROWS[0].tobytes(),
        "b": ROWS[1].tobytes(),
        "c": (ROWS[0] * 2).tobytes(),
    }
    assert all(row.dtype == np.float32 for row in found.values())
    assert Store(tmp_path).get("audio-2") == {}


def test_a_shard_is_named_after_its_bytes_and_written_once(tmp_path: Path) -> None:
    for _ in range(2):
        Store(tmp_path).put("audio-1", ["a", "b"], ROWS)
    (shard,) = shards(tmp_path)
    assert shard.name == f"{hashlib.sha256(shard.read_bytes()).hexdigest()}.npz"
    assert shard.parent.name == "audio-1"


def test_no_folder_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store(None).put("audio-1", ["a", "b"], ROWS)
    assert Store(None).get("audio-1") == {}
    assert shards(tmp_path) == []


def test_a_space_is_all_that_moves_a_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    base = Protocol()
    here = space("w", base, "audio")
    assert space("w", replace(base, name="other"), "audio") == here
    others = {
        space("v", base, "audio"),
        space("w", base, "text"),
        space("w", replace(base, seconds=7.0), "audio"),
        space("w", NAMED["full-clip"], "audio"),
    }
    real = versions._version
    for library in ("numpy", "soundfile", "soxr", "tokenizers", "torch", "transformers", "pytest-audioretrieval"):
        monkeypatch.setattr(versions, "_version", lambda name, moved=library: "0" if name == moved else real(name))
        others.add(space("w", base, "audio"))
    monkeypatch.setattr(versions, "_version", real)
    monkeypatch.setattr(store, "REVISION", "front-end 1")
    others.add(space("w", base, "audio"))
    assert len(others) == 12
    assert here not in others
    assert here.startswith("audio-")
    assert versions._version("no-such-package-at-all") == "absent"


def _flip(content: bytes) -> bytes:
    return content[:200] + bytes([content[200] ^ 1]) + content[201:]


@pytest.mark.parametrize(
    "damage",
    [_flip, lambda c: c[: len(c) // 2], lambda c: b"", lambda c: c + b"\0"],
    ids=["a bit", "half", "empty", "one byte more"],
)
def test_a_damaged_shard_is_dropped_with_one_warning(damage: object, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("audio-1", ["a", "b"], ROWS)
    (shard,) = shards(tmp_path)
    store.put("audio-1", ["c"], ROWS[:1])
    shard.write_bytes(damage(shard.read_bytes()))  # type: ignore[operator]
    with pytest.warns(UserWarning, match="damaged, .* removed, its vectors are made anew") as caught:
        assert list(store.get("audio-1")) == ["c"]
    assert len(caught) == 1
    assert not shard.exists()
    assert list(store.get("audio-1")) == ["c"]


def test_what_cannot_be_read_is_left_and_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many open files, a disk's error, a right that lacks: the shard itself may be whole."""
    store, seen = Store(tmp_path), set[str]()
    store.put("audio-1", ["a", "b"], ROWS)
    (tmp_path / "audio-1" / "folder.npz").mkdir()

    def many(path: Path) -> bytes:
        raise OSError(24, "Too many open files", str(path))

    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        patch.setattr(Path, "read_bytes", many)
        warnings.simplefilter("always")
        assert store.get("audio-1", seen) == store.get("audio-1", seen) == {}
    assert [str(one.message).partition(" cannot ")[2] for one in caught] == [
        "be read (Too many open files): its vectors are made anew"
    ] * 2
    with pytest.warns(UserWarning, match=r"folder\.npz cannot be read \(Is a directory\)"):
        assert list(store.get("audio-1")) == ["a", "b"]


def _pickled() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, keys=np.array(["a", None], dtype=object), vectors=ROWS)
    return stream.getvalue()


@pytest.mark.parametrize("content", [_pickled(), b"PK\x03\x04 no zip", b"no npz at all", b"\x93NUMPY\x01\x00"])
def test_a_foreign_file_with_the_right_name_is_neither_unpickled_nor_fatal(content: bytes, tmp_path: Path) -> None:
    Store(tmp_path).put("audio-1", ["a", "b"], ROWS)
    path = shards(tmp_path)[0].rename(shards(tmp_path)[0].with_name(f"{hashlib.sha256(content).hexdigest()}.npz"))
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="removed, its vectors are made anew"):
        assert Store(tmp_path).get("audio-1") == {}
    assert not path.exists()


def test_a_user_who_turns_warnings_into_errors_meets_the_damage_once(tmp_path: Path) -> None:
    Store(tmp_path).put("audio-1", ["a", "b"], ROWS)
    shards(tmp_path)[0].write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="damaged"):
            Store(tmp_path).get("audio-1")
        assert Store(tmp_path).get("audio-1") == {}


def test_an_unwritable_cache_is_one_warning(tmp_path: Path) -> None:
    """A folder below a regular file cannot be made, by root neither."""
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "cache")
    assert store.get("audio-1") == {}
    with pytest.warns(UserWarning, match=r"file/cache.* does not keep vectors \(Not a directory\)"):
        store.put("audio-1", ["a", "b"], ROWS)
    store.put("audio-1", ["c"], ROWS[:1])  # a second warning would be an error here
    assert store.get("audio-1") == {}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_nothing_half_written(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.put("audio-1", ["a"], ROWS[:1])
    before = {path: path.read_bytes() for path in shards(tmp_path)}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", full) if step == "fsync" else (Path, "replace", full)))
    with pytest.warns(UserWarning, match="No space left on device"):
        store.put("audio-1", ["b"], ROWS[1:])
    assert {path: path.read_bytes() for path in shards(tmp_path)} == before


def test_a_half_written_shard_of_a_killed_process_is_not_read(tmp_path: Path) -> None:
    Store(tmp_path).put("audio-1", ["a"], ROWS[:1])
    (shard,) = shards(tmp_path)
    shard.with_suffix(".4711.tmp").write_bytes(shard.read_bytes()[:50])
    assert list(Store(tmp_path).get("audio-1")) == ["a"]
