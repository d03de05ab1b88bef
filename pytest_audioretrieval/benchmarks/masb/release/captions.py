"""MASB's captions, two rows a recording, and their comparison with the annotations (MASB, 2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from pytest_audioretrieval.benchmarks.masb.caption_set import STYLES, Style
from pytest_audioretrieval.benchmarks.masb.release.annotations import Annotation
from pytest_audioretrieval.benchmarks.masb.release.rows import Axis, Name, Text, once, rows
from pytest_audioretrieval.benchmarks.masb.release.wording import captions_of
from pytest_audioretrieval.errors import DataError

#: Columns of some copies: a running number, and the assignment of words that is more frequent elsewhere.
OPTIONAL = ("pair_id", "prior_class")


class CaptionRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: a recording in one format.

    Attributes:
        clip_id, axis: the recording, as in its annotation.
        style: the format.
        caption_pos, caption_neg, caption_paraphrase: the caption, its attribute swap, its paraphrase.
    """

    clip_id: Name
    axis: Axis
    style: Style
    caption_pos: Text
    caption_neg: Text
    caption_paraphrase: Text

    def __post_init__(self) -> None:
        if self.caption_pos == self.caption_neg:
            found = f"caption_pos and caption_neg are both {self.caption_pos!r}"
            raise DataError(found, expected="a swap in caption_neg", remedy="correct it")

    @property
    def recording(self) -> str:
        """``<clip_id>_<axis>``."""
        return f"{self.clip_id}_{self.axis}"

    @property
    def id(self) -> str:
        """``<clip_id>_<axis>_<style>``, which is unique."""
        return f"{self.recording}_{self.style}"


class Mismatch(NamedTuple):
    """A cell of a caption row that differs from the one its annotation makes."""

    row: str
    column: str
    found: str
    expected: str


def load_captions(path: Path, annotations: Iterable[Annotation]) -> tuple[CaptionRow, ...]:
    """Read the released ``masb_captions.csv``, or a file with its columns, in document order.

    Columns ``pair_id`` and ``prior_class`` are allowed and not kept.

    Raises:
        DataError: a column or cell is not as ``CaptionRow`` describes it; a row occurs twice or its recording has no
            annotation; a recording lacks a style.
    """
    known = {annotation.recording for annotation in annotations}
    seen: dict[str, str] = {}
    found: list[CaptionRow] = []
    for where, row in rows(path, CaptionRow, optional=OPTIONAL):
        if row.recording not in known:
            raise DataError(f"{where}: {row.recording!r} has no annotation", remedy="add it there or remove the row")
        once(seen, row.id, where)
        found.append(row)
    for recording in sorted(known):
        for style in STYLES:
            if f"{recording}_{style}" not in seen:
                raise DataError(
                    f"{path}: {recording!r} has no {style} caption", expected=" and ".join(STYLES), remedy="add its row"
                )
    return tuple(found)


def compare(annotations: Iterable[Annotation], captions: Iterable[CaptionRow]) -> list[Mismatch]:
    """Return the cells of captions that differ from the wording of their annotations; each needs an annotation."""
    made = {annotation.recording: captions_of(annotation) for annotation in annotations}
    return [
        Mismatch(row.id, column, found, expected)
        for row in captions
        for column, expected in zip(
            ("caption_pos", "caption_neg", "caption_paraphrase"), made[row.recording][row.style], strict=True
        )
        if (found := getattr(row, column)) != expected
    ]
