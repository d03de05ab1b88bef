"""Loader of datasets whose clips are rendered; digests are kept in an index that must hash to the pin.

A clip's digest needs its samples, so the first use renders every clip once and keeps the digests in an index. The index
is believed only if the fingerprint of its digests is the pinned one; then a warm start renders nothing.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pytest_audioretrieval.base.files import write_atomically
from pytest_audioretrieval.data.types import Clip, Dataset
from pytest_audioretrieval.errors import PinError
from pytest_audioretrieval.pinning.pins import load_pins

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.audio.types import Waveform
    from pytest_audioretrieval.data.loading import Loading

T = TypeVar("T")
#: Hz of every clip that is rendered.
RATE = 48_000
#: Wraps the recipes while they are rendered, to show progress.
Progress = Callable[[Sequence[T]], Iterable[T]]


def load_builtin(name: str, load: Callable[..., Dataset], loading: Loading) -> Dataset:
    """Return the built-in dataset ``name``, held to its pin, from ``load(fingerprint, cache=..., progress=...)``."""
    pinned = load_pins().dataset_fingerprint(f"builtin/{name}")
    return load(pinned, cache=loading.cache, progress=lambda clips: loading.track(clips, f"rendering {name}"))


def load_rendered(
    recipes: Mapping[str, T],
    render: Callable[[T], npt.NDArray[np.int16]],
    dataset: Callable[[tuple[Clip, ...]], Dataset],
    pinned: str | None,
    *,
    index: Path | None = None,
    progress: Progress[T] = iter,
) -> Dataset:
    """Return the dataset of rendered clips; clips are rendered only if no index holds their digests.

    Args:
        recipes: clip id -> recipe, in document order.
        render: returns a recipe's samples, int16 [n], 48 kHz, mono; called again whenever a clip is read.
        dataset: makes the dataset of its clips.
        pinned: fingerprint that PINS.json holds for it; None accepts any, for the tool that writes the pins.
        index: file of the digests; None keeps none.
        progress: wraps the recipes while they are rendered.

    Raises:
        PinError: the rendered dataset is not the pinned one.
    """

    def made(digests: Sequence[str]) -> Dataset:
        rows = zip(recipes.items(), digests, strict=True)
        return dataset(tuple(Clip(name, digest, partial(_read, render, recipe)) for (name, recipe), digest in rows))

    known = _read_index(index, len(recipes))
    if known and (found := made(known)).fingerprint == pinned:
        return found
    digests = [hashlib.sha256(render(recipe).tobytes()).hexdigest() for recipe in progress(list(recipes.values()))]
    rendered = verified(made(digests), pinned)
    _write_index(index, digests)
    return rendered


def verified(dataset: Dataset, pinned: str | None) -> Dataset:
    """Return ``dataset`` if its fingerprint is the pinned one, or none is pinned.

    Raises:
        PinError: its fingerprint is another.
    """
    if pinned is not None and dataset.fingerprint != pinned:
        raise PinError(
            f"dataset {dataset.name!r}: fingerprint is {dataset.fingerprint}",
            expected=f"{pinned} as PINS.json states",
            remedy="reinstall the package, it is damaged or of mixed versions",
        )
    return dataset


def waveform(samples: npt.NDArray[np.int16]) -> Waveform:
    """Return int16 samples [n] at 48 kHz as a mono waveform, float32 [n, 1]."""
    import numpy as np

    from pytest_audioretrieval.audio.types import Waveform

    return Waveform(samples=np.divide(samples, 32_768, dtype=np.float32)[:, None], rate=RATE)


def _read(render: Callable[[T], npt.NDArray[np.int16]], recipe: T) -> Waveform:
    return waveform(render(recipe))


def _read_index(index: Path | None, count: int) -> list[str] | None:
    """Return the digests of an index, or None where there is no usable one; the caller verifies them."""
    try:
        digests = json.loads(index.read_text(encoding="utf-8")) if index else None
    except (OSError, ValueError):
        return None
    usable = isinstance(digests, list) and len(digests) == count and all(isinstance(d, str) for d in digests)
    return digests if usable else None


def _write_index(index: Path | None, digests: list[str]) -> None:
    if index is None:
        return
    try:
        write_atomically(index, json.dumps(digests, indent=0).encode())
    except OSError as error:
        warnings.warn(f"{index} was not written ({error.strerror}): clips are rendered again next time", stacklevel=2)
