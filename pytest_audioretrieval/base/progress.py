"""Progress of long work: a bar on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
MINUTE = 60.0
WAITS = "waiting for another process"


@runtime_checkable
class Waiting(Protocol):
    """Items that other processes may be making: they call ``waits`` while they wait for these processes."""

    waits: Callable[[], object]


class Capture(Protocol):
    """Object that holds back the output of the process, such as pytest's capture manager."""

    def global_and_fixture_disabled(self) -> AbstractContextManager[None]:
        """Let output through inside the block."""
        ...


class Tracker:
    """Progress display: ``track(items, "embedding clips")`` yields the items and shows how many are done.

    Args:
        capture: is switched off while progress is written, so that the user sees it.
        silent: show nothing, as in a worker process whose controller shows progress.
    """

    def __init__(self, capture: Capture | None = None, *, silent: bool = False) -> None:
        self._capture, self._silent = capture, silent

    def __call__(self, items: Sequence[T], what: str) -> Iterator[T]:
        if self._silent:
            return iter(items)
        terminal = sys.__stderr__ is not None and sys.__stderr__.isatty()
        return self._bar(items, what) if terminal else self._lines(items, what)

    def _bar(self, items: Sequence[T], what: str) -> Iterator[T]:
        from tqdm import tqdm

        count = len(items)
        with tqdm(
            desc=what, total=count, file=self, disable=not count, leave=False, dynamic_ncols=True, delay=0.5
        ) as bar:
            if isinstance(items, Waiting):
                items.waits = lambda: bar.set_description(f"{what}, {WAITS}")
            for item in items:
                if WAITS in bar.desc:
                    bar.set_description(what)
                yield item
                bar.update()

    def _lines(self, items: Sequence[T], what: str) -> Iterator[T]:
        if isinstance(items, Waiting):
            items.waits = lambda: self.write(f"\n{what}: {WAITS}\n")
        due = time.monotonic() + MINUTE
        for done, item in enumerate(items):
            if time.monotonic() > due:
                self.write(f"\n{what}: {done} of {len(items)}\n")
                due += MINUTE
            yield item

    def write(self, text: str) -> None:
        """Write to stderr, past ``capture``."""
        if self._capture is None:
            sys.stderr.write(text)
            return
        with self._capture.global_and_fixture_disabled():
            sys.stderr.write(text)
            sys.stderr.flush()

    def flush(self) -> None:
        """Do nothing: ``write`` keeps no text back."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.__stderr__, name)
