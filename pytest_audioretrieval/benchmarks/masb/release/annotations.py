"""MASB's annotations: ten seconds of a track, two instruments and one property of them (MASB, 2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from pytest_audioretrieval.benchmarks.masb.release.rows import Axis, Name, Seconds, Text, once, rows
from pytest_audioretrieval.errors import DataError

#: Length of every excerpt, in seconds.
EXCERPT = 10.0
#: Lengths of tracks are given to a tenth of a second; windows have more digits than matter.
DURATION_STEP, WINDOW_SLACK = 0.1, 1e-6


class Annotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: a recording, annotated for one property.

    Attributes:
        clip_id: of the track; it returns under other axes.
        source: collection the track is known from.
        jamendo_path: of the full track, inside a copy of MTG-Jamendo.
        track_duration_s: of the full track.
        axis: the property.
        crop_start_s, crop_end_s: the excerpt, on the full track.
        inst_1, inst_2: for T those of ``timbre_1`` and ``timbre_2``; for R lead, accompaniment; for O first, second.
        timbre_1, timbre_2: an adjective each for T, else empty.
        confidence: the annotator's, 1 to 5.
    """

    clip_id: Name
    source: Text
    jamendo_path: Text
    track_duration_s: Seconds
    axis: Axis
    crop_start_s: Seconds
    crop_end_s: Seconds
    inst_1: Text
    inst_2: Text
    timbre_1: str
    timbre_2: str
    confidence: Annotated[int, msgspec.Meta(ge=1, le=5)]

    def __post_init__(self) -> None:
        fault = _fault(self)
        if fault:
            raise ValueError(fault)

    @property
    def recording(self) -> str:
        """``<clip_id>_<axis>``: unique, and the name of the excerpt."""
        return f"{self.clip_id}_{self.axis}"


def load_annotations(path: Path) -> tuple[Annotation, ...]:
    """Read the released ``masb_annotations.csv``, or one of its columns.

    Raises:
        DataError: a column, a cell or a combination of cells is not as ``Annotation`` describes it; a recording
            stands twice; there is none.
    """
    seen: dict[str, str] = {}
    found: list[Annotation] = []
    for where, annotation in rows(path, Annotation):
        once(seen, annotation.recording, where)
        found.append(annotation)
    if not found:
        raise DataError(f"{path}: no annotations: expected a row per recording under the header")
    return tuple(found)


def _fault(one: Annotation) -> str | None:
    """What contradicts itself in a row, or None."""
    lasts = one.crop_end_s - one.crop_start_s
    if not abs(lasts - EXCERPT) <= WINDOW_SLACK:
        return f"crop_start_s to crop_end_s lasts {lasts:g} s, expected {EXCERPT:g} s: correct the window"
    if one.crop_end_s > one.track_duration_s + DURATION_STEP:
        return f"crop_end_s {one.crop_end_s:g} lies after the track's end at {one.track_duration_s:g} s: correct one"
    if one.inst_1.casefold() == one.inst_2.casefold():
        return f"inst_1 and inst_2 are both {one.inst_1!r}: expected two instruments, a swap would change nothing"
    timbres = (one.timbre_1, one.timbre_2)
    if one.axis != "T":
        return f"axis {one.axis} with timbres {' and '.join(timbres)}: leave both empty" if any(timbres) else None
    if not all(timbres):
        return "axis T without two timbres: fill timbre_1 and timbre_2"
    if one.timbre_1.casefold() == one.timbre_2.casefold():
        return f"timbre_1 and timbre_2 are both {one.timbre_1!r}: expected two timbres, a swap would change nothing"
    return None
