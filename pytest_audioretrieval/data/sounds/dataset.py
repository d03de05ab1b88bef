"""Datasets ``sounds`` (composites of the shipped recordings) and ``sounds-single`` (the recordings themselves).

A clip's digest needs its samples, so the first use renders every clip once and keeps the digests in an index.
An index proves itself: only one whose fingerprint is the pinned one is believed, so a warm start renders nothing.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.sounds import recipe, wording
from pytest_audioretrieval.data.sounds.render import mix, origins, recording
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS
from pytest_audioretrieval.data.types import Caption, Clip, Dataset
from pytest_audioretrieval.errors import PinError
from pytest_audioretrieval.files import write_atomically

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Waveform

#: Wraps the clips while they are rendered, to show progress.
Progress = Callable[[Sequence[recipe.Composition]], Iterable[recipe.Composition]]


def load_sounds(pinned: str, *, cache: Path | None = None, progress: Progress = iter) -> Dataset:
    """The test split of the built-in composites: clips of 1 to 3 recordings, 3 captions each.

    Args:
        pinned: fingerprint that PINS.json holds for ``builtin/sounds``.
        cache: folder for the index of digests; None keeps none.
        progress: wraps the clips while they are rendered on first use.

    Raises:
        PinError: the rendered clips or captions are not the pinned ones.
    """
    clips = recipe.compositions("test")
    ids = [_clip_id(position, clip) for position, clip in enumerate(clips)]
    captions = [
        Caption(f"{name}#{number}", text, name)
        for name, clip in zip(ids, clips, strict=True)
        for number, text in enumerate(wording.captions(clip, "test"))
    ]

    def dataset(digests: Sequence[str]) -> Dataset:
        made = tuple(
            Clip(name, digest, partial(_read, clip)) for name, digest, clip in zip(ids, digests, clips, strict=True)
        )
        return Dataset(
            name="sounds",
            revision=recipe.REVISION,
            clips=made,
            captions=tuple(captions),
            fingerprint=fingerprint(made, captions, merged=False),
        )

    index = cache / f"sounds-{recipe.REVISION}.json" if cache else None
    known = _read_index(index, len(clips))
    if known and (found := dataset(known)).fingerprint == pinned:
        return found
    digests = [hashlib.sha256(mix(clip).tobytes()).hexdigest() for clip in progress(clips)]
    rendered = _pinned(dataset(digests), pinned)
    _write_index(index, digests)
    return rendered


def load_sounds_single(pinned: str) -> Dataset:
    """Each shipped recording alone, with the four phrases that name it."""
    clips = tuple(Clip(name, origins()[name]["sha256"], partial(_read, ((name,),), alone=True)) for name in RECORDINGS)
    captions = tuple(
        Caption(f"{name}#{number}", text, name)
        for name, phrases in RECORDINGS.items()
        for number, text in enumerate(phrases)
    )
    made = Dataset(
        name="sounds-single",
        revision=recipe.REVISION,
        clips=clips,
        captions=captions,
        fingerprint=fingerprint(clips, captions, merged=False),
    )
    return _pinned(made, pinned)


def _clip_id(position: int, clip: recipe.Composition) -> str:
    return f"s{position:04d}-" + "-then-".join("+".join(moment) for moment in clip)


def _read(clip: recipe.Composition, *, alone: bool = False) -> Waveform:
    import numpy as np

    from pytest_audioretrieval.audio.types import Waveform

    samples = recording(clip[0][0]) if alone else mix(clip)
    scaled = np.divide(samples, 32_768, dtype=np.float32)
    return Waveform(samples=scaled[:, None], rate=recipe.RATE)


def _pinned(dataset: Dataset, pinned: str) -> Dataset:
    if dataset.fingerprint != pinned:
        raise PinError(
            f"dataset {dataset.name!r}: fingerprint is {dataset.fingerprint}, PINS.json expects {pinned}: "
            "the package is damaged or of mixed versions, reinstall it"
        )
    return dataset


def _read_index(index: Path | None, count: int) -> list[str] | None:
    """The digests an index holds, or None where there is no usable one; the caller checks what they prove."""
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
        warnings.warn(f"{index} was not written ({error.strerror}): sounds are rendered anew next time", stacklevel=2)
