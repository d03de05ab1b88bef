"""Dataset ``binding``: mirror pairs, swapped captions and rewordings over the shipped recordings (after MASB)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pytest_audioretrieval.benchmarks.masb.builtin.recipe import (
    PROPERTIES,
    REVISION,
    Phrasing,
    Scene,
    lone_scenes,
    mirror_pairs,
)
from pytest_audioretrieval.benchmarks.masb.builtin.render import render
from pytest_audioretrieval.benchmarks.masb.builtin.timbre import timbre_captions
from pytest_audioretrieval.benchmarks.masb.builtin.wording import caption_set
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.rendered import Progress, load_rendered
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Option, Rewording


class ScenePlan(NamedTuple):
    """A scene with its slice and the phrasings of its captions."""

    scene: Scene
    slice: str
    phrasings: tuple[Phrasing, ...]


def load_binding(pinned: str | None, *, cache: Path | None = None, progress: Progress[Scene] = iter) -> Dataset:
    """Load choices between two captions of the same words about one clip, and rewordings of captions.

    Slices ``mirror-order``, ``mirror-loudness`` and ``mirror-duration``: 60 pairs of clips each, two choices a pair;
    a model that ignores the audio or the texts is right in exactly half of them. Slices ``order``, ``loudness`` and
    ``duration``: 40 clips without a mirror each, two choices a clip. Rewordings: the captions of the latter, and
    ``timbre``, about no clip. The resampling unit is the couple of recordings or instruments.

    Args:
        pinned: fingerprint that PINS.json holds for ``builtin/binding``; None accepts any.
        cache: folder for the index of digests; None keeps none.
        progress: wraps the scenes while they are rendered on first use.

    Raises:
        PinError: the rendered clips, choices or rewordings are not the pinned ones.
    """
    plans = {f"b{number:04d}-{_label(plan.scene)}": plan for number, plan in enumerate(_plans())}
    stated = tuple(_choices(plans)), tuple(_rewordings(plans))
    scenes = {name: plan.scene for name, plan in plans.items()}
    index = cache / f"binding-{REVISION}.json" if cache else None
    return load_rendered(scenes, render, partial(_dataset, *stated), pinned, index=index, progress=progress)


def _plans() -> Iterator[ScenePlan]:
    for axis in PROPERTIES:
        for scene, phrasing in mirror_pairs(axis):
            yield ScenePlan(scene, f"mirror-{axis}", (phrasing,))
            yield ScenePlan(scene.mirrored(), f"mirror-{axis}", (phrasing,))
    for axis in PROPERTIES:
        for scene, phrasings in lone_scenes(axis):
            yield ScenePlan(scene, axis, phrasings)


def _label(scene: Scene) -> str:
    """Return the sounds of a scene as the end of its clip's name."""
    more, less = {"order": ("", ""), "loudness": ("loud-", "quiet-"), "duration": ("long-", "short-")}[scene.axis]
    return f"{scene.axis}-" + "-then-".join((more if name == scene.more else less) + name for name in scene.recordings)


def _choices(plans: dict[str, ScenePlan]) -> Iterator[Choice]:
    for clip, (scene, part, phrasings) in plans.items():
        for phrasing in phrasings:
            made = caption_set(scene, phrasing)
            right, wrong = Option(made.caption, clip), Option(made.swap, clip)
            yield Choice(f"{clip}#{phrasing.style}", right, wrong, scene.couple, part)


def _rewordings(plans: dict[str, ScenePlan]) -> Iterator[Rewording]:
    for clip, (scene, part, phrasings) in plans.items():
        if part == scene.axis:
            for phrasing in phrasings:
                yield Rewording(f"{clip}#{phrasing.style}", *caption_set(scene, phrasing), clip, scene.couple, part)
    for couple, style, made in timbre_captions():
        yield Rewording(f"timbre-{couple}#{style}", *made, couple, couple, "timbre")


def _dataset(choices: tuple[Choice, ...], rewordings: tuple[Rewording, ...], clips: tuple[Clip, ...]) -> Dataset:
    return Dataset(
        chance_command="binding",
        name="binding",
        revision=REVISION,
        clips=clips,
        captions=(),
        fingerprint=fingerprint(clips, stated=(*choices, *rewordings)),
        choices=choices,
        rewordings=rewordings,
    )
