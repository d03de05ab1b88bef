"""Progress on the screen, of work here and of work that another process does."""

from __future__ import annotations

import io
import sys
from collections.abc import Generator, Iterable
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.embedding import sharing
from pytest_audioretrieval.embedding.sharing import SHARD, SharedBatches
from pytest_audioretrieval.embedding.store import Store

KEYS = [[f"{number}"] for number in range(SHARD * 3)]
ROW = np.ones((1, 2), dtype=np.float32)


class Screen(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]


def read(keys: Iterable[str]) -> Generator[str, None, None]:
    yield from keys


def walked(work: Iterable[tuple[list[str], list[str]]], shared: SharedBatches) -> Generator[None, None, None]:
    """Walk through batches, one a step, and make the missing ones."""
    for batch, items in work:
        if items:
            shared.add(batch, ROW)
        yield


class Other:
    """Stand-in for another process, which claims the first free piece and stores it at ``done``."""

    def __init__(self, folder: Path, done: float) -> None:
        self.done = done
        self._shared = SharedBatches(KEYS, Store(folder), "audio-1", read)
        self._steps = walked(self._shared, self._shared)
        next(self._steps)

    def finish(self) -> None:
        list(islice(self._steps, SHARD - 1))
        self._shared.close()


def shown(folder: Path, monkeypatch: pytest.MonkeyPatch, *seconds: float, terminal: bool = False) -> list[str]:
    """Return the screen after each batch, while other processes need ``seconds`` for the first pieces."""
    screen, now = Screen(terminal=terminal), 0.0
    others = [Other(folder, done) for done in seconds]

    def sleep(_: float) -> None:
        nonlocal now
        now += 1
        while others and others[0].done <= now:
            others.pop(0).finish()

    monkeypatch.setattr(sharing, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "__stderr__", screen)
    work = SharedBatches(KEYS, Store(folder), "audio-1", read)
    after = [screen.getvalue() for _ in walked(Tracker()(work, "embedding clips"), work)]  # type: ignore[arg-type]
    assert set(work.vectors) == {key for (key,) in KEYS}
    return after


LINE = "\nembedding clips: waiting for another process\n"


@pytest.mark.parametrize(("seconds", "lines"), [([9], 0), ([40], 1), ([20, 40], 2), ([20, 25], 1)])
def test_a_line_says_once_a_wait_that_another_process_is_waited_for(
    seconds: list[float], lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = shown(tmp_path, monkeypatch, *seconds)
    assert said[-1] == LINE * lines
    assert said[len(KEYS) - SHARD * len(seconds) - 1] == "", "it makes what is free first"


def test_a_bar_says_so_and_then_what_it_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(tmp_path, monkeypatch, 40, terminal=True)
    waiting, again = "embedding clips, waiting for another process:  67%", "embedding clips:  67%"
    assert waiting not in said[SHARD * 2 - 1]
    assert said[SHARD * 2].count(waiting) == 1
    assert said[SHARD * 2].rindex(again) > said[SHARD * 2].index(waiting)
