"""UIQ's queries: the real file, its query types, and errors that name the line."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_audioretrieval.benchmarks.cora.release.uiq import TYPES, load_uiq
from pytest_audioretrieval.data.query_sets import positions
from pytest_audioretrieval.errors import DataError

SHARED = Path(__file__).parents[4] / "shared" / "data"
REAL = SHARED / "uiq" / "uiq_audiocaps_first23.jsonl"
AUDIOCAPS = SHARED / "captions" / "audiocaps_test.csv"
needs_shared = pytest.mark.skipif(
    not (REAL.is_file() and AUDIOCAPS.is_file()), reason="needs ../shared/data/uiq and ../shared/data/captions"
)


def line(
    clip: str, kind: str, query: str | None = None, captions: Sequence[str] = ("rain", "wind")
) -> dict[str, object]:
    return {
        "audio_id": clip,
        "query_type": kind,
        "generated_query": query if query is not None else f"{kind} {clip}",
        "captions": list(captions),
    }


def write(path: Path, lines: Sequence[object]) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in lines), encoding="utf-8")
    return path


def audiocaps() -> dict[str, list[str]]:
    clips: dict[str, list[str]] = defaultdict(list)
    with AUDIOCAPS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            clips[f"{row['youtube_id']}_{row['start_time']}"].append(row["caption"].strip())
    return clips


@needs_shared
def test_the_real_file_has_23_complete_items_of_four_types() -> None:
    made = load_uiq(REAL)
    assert made.name == "uiq_audiocaps_first23"
    assert made.forms == TYPES == ("question", "imperative", "tagging", "paraphrase")
    assert (len(made.items), len(made.pairs), made.excluded, made.missing) == (23, 92, (), {})
    assert made.notes == {"captions repeated within a clip, removed": 1}, (
        "'A man talking as water streams ...' stands there twice"
    )
    first = made.items[0]
    assert first.id == first.clip == "7fmOlUlwoNg_20"
    assert first.source == "Constant rattling noise and sharp vibrations"
    assert first.others[3] == "A machine makes stitching sounds while people are talking in the background"
    assert first.forms == {
        "question": "Can you find rattling machine with talking?",
        "imperative": "Locate machine clicking and rattling with talking.",
        "tagging": "machine, rattling, clicking, people talking",
        "paraphrase": "A machine rattles and clicks while people talk.",
    }


@needs_shared
def test_the_real_ids_and_captions_are_those_of_audiocaps() -> None:
    """Against fault 53, the join is by id and complete, and the captions of both sides agree."""
    made, clips = load_uiq(REAL), audiocaps()
    assert len(clips) == 975
    places = positions(made, list(clips))
    assert [list(clips)[place[0]] for place in places] == [item.clip for item in made.items]
    for item in made.items:
        assert {item.source, *item.others} == set(clips[item.clip])


@needs_shared
def test_real_ids_in_another_spelling_are_an_error_that_shows_both_sides() -> None:
    with pytest.raises(DataError) as caught:
        positions(load_uiq(REAL), [f"{clip}.wav" for clip in audiocaps()])
    assert "23 of 23 audio ids are not among the 975 clips that are ranked: '7fmOlUlwoNg_20'," in str(caught.value)
    assert "(23 of these match a clip but for the ending of its name); 975 of those clips" in str(caught.value)


def test_lines_of_a_clip_become_one_item_wherever_they_stand(tmp_path: Path) -> None:
    lines = [line(clip, kind) for kind in reversed(TYPES) for clip in ("-b_10", "a.wav")]
    made = load_uiq(write(tmp_path / "u.jsonl", lines), name="uiq")
    assert [item.id for item in made.items] == ["-b_10", "a.wav"]
    assert [pair.text for pair in made.pairs[:4]] == [f"{kind} -b_10" for kind in TYPES]
    assert made.items[0].also_relevant == ("a.wav",)


def test_prose_stays_whole_and_is_stripped(tmp_path: Path) -> None:
    """Faults 51 and 52: 'A. B. ' is one text, not two and an empty one."""
    lines = [line("a", kind, " A. B. ", [" C. D. "]) for kind in TYPES]
    made = load_uiq(write(tmp_path / "u.jsonl", lines))
    assert [pair.text for pair in made.pairs] == ["A. B."] * 4
    assert (made.items[0].source, made.items[0].others) == ("C. D.", ())


@pytest.mark.parametrize("empty", ["", " ", "\u200b", "null"])
def test_an_empty_query_is_missing_and_counted(tmp_path: Path, empty: str) -> None:
    lines = [line(clip, kind) for clip in "ab" for kind in TYPES]
    lines[2]["generated_query"] = None if empty == "null" else empty
    made = load_uiq(write(tmp_path / "u.jsonl", lines[:-1]), cases="available")
    assert made.missing == {"tagging": ("a",), "paraphrase": ("b",)}
    assert made.notes["items without a query of form tagging"] == 1
    assert len(made.pairs) == 6
    with pytest.raises(DataError, match=r"no item to ask among 2 \(items that lack a form: tagging 1, paraphrase 1\)"):
        load_uiq(tmp_path / "u.jsonl")


def test_a_source_among_another_clip_s_captions_makes_that_clip_relevant(tmp_path: Path) -> None:
    lines = [line("a", kind, captions=["rain", "x", "rain "]) for kind in TYPES]
    lines += [line("b", kind, captions=["y", "rain"]) for kind in TYPES]
    made = load_uiq(write(tmp_path / "u.jsonl", lines))
    assert [(item.source, item.others, item.also_relevant) for item in made.items] == [
        ("rain", ("x",), ("b",)),
        ("y", ("rain",), ()),
    ]
    assert made.notes == {
        "captions repeated within a clip, removed": 1,
        "items whose source caption other clips have too": 1,
    }


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["{"], "u.jsonl:1: Input data was truncated"),
        ([{**line("a", "question"), "caption": "x"}], "u.jsonl:1: unknown field 'caption': did you mean 'captions'?"),
        ([{"audio_id": "a"}], "u.jsonl:1: Object missing required field `query_type`"),
        ([line("a", "questions")], "u.jsonl:1: query_type is 'questions', expected one of"),
        ([line("a", "question"), line("a", "question")], "u.jsonl:2: a second question query of 'a'"),
        (
            [line("a", "question"), "", line("a", "tagging", captions=["rain"])],
            "u.jsonl:3: captions of 'a' differ from those on line 1",
        ),
        ([line("a", "question", captions=[])], "u.jsonl:1: 'a' has no captions"),
        ([line("a", "question", captions=["x", " "])], "u.jsonl:1: caption 1 of 'a' is empty"),
        ([{**line("a", "question"), "captions": "A. B."}], "u.jsonl:1: Expected `array`, got `str` - at `$.captions`"),
        ([line(" ", "question")], "u.jsonl:1: audio_id is ' ', expected printable characters"),
        (
            [line("a", "question", "\x1b[31m")],
            "u.jsonl:1: the question query of 'a' holds the control character U+001B",
        ),
        ([{"audio_id": "07 storm - orage", "negative_query": "x"}], "holds UIQ's negatives ('negative_query')"),
        ([], "no queries, expected one a line with audio_id, query_type, generated_query, captions"),
    ],
)
def test_a_bad_line_is_refused_by_number(tmp_path: Path, lines: list[object], expected: str) -> None:
    with pytest.raises(DataError) as caught:
        load_uiq(write(tmp_path / "u.jsonl", lines))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_byte_order_mark_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"u\.jsonl is missing: name a \.jsonl file of UIQ queries"):
        load_uiq(tmp_path / "u.jsonl")
    (tmp_path / "u.jsonl").write_bytes(b"\xef\xbb\xbf{}")
    with pytest.raises(DataError, match="byte order mark"):
        load_uiq(tmp_path / "u.jsonl")
