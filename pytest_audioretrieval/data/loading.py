"""Settings that every dataset is loaded with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from pytest_audioretrieval.base.shipped import OWN

T = TypeVar("T")


class Track(Protocol):
    """Wrapper of work of known length that shows its progress."""

    def __call__(self, items: Sequence[T], what: str, /) -> Iterable[T]: ...


@dataclass(frozen=True)
class Loading:
    """Settings that a dataset is loaded with.

    Attributes:
        cache: where the digests of rendered sounds are remembered; None renders them each time.
        track: wraps work to show progress.
        offline: never touch the network.
        allow_unpinned: take a commit of a hub that PINS.json does not pin.
        pins: a project's own PINS.json, where there is one.
    """

    cache: Path | None
    track: Track
    offline: bool = False
    allow_unpinned: bool = False
    pins: Path = OWN
