"""CORA's query sets: the counts of Table 1 from files of that shape, and errors that name the line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.benchmarks.cora.release.query_file import COLUMNS, load_cora
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.query_sets import QueryPair, positions
from pytest_audioretrieval.errors import DataError

#: Table 1: test items, the form that is empty in some of them, how many, and those retained.
TABLE_1 = {
    "AudioCaps": (974, "indirect", 11, 963),
    "Clotho": (1045, "key_phrase", 51, 994),
    "MACS": (500, None, 0, 500),
    "MECAT": (848, None, 0, 848),
}
ROW = {"audio_id": "-a_1", "caption": "a dog, barking", **{form: f"{form}: a dog" for form in FORMS}}


def jsonl(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def as_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def of_table_1(name: str) -> list[dict[str, str]]:
    """Return the items of one dataset of Table 1; every second empty query consists of spaces."""
    items, form, empty, _ = TABLE_1[name]
    rows = [
        {"audio_id": f"{name}-{n}", "caption": f"sound {n}", **{f: f"{f} sound {n}" for f in FORMS}}
        for n in range(items)
    ]
    for n in range(empty):
        assert form is not None
        rows[n * 7][form] = " " * (n % 2)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("write", [jsonl, as_csv])
def test_62_of_3367_items_are_left_out_as_in_table_1(tmp_path: Path, write: object) -> None:
    """CORA, Table 1: 3,305 retained; five forms by four retrievers give 66,100 evaluations."""
    ending = ".jsonl" if write is jsonl else ".csv"
    totals = [0, 0, 0, 0]
    for name, (items, form, empty, retained) in TABLE_1.items():
        made = load_cora(write((tmp_path / name).with_suffix(ending), of_table_1(name)))  # type: ignore[operator]
        assert made.name == name
        assert {f: len(ids) for f, ids in made.missing.items()} == ({form: empty} if form else {})
        assert (len(made.clips), len(made.excluded), len(made.items)) == (items, empty, retained)
        assert made.excluded == tuple(f"{name}-{n * 7}" for n in range(empty))
        totals = [
            a + b
            for a, b in zip(totals, [items, len(made.excluded), len(made.items), 4 * len(made.pairs)], strict=True)
        ]
    assert totals == [3367, 62, 3305, 66_100]


def test_available_cases_keep_the_other_four_forms(tmp_path: Path) -> None:
    made = load_cora(jsonl(tmp_path / "a.jsonl", of_table_1("Clotho")), cases="available", name="clotho")
    assert (made.name, len(made.items), made.excluded) == ("clotho", 1045, ())
    assert len(made.pairs) == 5 * 1045 - 51
    assert len(made.missing["key_phrase"]) == 51


@pytest.mark.parametrize("write", [jsonl, as_csv])
def test_a_row_becomes_an_item(tmp_path: Path, write: object) -> None:
    """Ids begin with '-', captions hold commas; full stops do not split (fault 52)."""
    row = {**ROW, "caption": " Ein Hund, „Wau“. It barks. ", "command": "Find it. Now."}
    path = tmp_path / ("q.jsonl" if write is jsonl else "q.csv")
    made = load_cora(write(path, [row]))  # type: ignore[operator]
    assert [(i.id, i.clip, i.source) for i in made.items] == [("-a_1", "-a_1", "Ein Hund, „Wau“. It barks.")]
    assert made.pairs[0] == QueryPair(0, "command", "Find it. Now.")
    assert positions(made, ["x", "-a_1"]) == ((1,),)


def test_items_of_one_clip_have_ids_of_their_own(tmp_path: Path) -> None:
    rows = [{**ROW, "id": "one"}, {**ROW, "id": "two", "caption": "barking", "indirect": None}]
    made = load_cora(jsonl(tmp_path / "q.jsonl", rows), cases="available")
    assert [(i.id, i.clip) for i in made.items] == [("one", "-a_1"), ("two", "-a_1")]
    assert made.missing == {"indirect": ("two",)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([ROW, "{"], "q.jsonl:2: Input data was truncated"),
        ([ROW, "[]"], "q.jsonl:2: Expected `object`, got `array`"),
        ([{**ROW, "caption": 3}], "q.jsonl:1: Expected `str | null`, got `int`"),
        (
            [{("comand" if k == "command" else k): v for k, v in ROW.items()}],
            "q.jsonl:1: columns missing 'command'; unknown 'comand', "
            f"expected {', '.join(COLUMNS)}, and optionally id: did you mean 'command'? correct the header",
        ),
        ([{"audio_id": "a"}], "columns missing 'caption', 'command', 'question', 'indirect', 'key_phrase'"),
        ([ROW, "", ROW], "q.jsonl:3: item '-a_1' stands on line 1 already: give each item of a clip its own 'id'"),
        ([{**ROW, "caption": " "}], "q.jsonl:1: the caption of '-a_1' is empty"),
        ([{**ROW, "caption": None}], "q.jsonl:1: the caption of '-a_1' is empty"),
        ([{**ROW, "audio_id": None}], "q.jsonl:1: audio_id is '', expected printable characters"),
        ([{**ROW, "audio_id": "\x1b[31mred"}], r"q.jsonl:1: audio_id is '\x1b[31mred', expected printable"),
        ([{**ROW, "id": " "}], "q.jsonl:1: id is ' ', expected printable"),
        (
            [{**ROW, "question": "is\x00it"}],
            "q.jsonl:1: the question query of '-a_1' holds the control character U+0000",
        ),
        ([{**ROW, "caption": "a\nb"}], "q.jsonl:1: the caption of '-a_1' holds the control character U+000A"),
        (['{"audio_id": "\\ud800"}'], "q.jsonl:1: "),
        ([], "no items, expected one a line with audio_id, caption, command"),
    ],
)
def test_a_bad_line_is_refused_by_number(tmp_path: Path, rows: list[object], expected: str) -> None:
    with pytest.raises(DataError) as caught:
        load_cora(jsonl(tmp_path / "q.jsonl", rows))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


HEAD = ",".join(COLUMNS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no items"),
        (f"{HEAD}\n", "no items"),
        (f"{HEAD}\na,b,c\n", f"q.csv:2: 3 cells, expected 7 ({', '.join(COLUMNS)}): quote a cell that holds a comma"),
        (f"{HEAD}\n\na,b,1,2,3,4,5,6\n", "q.csv:3: 8 cells, expected 7"),
        (f'{HEAD}\n"a,b,1,2,3,4,5\n', "q.csv:2: no readable CSV (unexpected end of data"),
        (f'{HEAD}\n"a"b,b,1,2,3,4,5\n', "q.csv:2: no readable CSV ("),
        (f"{HEAD},extra\n", "q.csv:1: columns unknown 'extra', expected audio_id, caption"),
        (f"{HEAD},caption\n", "q.csv:1: columns repeated 'caption', expected audio_id"),
        (
            HEAD.replace("key_phrase", "keyphrase"),
            "missing 'key_phrase'; unknown 'keyphrase', expected",
        ),
        (HEAD.replace(",", ";"), "q.csv:1: columns missing 'audio_id', 'caption'"),
        (f'{HEAD}\na,b,"1\n1",2,3,4,5\n', "the command query of 'a' holds the control character U+000A"),
    ],
)
def test_a_bad_csv_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "q.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_cora(tmp_path / "q.csv")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["q.csv", "q.jsonl"])
def test_bytes_that_are_no_utf8_and_a_byte_order_mark_are_refused(tmp_path: Path, name: str) -> None:
    write = jsonl if name.endswith("l") else as_csv
    text = write(tmp_path / name, [{**ROW, "caption": "é"}]).read_bytes()
    (tmp_path / name).write_bytes(text.replace("é".encode(), b"\xe9").replace(rb"\u00e9", b"\xe9"))
    with pytest.raises(DataError, match=rf"q\.\w+:{1 if name.endswith('l') else 2}: .*(?i:UTF-8)"):
        load_cora(tmp_path / name)
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text)
    with pytest.raises(DataError, match="byte order mark: save it as UTF-8 without one"):
        load_cora(tmp_path / name)


def test_a_missing_file_and_another_format_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.jsonl is missing: name a \.jsonl or \.csv file"):
        load_cora(tmp_path / "gone.jsonl")
    (tmp_path / "q.tsv").write_text("x")
    with pytest.raises(DataError, match=r"q\.tsv ends in '\.tsv', expected a query set in \.jsonl or \.csv"):
        load_cora(tmp_path / "q.tsv")
    with pytest.raises(DataError, match="cannot be read"):
        load_cora(tmp_path)


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@pytest.mark.slow
@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5, unique_by=lambda row: row[0]))
def test_both_formats_read_alike(tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str]]) -> None:
    """Quotes, commas and letters of any script survive in both formats."""
    folder = tmp_path_factory.mktemp("q")
    rows = [{"audio_id": a, "caption": b, **dict.fromkeys(FORMS, c)} for a, b, c in texts]
    made = load_cora(jsonl(folder / "q.jsonl", rows))
    assert made == load_cora(as_csv(folder / "q.csv", rows))
    assert [(i.id, i.source, i.forms["indirect"]) for i in made.items] == texts


def test_a_csv_cell_may_hold_quotes_and_commas(tmp_path: Path) -> None:
    buffer = io.StringIO(f'{HEAD}\r\na,"say ""hi"", twice",1,2,3,4,5\r\n')
    (tmp_path / "q.csv").write_bytes(buffer.getvalue().encode())
    assert load_cora(tmp_path / "q.csv").items[0].source == 'say "hi", twice'
