"""From a set of the table to a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.hub import archive, parquet
from pytest_audioretrieval.data.hub.download import Part, fetch, pinned
from pytest_audioretrieval.data.hub.grouping import Grouped
from pytest_audioretrieval.data.hub.sets import SUBSETS, HubSet, Pairs, Rows
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import DataError, PinError

if TYPE_CHECKING:
    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.pinning.pins import Pin


def load_hub(one: HubSet, commit: str | None, loading: Loading) -> Dataset:
    """``one`` at ``commit``, or at the pinned one; every sound is hashed, none is decoded.

    Raises:
        DataError: what is needed to read it is not known, it is not to be had, or not what it is known to be.
        PinError: it is not pinned, or not what is pinned.
    """
    if one.hub is None or one.layout is None:
        raise DataError(f"dataset {one.name!r}: {one.unknown}")
    subsets = one.layout.subsets
    pin = pinned(one.hub, commit, subsets, allow_unpinned=loading.allow_unpinned, pins=loading.pins)
    found = fetch(one.hub, pin, subsets, offline=loading.offline)
    grouped = Grouped()
    if isinstance(one.layout, Rows):
        _read_rows(one.layout, found[0], grouped)
    else:
        _read_pairs(one.layout, dict(zip(SUBSETS, found, strict=True)), grouped)
    return _dataset(one, pin, grouped)


def _read_rows(layout: Rows, parts: list[Part], grouped: Grouped) -> None:
    """Captions are numbered within their clip, in the order of rows, then columns."""
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


def _read_pairs(layout: Pairs, subsets: Mapping[str, list[Part]], grouped: Grouped) -> None:
    texts_of, clip_side, text_side = ("queries", "corpus-id", "query-id")
    if layout.audio == "queries":
        texts_of, clip_side, text_side = ("corpus", "query-id", "corpus-id")
    for part in subsets[layout.audio]:
        key = _key(part)
        for row in parquet.rows(part, [key], "audio"):
            assert row.sound is not None
            clip = _name(row.cells[key], row.where)
            if clip in grouped.clips:
                raise DataError(f"{row.where}: id {clip!r} stands twice: expected each id once")
            grouped.add_clip(clip, row.sound)
    right = _judged(subsets["qrels"], clip_side, text_side, grouped)
    for part in subsets[texts_of]:
        key = _key(part)
        for row in parquet.rows(part, [key, "text"]):
            name = _name(row.cells[key], row.where)
            if name in right:
                grouped.add_caption(name, row.cells["text"], right[name], row.where)
            else:
                grouped.texts += 1
                grouped.notes["texts without a right clip, left out"] += 1


def _judged(parts: list[Part], clip_side: str, text_side: str, grouped: Grouped) -> dict[str, str]:
    """Text id -> id of its right clip."""
    right: dict[str, str] = {}
    for part in parts:
        for row in parquet.rows(part, [text_side, clip_side, "score"]):
            score = row.cells["score"]
            if not isinstance(score, (int, float)):
                raise DataError(f"{row.where}: score {score!r}: expected a number, above 0 where the clip is right")
            if score <= 0:
                continue
            text, clip = _name(row.cells[text_side], row.where), _name(row.cells[clip_side], row.where)
            if clip not in grouped.clips:
                raise DataError(f"{row.where}: no clip {clip!r}: expected the id of one of {len(grouped.clips)} clips")
            if right.setdefault(text, clip) != clip:
                raise DataError(f"{row.where}: text {text!r} has the right clips {right[text]!r} and {clip!r}: one")
    return right


def _key(part: Part) -> str:
    return "_id" if "_id" in parquet.columns_of(part) else "id"


def _name(cell: object, where: str) -> str:
    if isinstance(cell, bool) or not isinstance(cell, (str, int)):
        raise DataError(f"{where}: id {cell!r}: expected a text or a whole number")
    return str(cell)


def _dataset(one: HubSet, pin: Pin, grouped: Grouped) -> Dataset:
    what = f"dataset {one.hub}@{pin.revision}"
    clips, captions = grouped.asked()
    counts = {"clips": len(grouped.clips), "texts": grouped.texts, "captions": len(captions)}
    for kind, found in counts.items():
        expected = getattr(one.expected, kind)
        if expected is not None and found != expected:
            raise DataError(
                f"{what}: {found} {kind}, expected {expected}: it is not the set known as {one.name!r}, "
                "name the commit that is"
            )
    if not clips:
        raise DataError(f"{what}: no clip with a caption: name another commit")
    digest = fingerprint(clips, captions, merged=one.merge)
    if pin.fingerprint is not None and digest != pin.fingerprint:
        raise PinError(f"{what}: fingerprint is {digest}, PINS.json expects {pin.fingerprint}: pin it anew")
    return Dataset(
        name=one.slug,
        revision=pin.revision,
        clips=clips,
        captions=captions,
        fingerprint=digest,
        merge_identical_captions=one.merge,
        notes={note: count for note, count in grouped.notes.items() if count},
    )
