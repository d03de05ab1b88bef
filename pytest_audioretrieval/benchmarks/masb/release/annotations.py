"""MASB's annotations: ten seconds of a track, two instruments and one property of them (MASB, 2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from pytest_audioretrieval.benchmarks.masb.release.rows import Axis, Name, Seconds, Text, once, rows
from pytest_audioretrieval.errors import DataError

#: Length of every excerpt, in seconds.
EXCERPT = 10.0
#: Precision of the lengths of tracks, and tolerance for the length of a window, in seconds.
DURATION_STEP, WINDOW_SLACK = 0.1, 1e-6


class Annotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: a recording, annotated for one property.

    Attributes:
        clip_id: of the track, which may also be annotated for other axes.
        source: collection of the track.
        jamendo_path: of the full track, inside a copy of MTG-Jamendo.
        track_duration_s: of the full track.
        axis: the property.
        crop_start_s, crop_end_s: the excerpt, on the full track.
        inst_1, inst_2: for T the instruments of ``timbre_1`` and ``timbre_2``; for R lead and accompaniment; for O the
            first and the second.
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
        error = _contradiction(self)
        if error:
            raise error

    @property
    def recording(self) -> str:
        """``<clip_id>_<axis>``, which is unique and the name of the excerpt."""
        return f"{self.clip_id}_{self.axis}"


def load_annotations(path: Path) -> tuple[Annotation, ...]:
    """Read the released ``masb_annotations.csv``, or a file with its columns.

    Raises:
        DataError: a column, a cell or a combination of cells is not as ``Annotation`` describes it; a recording
            occurs twice; the file has no row.
    """
    seen: dict[str, str] = {}
    found: list[Annotation] = []
    for where, annotation in rows(path, Annotation):
        once(seen, annotation.recording, where)
        found.append(annotation)
    if not found:
        raise DataError(
            f"{path} has no annotations", expected="a row per recording under the header", remedy="add them"
        )
    return tuple(found)


def _contradiction(one: Annotation) -> DataError | None:
    """Return the error for cells of a row that contradict each other, or None."""
    length = one.crop_end_s - one.crop_start_s
    if not abs(length - EXCERPT) <= WINDOW_SLACK:
        found = f"crop_start_s to crop_end_s lasts {length:g} s"
        return DataError(found, expected=f"{EXCERPT:g} s", remedy="correct the window")
    if one.crop_end_s > one.track_duration_s + DURATION_STEP:
        found = f"crop_end_s {one.crop_end_s:g} lies after the track's end at {one.track_duration_s:g} s"
        return DataError(found, remedy="correct one of them")
    if one.inst_1.casefold() == one.inst_2.casefold():
        found = f"inst_1 and inst_2 are both {one.inst_1!r}"
        return DataError(found, expected="two instruments, as a swap would change nothing", remedy="correct one")
    return _timbre_error(one)


def _timbre_error(one: Annotation) -> DataError | None:
    timbres = (one.timbre_1, one.timbre_2)
    if one.axis != "T":
        found = f"axis is {one.axis} with timbres {one.timbre_1!r} and {one.timbre_2!r}"
        return DataError(found, remedy="leave both empty") if any(timbres) else None
    if not all(timbres):
        return DataError("axis is T without two timbres", remedy="fill timbre_1 and timbre_2")
    if one.timbre_1.casefold() == one.timbre_2.casefold():
        found = f"timbre_1 and timbre_2 are both {one.timbre_1!r}"
        return DataError(found, expected="two timbres, as a swap would change nothing", remedy="correct one")
    return None
