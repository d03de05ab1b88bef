"""Dataset ``binding``: mirror pairs, swapped captions and rewordings over the shipped recordings (after MASB)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pytest_audioretrieval.benchmarks.masb.builtin.recipe import (
    PROPERTIES,
    REVISION,
    Scene,
    Telling,
    lone_scenes,
    mirror_pairs,
)
from pytest_audioretrieval.benchmarks.masb.builtin.render import render
from pytest_audioretrieval.benchmarks.masb.builtin.timbre import timbre_texts
from pytest_audioretrieval.benchmarks.masb.builtin.wording import texts
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.rendered import Progress, load_rendered
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Option, Rewording


class Asked(NamedTuple):
    """A scene, the slice it belongs to, and how it is told."""

    scene: Scene
    slice: str
    tellings: tuple[Telling, ...]


def load_binding(pinned: str, *, cache: Path | None = None, progress: Progress[Scene] = iter) -> Dataset:
    """Choices between two captions of the same words about one clip, and rewordings of captions.

    Slices ``mirror-order``, ``mirror-loudness`` and ``mirror-duration``: 60 pairs of clips each, two choices a pair;
    whoever hears nothing or reads nothing is right in exactly half of them. Slices ``order``, ``loudness`` and
    ``duration``: 40 clips without a mirror each, two choices a clip. Rewordings: the captions of the latter, and
    ``timbre``, about no clip. The resampling unit is the couple of recordings or instruments.

    Args:
        pinned: fingerprint that PINS.json holds for ``builtin/binding``.
        cache: folder for the index of digests; None keeps none.
        progress: wraps the scenes while they are rendered on first use.

    Raises:
        PinError: the rendered clips, choices or rewordings are not the pinned ones.
    """
    asked = {f"b{number:04d}-{_label(one.scene)}": one for number, one in enumerate(_asked())}
    stated = tuple(_choices(asked)), tuple(_rewordings(asked))
    scenes = {name: one.scene for name, one in asked.items()}
    index = cache / f"binding-{REVISION}.json" if cache else None
    return load_rendered(scenes, render, partial(_dataset, *stated), pinned, index=index, progress=progress)


def _asked() -> Iterator[Asked]:
    for axis in PROPERTIES:
        for scene, telling in mirror_pairs(axis):
            yield Asked(scene, f"mirror-{axis}", (telling,))
            yield Asked(scene.mirrored(), f"mirror-{axis}", (telling,))
    for axis in PROPERTIES:
        for scene, tellings in lone_scenes(axis):
            yield Asked(scene, axis, tellings)


def _label(scene: Scene) -> str:
    """What is heard, in a clip's name."""
    more, less = {"order": ("", ""), "loudness": ("loud-", "quiet-"), "duration": ("long-", "short-")}[scene.axis]
    return f"{scene.axis}-" + "-then-".join((more if name == scene.more else less) + name for name in scene.heard)


def _choices(asked: dict[str, Asked]) -> Iterator[Choice]:
    for clip, (scene, part, tellings) in asked.items():
        for telling in tellings:
            told = texts(scene, telling)
            right, wrong = Option(told.caption, clip), Option(told.swap, clip)
            yield Choice(f"{clip}#{telling.wording}", right, wrong, scene.couple, part)


def _rewordings(asked: dict[str, Asked]) -> Iterator[Rewording]:
    for clip, (scene, part, tellings) in asked.items():
        if part == scene.axis:
            for telling in tellings:
                yield Rewording(f"{clip}#{telling.wording}", *texts(scene, telling), clip, scene.couple, part)
    for couple, wording, told in timbre_texts():
        yield Rewording(f"timbre-{couple}#{wording}", *told, couple, couple, "timbre")


def _dataset(choices: tuple[Choice, ...], rewordings: tuple[Rewording, ...], clips: tuple[Clip, ...]) -> Dataset:
    return Dataset(
        name="binding",
        revision=REVISION,
        clips=clips,
        captions=(),
        fingerprint=fingerprint(clips, stated=(*choices, *rewordings)),
        choices=choices,
        rewordings=rewordings,
    )
