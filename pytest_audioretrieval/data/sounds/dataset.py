"""Datasets ``sounds`` (composites of the shipped recordings) and ``sounds-single`` (the recordings themselves)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.rendered import Progress, load_rendered, verified, waveform
from pytest_audioretrieval.data.sounds import recipe, wording
from pytest_audioretrieval.data.sounds.render import mix, origins, recording
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS
from pytest_audioretrieval.data.types import Caption, Clip, Dataset

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Waveform


def load_sounds(
    pinned: str | None, *, cache: Path | None = None, progress: Progress[recipe.Composition] = iter
) -> Dataset:
    """Load the test split of the built-in composites: clips of 1 to 3 recordings, 3 captions each.

    Args:
        pinned: fingerprint that PINS.json holds for ``builtin/sounds``; None accepts any.
        cache: folder for the index of digests; None keeps none.
        progress: wraps the clips while they are rendered on first use.

    Raises:
        PinError: the rendered clips or captions are not the pinned ones.
    """
    compositions = {_clip_id(position, clip): clip for position, clip in enumerate(recipe.compositions("test"))}
    captions = tuple(
        Caption(f"{name}#{number}", text, name)
        for name, clip in compositions.items()
        for number, text in enumerate(wording.captions(clip, "test"))
    )
    index = cache / f"sounds-{recipe.REVISION}.json" if cache else None
    return load_rendered(
        compositions, mix, partial(_dataset, "sounds", captions), pinned, index=index, progress=progress
    )


def load_sounds_single(pinned: str | None) -> Dataset:
    """Load each shipped recording as a clip, with the four phrases that name it as captions."""
    clips = tuple(Clip(name, origins()[name]["sha256"], partial(_read, name)) for name in RECORDINGS)
    captions = tuple(
        Caption(f"{name}#{number}", text, name)
        for name, phrases in RECORDINGS.items()
        for number, text in enumerate(phrases)
    )
    return verified(_dataset("sounds-single", captions, clips), pinned)


def _dataset(name: str, captions: tuple[Caption, ...], clips: tuple[Clip, ...]) -> Dataset:
    return Dataset(
        name=name,
        revision=recipe.REVISION,
        clips=clips,
        captions=captions,
        fingerprint=fingerprint(clips, captions, merged=False),
    )


def _clip_id(position: int, clip: recipe.Composition) -> str:
    return f"s{position:04d}-" + "-then-".join("+".join(moment) for moment in clip)


def _read(name: str) -> Waveform:
    return waveform(recording(name))
