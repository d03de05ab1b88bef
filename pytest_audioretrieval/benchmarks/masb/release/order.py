"""MASB-Order: two mixes of a track that differ in which instrument enters first (MASB, 2.1 and Exp. 4)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pytest_audioretrieval.benchmarks.masb.release.rows import Name, Seconds, Text, once, rows
from pytest_audioretrieval.benchmarks.masb.release.wording import TEMPLATES
from pytest_audioretrieval.errors import DataError

_CAPITALS = {
    f"{column}_{which}{rest}": f"{column}_{which.upper()}{rest}"
    for column, rest in (("stem", ""), ("name", ""), ("caption", "_first"))
    for which in "ab"
}


class OrderPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename=_CAPITALS):
    """One row: the mixes ``<pair_id>/A_first`` and ``<pair_id>/B_first``.

    Attributes:
        pair_id: unique, from ``i0000`` on.
        moisesdb_track: the track; several pairs may share one.
        stem_a, stem_b: names of the two stems.
        name_a, name_b: names of the two instruments in captions.
        window_start_s: of the ten seconds, on the stems.
        caption_a_first, caption_b_first: captions, each of one of the mixes.
    """

    pair_id: Name
    moisesdb_track: Text
    stem_a: Text
    stem_b: Text
    name_a: Text
    name_b: Text
    window_start_s: Seconds
    caption_a_first: Text
    caption_b_first: Text

    def __post_init__(self) -> None:
        for what, one, two in (("stem", self.stem_a, self.stem_b), ("name", self.name_a, self.name_b)):
            if one.casefold() == two.casefold():
                found = f"{what}_A and {what}_B are both {one!r}"
                raise DataError(found, expected="two instruments", remedy="correct one")
        for first, found, names in (
            ("A", self.caption_a_first, (self.name_a, self.name_b)),
            ("B", self.caption_b_first, (self.name_b, self.name_a)),
        ):
            expected = TEMPLATES["O"]["strict"].format(inst_1=names[0], inst_2=names[1])
            if found != expected:
                stated = f"caption_{first}_first is {found!r}"
                raise DataError(stated, expected=f"{expected!r} as its names make it", remedy="correct one of them")


def load_order(path: Path) -> tuple[OrderPair, ...]:
    """Read the released ``masb_order_manifest.csv``, or a file with its columns, in document order.

    Raises:
        DataError: a column or cell is not as ``OrderPair`` describes it; a pair occurs twice; the file has no row.
    """
    seen: dict[str, str] = {}
    found: list[OrderPair] = []
    for where, pair in rows(path, OrderPair):
        once(seen, pair.pair_id, where)
        found.append(pair)
    if not found:
        raise DataError(f"{path} has no pairs", expected="a row per pair under the header", remedy="add them")
    return tuple(found)
