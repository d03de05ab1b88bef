"""A bar on a terminal, a line a minute elsewhere, past pytest's capturing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pytest

T = TypeVar("T")
MINUTE = 60.0


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

        yield from tqdm(items, desc=what, file=self, disable=not items, leave=False, dynamic_ncols=True, delay=0.5)

    def _lines(self, items: Sequence[T], what: str) -> Iterator[T]:
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
