"""Loader of a folder in MASB's layout as a dataset of choices and rewordings.

It holds ``dataset.toml`` (``layout = "masb"``), the CSV files of the release, the excerpts ``clips/<clip_id>_<axis>.*``
(``cut`` makes them) and, where ``masb_order_manifest.csv`` is there, the mixes ``order/<pair_id>/A_first.*`` and
``B_first.*``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_audioretrieval.benchmarks.masb.release.annotations import load_annotations
from pytest_audioretrieval.benchmarks.masb.release.captions import CaptionRow, compare, load_captions
from pytest_audioretrieval.benchmarks.masb.release.order import OrderPair, load_order
from pytest_audioretrieval.benchmarks.masb.release.rows import Axis
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.manifest import SETTINGS, Settings, read_settings
from pytest_audioretrieval.data.sound_files import by_stem, file_clip, only_file
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Option, Rewording
from pytest_audioretrieval.errors import DataError

#: File names of the release.
ANNOTATIONS, CAPTIONS, ORDER = "masb_annotations.csv", "masb_captions.csv", "masb_order_manifest.csv"
CLIPS, MIXES = "clips", "order"
SLICES: dict[Axis, str] = {"T": "timbre", "R": "role", "O": "order"}
MIRROR = "mirror-order"


def load_masb(folder: Path) -> Dataset:
    """Load choices and rewordings, with the track as cluster; every sound is hashed, none is decoded.

    A caption row gives one choice (Exp. 1: the caption over its swap, for its clip) and one rewording (Exp. 3), both
    with id ``<clip_id>_<axis>_<style>``; ``Rewording.recording`` is ``<clip_id>_<axis>``. A pair of mixes gives two
    choices (Exp. 4: one caption over the other for the one mix, the reverse for the other).

    Choices whose clip is missing are left out and counted in the notes; where one mix of a pair is missing, both
    choices are, as the prior would not cancel. Rewordings need no sound.

    Raises:
        DataError: a file is not as described, a recording has two files, or there is no sound.
    """
    settings = read_settings(folder)
    _check(settings, folder / SETTINGS)
    annotations = load_annotations(folder / ANNOTATIONS)
    rows = load_captions(folder / CAPTIONS, annotations)
    notes: Counter[str] = Counter()
    excerpts = _excerpts(folder, [annotation.recording for annotation in annotations], notes)
    mixes = dict(_mixes(folder, _pairs(folder), notes))
    clips = (*excerpts.values(), *(clip for both in mixes.values() for clip in both))
    if not clips:
        raise DataError(
            f"{folder / CLIPS} holds no clip", expected="<clip_id>_<axis>.wav", remedy="cut them (command masb cut)"
        )
    choices = (
        *(_choice(row) for row in rows if row.recording in excerpts),
        *(choice for pair in mixes for choice in _mirrored(pair)),
    )
    notes["captions that are not those its annotation makes"] = len(compare(annotations, rows))
    notes["choices left out: their clip is missing"] = sum(row.recording not in excerpts for row in rows)
    rewordings = tuple(map(_rewording, rows))
    return Dataset(
        chance_command="binding",
        name=settings.name,
        revision=None,
        clips=clips,
        captions=(),
        fingerprint=fingerprint(clips, stated=(*choices, *rewordings)),
        notes={note: count for note, count in notes.items() if count},
        choices=choices,
        rewordings=rewordings,
    )


def _check(settings: Settings, path: Path) -> None:
    if settings.layout != "masb":
        raise DataError(f"{path}: layout is {settings.layout!r}", expected="'masb'", remedy="correct it")
    for field, usual in (("sha256", None), ("identical_captions", "separate")):
        if getattr(settings, field) != usual:
            raise DataError(f"{path}: {field} is for layout 'captions'", remedy="remove it")


def _excerpts(folder: Path, recordings: Sequence[str], notes: Counter[str]) -> dict[str, Clip]:
    """Return the clips that are there, by recording."""
    files = by_stem(folder / CLIPS)
    found: dict[str, Clip] = {}
    for recording in recordings:
        name = only_file(files.pop(recording, []), folder / CLIPS)
        if name:
            found[recording] = file_clip(folder, f"{CLIPS}/{name}", recording, str(folder))
    notes[f"files in {CLIPS} that no annotation names"] = sum(map(len, files.values()))
    return found


def _pairs(folder: Path) -> tuple[OrderPair, ...]:
    if (folder / ORDER).exists():
        return load_order(folder / ORDER)
    if (folder / MIXES).exists():
        raise DataError(
            f"{folder / ORDER} is missing, but its mixes are there", remedy=f"add it or remove {folder / MIXES}"
        )
    return ()


def _mixes(
    folder: Path, pairs: Sequence[OrderPair], notes: Counter[str]
) -> Iterator[tuple[OrderPair, tuple[Clip, Clip]]]:
    """Yield the two mixes of each pair that has both."""
    for pair in pairs:
        files = by_stem(folder / MIXES / pair.pair_id)
        a, b = (only_file(files.get(mix, []), folder / MIXES / pair.pair_id) for mix in ("A_first", "B_first"))
        if not a or not b:
            notes["order pairs left out: a mix is missing"] += 1
            continue
        one, two = (
            file_clip(folder, f"{MIXES}/{pair.pair_id}/{name}", f"{pair.pair_id}_{mix}", str(folder))
            for name, mix in ((a, "A_first"), (b, "B_first"))
        )
        yield pair, (one, two)


def _choice(row: CaptionRow) -> Choice:
    return Choice(
        id=row.id,
        right=Option(row.caption_pos, row.recording),
        wrong=Option(row.caption_neg, row.recording),
        cluster=row.clip_id,
        slice=SLICES[row.axis],
    )


def _rewording(row: CaptionRow) -> Rewording:
    return Rewording(
        id=row.id,
        text=row.caption_pos,
        swap=row.caption_neg,
        paraphrase=row.caption_paraphrase,
        recording=row.recording,
        cluster=row.clip_id,
        slice=SLICES[row.axis],
    )


def _mirrored(pair: OrderPair) -> Iterator[Choice]:
    """Yield a pair's two choices: each caption is right for one mix and wrong for the other."""
    for mix, right, wrong in (
        ("A_first", pair.caption_a_first, pair.caption_b_first),
        ("B_first", pair.caption_b_first, pair.caption_a_first),
    ):
        clip = f"{pair.pair_id}_{mix}"
        yield Choice(clip, Option(right, clip), Option(wrong, clip), pair.moisesdb_track, MIRROR)
