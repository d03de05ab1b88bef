"""The text that ``reasonaudio show`` prints."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pytest_audioretrieval.benchmarks.reasonaudio.analyses.timeline import show, timeline
from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import ReasonChoice
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import Negation, Overlap, Presence
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import ReasonQuery
from pytest_audioretrieval.benchmarks.reasonaudio.release.folder import write_queries
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.reasonaudio.toy_corpus import clip

pytestmark = pytest.mark.slow

RIGHT = clip("dog 0-1000, church-bell 500-3000", 0)
WITH_SIREN = clip("dog 0-1000, church-bell 500-3000, siren 3100-5600", 1)
ONE_ALONE = clip("rain 0-1000, dog 1100-2000", 2)
APART = clip("dog 0-1000, church-bell 1200-3000, siren 4000-6000", 3)
CLIPS = [RIGHT, WITH_SIREN, ONE_ALONE, APART]
ASKED = (Overlap("church-bell", "dog"), Negation("siren"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clips").mkdir()
    for composite in CLIPS:
        (tmp_path / "clips" / f"{composite.id}.flac").write_bytes(b"")
    queries = [ReasonQuery("mix-001", "mix", "dog over church bell; siren must not occur", ASKED, (RIGHT.id,))]
    choices = [ReasonChoice("mix-choice-001", "mix", "dog over church bell", ASKED, RIGHT.id, WITH_SIREN.id)]
    write_queries(tmp_path, queries, choices, name="mine", licence="CC0")
    return tmp_path


def shown(folder: Path, query: str, clip: str | None = None) -> list[str]:
    out = StringIO()
    show(folder, query, Console(file=out, width=80), clip)
    return out.getvalue().splitlines()


def test_a_timeline_is_sixty_columns_wide() -> None:
    """A clip of 6 s has ten columns a second."""
    assert timeline(APART, ["dog", "church-bell"], 6) == [
        "            0         1         2         3         4         5         6 s",
        "dog         ##########",
        "church bell             ##################",
        "siren                                               --------------------",
    ]


def test_a_ruler_of_a_long_clip_skips_numbers_and_a_short_event_is_seen() -> None:
    """A clip of 30 s has two columns a second; 200 ms are less than half a column."""
    assert timeline(clip("dog 0-200, rain 300-29000"), ["dog"], 30) == [
        "     0   2   4   6   8   10  12  14  16  18  20  22  24  26  28  30 s",
        "dog  #",
        "rain  ---------------------------------------------------------",
    ]


def test_a_query_its_relevant_clips_and_near_misses(folder: Path) -> None:
    """Near misses that hold the most of the named sounds and violate the least come first."""
    clips = folder / "clips"
    assert shown(folder, "mix-001") == [
        "mix-001 (mix): dog over church bell; siren must not occur",
        "asks for: church bell together with dog; no siren",
        "1 of 4 clips are relevant",
        "",
        "relevant",
        f"{clips / RIGHT.id}.flac",
        *timeline(RIGHT, ["dog", "church-bell"], 6),
        "",
        "broken negation: siren sounds from 3.10 to 5.60 s",
        f"{clips / WITH_SIREN.id}.flac",
        *timeline(WITH_SIREN, ["dog", "church-bell", "siren"], 6),
        "",
        "broken overlap: church bell (1.20-3.00 s) and dog (0.00-1.00 s) do not sound together; "
        "broken negation: siren sounds from 4.00 to 6.00 s",
        f"{clips / APART.id}.flac",
        *timeline(APART, ["dog", "church-bell", "siren"], 6),
        "",
        "broken overlap: no church bell is heard",
        f"{clips / ONE_ALONE.id}.flac",
        *timeline(ONE_ALONE, ["dog", "church-bell"], 6),
    ]


def test_three_of_each_at_most(tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    clips = [clip(f"dog {n}-900, {'rain' if n < 5 else 'cat'} 1000-2000", n) for n in range(10)]
    for composite in clips:
        (tmp_path / "clips" / f"{composite.id}.flac").write_bytes(b"")
    query = ReasonQuery(
        "q", "negation", "dog, no cat", (Presence("dog"), Negation("cat")), tuple(c.id for c in clips[:5])
    )
    write_queries(tmp_path, [query], [], name="mine", licence="CC0")
    lines = shown(tmp_path, "q")
    assert [line for line in lines if line.startswith(("relevant", "broken"))] == [
        *["relevant"] * 3,
        *["broken negation: cat sounds from 1.00 to 2.00 s"] * 3,
    ]


def test_a_choice_shows_its_two_clips(folder: Path) -> None:
    lines = shown(folder, "mix-choice-001")
    assert lines[0] == "mix-choice-001 (mix): dog over church bell"
    assert [line for line in lines if line.startswith(("relevant", "broken"))] == [
        "relevant",
        "broken negation: siren sounds from 3.10 to 5.60 s",
    ]


@pytest.mark.parametrize("wanted", [ONE_ALONE.id, "2", "00002"])
def test_one_clip_alone_by_id_or_number(folder: Path, wanted: str) -> None:
    lines = shown(folder, "mix-001", wanted)
    assert lines[3:] == [
        "",
        "broken overlap: no church bell is heard",
        f"{folder / 'clips' / ONE_ALONE.id}.flac",
        *timeline(ONE_ALONE, ["dog", "church-bell"], 2),
    ]


@pytest.mark.parametrize(
    ("query", "clip", "expected"),
    [
        (
            "mix-01",
            None,
            "query 'mix-01' is unknown, expected one of 2, mix-001 to mix-choice-001: did you mean 'mix-001'?",
        ),
        ("mix-001", "9", "clip '9': 0 of 4 clips have this id or number, expected 1: name one, such as 00000_ov1_dog"),
    ],
)
def test_an_unknown_query_or_clip(folder: Path, query: str, clip: str | None, expected: str) -> None:
    with pytest.raises(DataError) as caught:
        shown(folder, query, clip)
    assert expected in str(caught.value)


def test_a_release_without_constraints_has_nothing_to_show(folder: Path) -> None:
    for name in ("queries.jsonl", "choices.jsonl"):
        (folder / name).unlink()
    (folder / "queries.csv").write_text("id,task,text\nmix-001,mix,dog\n")
    with pytest.raises(DataError, match="its queries state no constraints"):
        shown(folder, "mix-001")


def test_the_built_in_corpus_goes_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of the packaged suite names its queries, and no folder holds them."""
    monkeypatch.chdir(tmp_path)
    lines = shown(Path("reasoning"), "negation-005")
    assert lines[0].startswith("negation-005 (negation): ")
    assert lines[2].endswith(" of 500 clips are relevant")
    assert lines[4] == "relevant"
