"""Sharing of work among processes; a killed one loses only its current shard."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest

from pytest_audioretrieval.embedding import sharing
from pytest_audioretrieval.embedding.engine import embed_clips
from pytest_audioretrieval.embedding.sharing import SHARD, SharedBatches
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.pinning.protocol import Protocol
from tests.embedding.fake import WHO, Fake, clips, expected, track

REPOSITORY = Path(__file__).parents[2]
KEYS = [[f"{number}"] for number in range(SHARD * 2 + 10)]
ROW = np.ones((1, 2), dtype=np.float32)


def fork(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a process that may fork, which this one, with its threads, should not."""
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *code.split("\0"), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )


def test_killed_at_random_moments() -> None:
    """Twelve here; the module run by itself does 200."""
    done = fork("-m\0tests.embedding.soak", "12", "7")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("12 kills: vectors equal, nothing damaged"), done.stdout


FOUR = """
import sys
from pathlib import Path
from tests.embedding import soak
soak.MODEL = 0.01
logs = ["1", "2", "3", "4"]
assert not any([soak.ended(child) for child in [soak.embedding(Path(sys.argv[1]), log) for log in logs]])
"""


def test_four_at_once_embed_each_clip_once_and_share_the_pieces(tmp_path: Path) -> None:
    done = fork(f"-c\0{FOUR}", str(tmp_path))
    assert done.returncode == 0, done.stderr
    shares = [(tmp_path / log).read_text().split() for log in "1234"]
    embedded = [clip for share in shares for clip in share]
    assert len(embedded) == len(set(embedded)) == 300
    assert sum(bool(share) for share in shares) > 1, "while one process makes a piece, the others take the next ones"


def read(keys: Iterable[str]) -> Generator[str, None, None]:
    yield from keys


def walk(work: SharedBatches, made: list[str]) -> Iterator[None]:
    """Make what is there to make, a batch a step."""
    for batch, items in work:
        if items:
            work.add(batch, ROW)
            made += batch
        yield


def test_each_takes_what_no_other_has(tmp_path: Path) -> None:
    one, two = (
        SharedBatches(KEYS, Store(tmp_path), "audio-1", read),
        SharedBatches(KEYS, Store(tmp_path), "audio-1", read),
    )
    ones: list[str] = []
    twos: list[str] = []
    for _ in zip_longest(walk(one, ones), walk(two, twos)):
        pass
    keys = [key for (key,) in KEYS]
    assert (ones, twos) == (keys[:SHARD] + keys[2 * SHARD :], keys[SHARD : 2 * SHARD])
    assert list(one.vectors) != list(two.vectors)
    assert set(one.vectors) == set(two.vectors) == set(keys)


def test_nothing_is_read_of_a_piece_that_another_process_has(tmp_path: Path) -> None:
    asked: list[str] = []

    def noted(keys: Iterable[str]) -> Generator[str, None, None]:
        for key in keys:
            asked.append(key)
            yield key

    other = walk(SharedBatches(KEYS, Store(tmp_path), "audio-1", read), [])
    next(other)
    steps = walk(SharedBatches(KEYS, Store(tmp_path), "audio-1", noted), [])
    for _ in range(SHARD):
        next(steps)
    assert asked == [key for (key,) in KEYS[SHARD : 2 * SHARD]]


def test_a_piece_that_failed_is_free_for_others(tmp_path: Path) -> None:
    one = SharedBatches(KEYS, Store(tmp_path), "audio-1", read)
    made: list[str] = []
    steps = walk(one, made)
    for _ in range(3):
        next(steps)
    one.close()
    other: list[str] = []
    assert len(list(walk(SharedBatches(KEYS, Store(tmp_path), "audio-1", read), other))) == len(KEYS) - 3
    assert sorted(made + other, key=int) == [key for (key,) in KEYS]


def test_who_holds_a_piece_for_good_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "PATIENCE", 0.3)
    stopped = walk(SharedBatches(KEYS, Store(tmp_path), "audio-1", read), [])
    next(stopped)
    made: list[str] = []
    with pytest.warns(UserWarning, match=r"another process has had audio-1/[0-9a-f]{16} for 0 minutes: made here as"):
        list(walk(SharedBatches(KEYS, Store(tmp_path), "audio-1", read), made))
    assert sorted(made, key=int) == [key for (key,) in KEYS]


def test_batches_are_not_torn_and_pieces_do_not_depend_on_what_is_stored(tmp_path: Path) -> None:
    batches = [[f"{start + i}" for i in range(24)] for start in range(0, 240, 24)]
    store = Store(tmp_path)
    whole = SharedBatches(batches, store, "text-1", read)
    store.put("text-1", batches[1], np.ones((24, 2), dtype=np.float32))
    rest = SharedBatches(batches, store, "text-1", read)
    assert list(rest._missing) == list(whole._missing)
    assert [len(piece) for piece in whole._missing.values()] == [3, 3, 3, 1]
    assert [batch for batch, _ in rest] == batches[:1] + batches[2:]


@pytest.mark.parametrize("error", [OSError(errno.ENOLCK, "No locks available"), NotImplementedError("no flock here")])
def test_where_nothing_can_be_locked_the_work_is_done_and_that_is_said(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acquire(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(filelock.FileLock, "acquire", acquire)
    items = clips(SHARD * 2)
    with pytest.warns(UserWarning, match="cannot be locked .*: runs at the same time embed the same clips") as caught:
        made = embed_clips(items, Fake, WHO, Protocol(), Store(tmp_path), track)
    assert len(caught) == 1
    np.testing.assert_array_equal(made, expected(items))
    assert len(list(tmp_path.rglob("*.npz"))) == 2


@contextmanager
def powerless() -> Iterator[None]:
    """Root may write anywhere, so it becomes nobody for a while."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_cache_that_is_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its vectors are used, the rest are made, and one warning says that they are not stored."""
    items = clips(SHARD * 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        embed_clips(items[:SHARD], Fake, WHO, Protocol(), Store(folder), track)
        (space,) = (path for path in folder.iterdir() if path.is_dir())
        before = sorted(folder.rglob("*"))
        for path in (space, folder):
            path.chmod(0o555)
        fake = Fake()
        with powerless(), pytest.warns(UserWarning, match=r"does not keep vectors \(Permission denied\)") as caught:
            made = embed_clips(items, lambda: fake, WHO, Protocol(), Store(folder), track)
        assert sorted(folder.rglob("*")) == before
        for path in (folder, space):
            path.chmod(0o755)
    assert len(caught) == 1
    assert len(fake.audio) == SHARD * 2
    np.testing.assert_array_equal(made, expected(items))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writing more fails in the system, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    items = clips(SHARD * 2)
    with files_of_at_most(1000), pytest.warns(UserWarning, match=r"does not keep vectors \(File too large\)") as caught:
        made = embed_clips(items, Fake, WHO, Protocol(), Store(tmp_path), track)
    assert len(caught) == 1
    np.testing.assert_array_equal(made, expected(items))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_claims_leave_no_files(tmp_path: Path) -> None:
    embed_clips(clips(SHARD * 2), Fake, WHO, Protocol(), Store(tmp_path), track)
    assert sorted({path.suffix for path in tmp_path.rglob("*") if path.is_file()}) == [".json", ".npz"]
