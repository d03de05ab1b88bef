"""A bar on a terminal, a line a minute elsewhere, past pytest's capturing; and that others are waited for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import pytest

T = TypeVar("T")
MINUTE = 60.0
WAITS = "waiting for another process"


@runtime_checkable
class Waiting(Protocol):
    """Items that other processes may be making: they call ``waits`` when nothing comes for that reason."""

    waits: Callable[[], object]


class Tracker:
    """``track(items, "what is done")`` yields the items and shows how far it is."""

    def __init__(self, config: pytest.Config | None = None) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager") if config else None
        self._silent = config is not None and hasattr(config, "workerinput")

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
        """Write where the user sees it even while pytest captures."""
        if self._capture is None:
            sys.stderr.write(text)
            return
        with self._capture.global_and_fixture_disabled():
            sys.stderr.write(text)
            sys.stderr.flush()

    def flush(self) -> None:
        """Nothing is held back."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.__stderr__, name)
