"""A small MASB release written by hand: three recordings of two tracks, their captions, one pair of mixes."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared" / "data" / "masb"
REAL_ANNOTATIONS, REAL_CAPTIONS = SHARED / "masb_annotations.csv", SHARED / "masb_captions.csv"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/masb")

Row = dict[str, str]


def annotation(clip: str, axis: str, one: str, two: str, *, start: str = "7.25", **changes: str) -> Row:
    return {
        "clip_id": clip,
        "source": "SDD",
        "jamendo_path": f"{clip[-2:]}/{clip}.mp3",
        "track_duration_s": "30.0",
        "axis": axis,
        "crop_start_s": start,
        "crop_end_s": str(float(start) + 10),
        "inst_1": one,
        "inst_2": two,
        "timbre_1": "",
        "timbre_2": "",
        "confidence": "4",
        **changes,
    }


def caption(clip: str, axis: str, style: str, text: str, swap: str, paraphrase: str) -> Row:
    return {
        "clip_id": clip,
        "axis": axis,
        "style": style,
        "caption_pos": text,
        "caption_neg": swap,
        "caption_paraphrase": paraphrase,
    }


ANNOTATIONS = [
    annotation("101", "T", "tuba", "hurdy gurdy", timbre_1="bright", timbre_2="plummy"),
    annotation("101", "O", "tuba", "hurdy gurdy", start="0.5"),
    annotation("202", "R", "kazoo", "tuba"),
]
#: Written by hand from the paper's templates.
CAPTIONS = [
    caption("101", "T", "strict", "a bright tuba and a plummy hurdy gurdy", "a plummy tuba and a bright hurdy gurdy",
            "an trebly tuba over a plummy hurdy gurdy"),
    caption("101", "T", "natural", "the tuba sounds bright while the hurdy gurdy is plummy",
            "the tuba sounds plummy while the hurdy gurdy is bright",
            "the tuba comes across as trebly, the hurdy gurdy as plummy"),
    caption("101", "O", "strict", "the tuba enters before the hurdy gurdy", "the hurdy gurdy enters before the tuba",
            "the tuba comes in earlier than the hurdy gurdy"),
    caption("101", "O", "natural", "first the tuba comes in, then the hurdy gurdy",
            "first the hurdy gurdy comes in, then the tuba",
            "the tuba starts first and the hurdy gurdy joins afterward"),
    caption("202", "R", "strict", "the kazoo plays the melody while the tuba accompanies",
            "the tuba plays the melody while the kazoo accompanies",
            "the melody is carried by the kazoo, with the tuba providing accompaniment"),
    caption("202", "R", "natural", "the kazoo leads with the tune as the tuba backs it",
            "the tuba leads with the tune as the kazoo backs it",
            "the kazoo takes the lead line and the tuba plays the supporting part"),
]  # fmt: skip
ORDER = [
    {
        "pair_id": f"i000{number}",
        "moisesdb_track": track,
        "stem_A": "wind",
        "stem_B": "bass",
        "name_A": "kazoo",
        "name_B": "bass",
        "window_start_s": "12.862500",
        "caption_A_first": "the kazoo enters before the bass",
        "caption_B_first": "the bass enters before the kazoo",
    }
    for number, track in enumerate(["aa-bb", "aa-bb", "cc-dd"])
]


def write(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    rows = list(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def changed(rows: Sequence[Row], at: int, **cells: str) -> list[Row]:
    """Return the rows with some cells of one of them replaced."""
    assert set(cells) <= set(rows[at])
    return [{**row, **cells} if number == at else row for number, row in enumerate(rows)]
