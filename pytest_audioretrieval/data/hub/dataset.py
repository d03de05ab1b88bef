"""Loading of a named set of a hub as a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.hub import archive, parquet
from pytest_audioretrieval.data.hub.download import Part, fetch, pinned
from pytest_audioretrieval.data.hub.grouping import Grouped
from pytest_audioretrieval.data.hub.sets import SUBSETS, CaptionRows, HubSet, MtebLayout
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import DataError, PinError

if TYPE_CHECKING:
    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.pinning.pins import Pin


def load_hub(one: HubSet, commit: str | None, loading: Loading) -> Dataset:
    """Load ``one`` at ``commit``, or at the pinned commit; every sound is hashed, none is decoded.

    Raises:
        DataError: its layout is not known, it cannot be downloaded, or it is not the set that the table describes.
        PinError: it is not pinned, or differs from its pin.
    """
    if one.hub is None or one.layout is None:
        raise DataError(f"dataset {one.name!r} cannot be read: {one.unknown}", remedy=one.remedy)
    subsets = one.layout.subsets
    pin = pinned(one.hub, commit, subsets, allow_unpinned=loading.allow_unpinned, pins=loading.pins)
    found = fetch(one.hub, pin, subsets, offline=loading.offline)
    grouped = Grouped()
    if isinstance(one.layout, CaptionRows):
        _read_rows(one.layout, found[0], grouped)
    else:
        _read_pairs(one.layout, dict(zip(SUBSETS, found, strict=True)), grouped)
    return _dataset(one, pin, grouped)


def _read_rows(layout: CaptionRows, parts: list[Part], grouped: Grouped) -> None:
    """Add clips and captions row by row; captions are numbered within their clip, by row, then column."""
    position: dict[str, int] = {}
    for part in parts:
        read = archive.rows if part.name.endswith(archive.ENDINGS) else parquet.rows
        for row in read(part, [layout.clip, *layout.captions], layout.audio):
            assert row.sound is not None
            clip = _name(row.cells[layout.clip], row.where)
            grouped.add_clip(clip, row.sound)
            for column in layout.captions:
                cell = row.cells[column]
                for text in cell if isinstance(cell, list) else [cell]:
                    at = position[clip] = position.get(clip, -1) + 1
                    grouped.add_caption(f"{clip}#{at}", text, clip, row.where)


def _read_pairs(layout: MtebLayout, subsets: Mapping[str, list[Part]], grouped: Grouped) -> None:
    texts_of, clip_side, text_side = ("queries", "corpus-id", "query-id")
    if layout.audio == "queries":
        texts_of, clip_side, text_side = ("corpus", "query-id", "corpus-id")
    for part in subsets[layout.audio]:
        key = _key(part)
        for row in parquet.rows(part, [key], "audio"):
            assert row.sound is not None
            clip = _name(row.cells[key], row.where)
            if clip in grouped.clips:
                raise DataError(
                    f"{row.where}: id {clip!r} occurs twice", expected="each id once", remedy="name another commit"
                )
            grouped.add_clip(clip, row.sound)
    right = _relevant(subsets["qrels"], clip_side, text_side, grouped)
    for part in subsets[texts_of]:
        key = _key(part)
        for row in parquet.rows(part, [key, "text"]):
            name = _name(row.cells[key], row.where)
            if name in right:
                grouped.add_caption(name, row.cells["text"], right[name], row.where)
            else:
                grouped.texts += 1
                grouped.notes["texts without a right clip, left out"] += 1


def _relevant(parts: list[Part], clip_side: str, text_side: str, grouped: Grouped) -> dict[str, str]:
    """Map the id of each text to the id of its relevant clip."""
    right: dict[str, str] = {}
    for part in parts:
        for row in parquet.rows(part, [text_side, clip_side, "score"]):
            score = row.cells["score"]
            if not isinstance(score, (int, float)):
                raise DataError(
                    f"{row.where}: score is {score!r}",
                    expected="a number, above 0 where the clip is relevant",
                    remedy="name another commit",
                )
            if score <= 0:
                continue
            text, clip = _name(row.cells[text_side], row.where), _name(row.cells[clip_side], row.where)
            if clip not in grouped.clips:
                raise DataError(
                    f"{row.where}: clip {clip!r} is not there",
                    expected=f"the id of one of {len(grouped.clips)} clips",
                    remedy="name another commit",
                )
            if right.setdefault(text, clip) != clip:
                raise DataError(
                    f"{row.where}: text {text!r} has the relevant clips {right[text]!r} and {clip!r}",
                    expected="one",
                    remedy="name another commit",
                )
    return right


def _key(part: Part) -> str:
    return "_id" if "_id" in parquet.columns_of(part) else "id"


def _name(cell: object, where: str) -> str:
    if isinstance(cell, bool) or not isinstance(cell, (str, int)):
        raise DataError(
            f"{where}: id is {cell!r}", expected="a text or a whole number", remedy="name another column or commit"
        )
    return str(cell)


def _dataset(one: HubSet, pin: Pin, grouped: Grouped) -> Dataset:
    what = f"dataset {one.hub}@{pin.revision}"
    clips, captions = grouped.cleaned()
    counts = {"clips": len(grouped.clips), "texts": grouped.texts, "captions": len(captions)}
    for kind, found in counts.items():
        expected = getattr(one.expected, kind)
        if expected is not None and found != expected:
            raise DataError(
                f"{what} holds {found} {kind}",
                expected=f"the {expected} of the set known as {one.name!r}",
                remedy="name the commit that has them",
            )
    if not clips:
        raise DataError(f"{what} has no clip with a caption", remedy="name another commit")
    digest = fingerprint(clips, captions, merged=one.merge)
    if pin.fingerprint is not None and digest != pin.fingerprint:
        raise PinError(
            f"{what}: fingerprint is {digest}", expected=f"{pin.fingerprint} as PINS.json states", remedy="pin it again"
        )
    return Dataset(
        name=one.slug,
        revision=pin.revision,
        clips=clips,
        captions=captions,
        fingerprint=digest,
        merge_identical_captions=one.merge,
        notes={note: count for note, count in grouped.notes.items() if count},
    )
