"""The folder on disk: written, read, and every way in which it can contradict itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import ReasonChoice, make_choices
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import Negation, Order, Presence
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import ReasonQuery, make_queries
from pytest_audioretrieval.benchmarks.reasonaudio.release.folder import load_reasonaudio, write_queries
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.queries import text_queries
from pytest_audioretrieval.data.registry import source
from pytest_audioretrieval.data.types import Option, Violation
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.reasonaudio.toy_corpus import clip, corpus

A, B, C = clips = [
    clip("dog 0-900, rain 1000-2000", 0),
    clip("rain 0-900, dog 1000-2000", 1),
    clip("dog 0-900, rain 1000-2000, siren 2100-3000", 2),
]
ORDER = (Order("dog", "rain"),)
NEGATION = (Presence("dog"), Presence("rain"), Negation("siren"))
QUERIES = [
    ReasonQuery("order-001", "order", "dog, then rain", ORDER, (A.id, C.id)),
    ReasonQuery("negation-001", "negation", "dog and rain; siren must not occur", NEGATION, (A.id, B.id)),
]
CHOICES = [
    ReasonChoice("order-choice-001", "order", "dog, then rain", ORDER, A.id, B.id),
    ReasonChoice("negation-choice-001", "negation", "never a siren, but dog and rain", NEGATION, A.id, C.id),
    ReasonChoice("negation-choice-002", "negation", "never a siren, but dog and rain", NEGATION, B.id, C.id),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    (out / "clips").mkdir(parents=True)
    for number, composite in enumerate(clips, start=1):
        soundfile.write(out / "clips" / f"{composite.id}.flac", np.full(480, 0.1 * number), 48_000)
    write_queries(out, QUERIES, CHOICES, name="mine", licence='CC0 "1.0"')
    return out


def listed(folder: Path) -> list[dict[str, object]]:
    """Return the content of ``clips.jsonl`` as a build writes it."""
    return [
        {
            "id": c.id,
            "sha256": hashlib.sha256((folder / "clips" / f"{c.id}.flac").read_bytes()).hexdigest(),
            "pattern": c.pattern,
            "events": [{"sound": e.sound, "start_ms": e.start, "end_ms": e.end} for e in c.events],
        }
        for c in clips
    ]


def write_listed(folder: Path, lines: list[dict[str, object]]) -> None:
    (folder / "clips.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_what_is_written(folder: Path) -> None:
    assert (folder / "queries.jsonl").read_text().splitlines()[0] == (
        '{"id":"order-001","task":"order","text":"dog, then rain",'
        '"constraints":[{"kind":"order","first":"dog","second":"rain"}]}'
    )
    assert (folder / "qrels.tsv").read_text() == (
        f"query-id\tclip-id\tscore\norder-001\t{A.id}\t1\norder-001\t{C.id}\t1\n"
        f"negation-001\t{A.id}\t1\nnegation-001\t{B.id}\t1\n"
    )
    assert json.loads((folder / "choices.jsonl").read_text().splitlines()[1])["wrong"] == C.id
    assert (folder / "dataset.toml").read_text() == (
        'name = "mine"\nlicence = "CC0 \\"1.0\\""\nlayout = "reasonaudio"\n'
    )
    assert {path.name for path in folder.iterdir()} == {
        "clips", "queries.jsonl", "qrels.tsv", "choices.jsonl", "dataset.toml"
    }  # fmt: skip


def test_what_is_read(folder: Path) -> None:
    made = load_reasonaudio(folder)
    assert (made.name, made.revision, made.captions, made.notes) == ("mine", None, (), {})
    assert [c.id for c in made.clips] == [A.id, B.id, C.id]
    content = (folder / "clips" / f"{B.id}.flac").read_bytes()
    assert made.clips[1].digest == hashlib.sha256(content).hexdigest()
    assert made.clips[1].path == folder / "clips" / f"{B.id}.flac"
    np.testing.assert_allclose(made.clips[1].read().samples, 0.2, atol=1e-4)
    assert [(q.id, q.text, q.clips, q.slice) for q in made.queries] == [
        ("order-001", "dog, then rain", (A.id, C.id), "order"),
        ("negation-001", "dog and rain; siren must not occur", (A.id, B.id), "negation"),
    ]
    assert made.choices[0].right == Option("dog, then rain", A.id)
    assert made.choices[0].wrong == Option("dog, then rain", B.id)
    asked = text_queries(made)
    assert (asked.clusters, asked.slices) == (asked.ids, ("order", "negation"))


def test_relevant_clips_are_read_in_document_order(folder: Path) -> None:
    before = load_reasonaudio(folder)
    header, *lines = (folder / "qrels.tsv").read_text().splitlines(keepends=True)
    (folder / "qrels.tsv").write_text("".join([header, *reversed(lines)]))
    assert load_reasonaudio(folder) == before


def test_choices_on_one_text_are_one_cluster_with_its_query(folder: Path) -> None:
    made = load_reasonaudio(folder)
    assert [(c.cluster, c.slice) for c in made.choices] == [
        ("order-001", "order"),
        ("negation-choice-001", "negation"),
        ("negation-choice-001", "negation"),
    ]


def test_why_a_clip_is_wrong(folder: Path) -> None:
    explain = load_reasonaudio(folder).explain
    assert explain is not None
    assert explain("order-001", B.id) == [
        Violation("order", "dog (1.00-2.00 s) does not end before rain (0.00 s) starts")
    ]
    assert explain("negation-choice-002", C.id) == [Violation("negation", "siren sounds from 2.10 to 3.00 s")]
    assert explain("order-001", A.id) == []


def test_the_fingerprint_covers_queries_choices_and_sounds(folder: Path) -> None:
    first = load_reasonaudio(folder).fingerprint
    assert load_reasonaudio(folder).fingerprint == first
    write_queries(folder, QUERIES, CHOICES[:2], name="mine", licence="CC0")
    second = load_reasonaudio(folder).fingerprint
    soundfile.write(folder / "clips" / f"{A.id}.flac", np.full(480, 0.5), 48_000)
    assert len({first, second, load_reasonaudio(folder).fingerprint}) == 3


def test_the_registry_reads_the_layout(folder: Path) -> None:
    seen: list[str] = []

    def track(items: list[object], what: str) -> list[object]:
        seen.append(f"{len(items)} {what}")
        return items

    found = source("out", folder.parent)
    assert found.name == "mine"
    assert found.load(Loading(None, track)) == load_reasonaudio(folder)
    assert seen == ["3 reading clips"]


@pytest.mark.slow
def test_generated_queries_survive_the_disk(tmp_path: Path) -> None:
    made = corpus(200, 12)
    queries, choices = make_queries(made, 5, 1), make_choices(made, 8, 1)
    (tmp_path / "clips").mkdir()
    for composite in made:
        (tmp_path / "clips" / f"{composite.id}.flac").write_bytes(composite.id.encode())
    write_queries(tmp_path, queries, choices, name="reasonaudio", licence="CC0")
    back = load_reasonaudio(tmp_path)
    assert [(q.id, q.text, q.clips, q.slice) for q in back.queries] == [
        (q.id, q.text, q.clips, q.task) for q in queries
    ]
    assert [(c.id, c.right, c.wrong) for c in back.choices] == [
        (c.id, Option(c.text, c.right), Option(c.text, c.wrong)) for c in choices
    ]
    assert back.explain is not None
    assert all(not back.explain(q.id, right) for q in queries for right in q.clips)
    assert all(len(back.explain(c.id, c.wrong)) == 1 for c in choices)


def test_a_build_lists_its_clips(folder: Path) -> None:
    before = load_reasonaudio(folder)
    write_listed(folder, listed(folder))
    line = (folder / "clips.jsonl").read_bytes().splitlines(keepends=True)[0]
    (folder / "clips" / f"{A.id}.json").write_bytes(line)
    (folder / "clips" / ".left.tmp").write_text("")
    assert load_reasonaudio(folder) == before


def test_a_pin_is_held_against_the_queries(folder: Path) -> None:
    toml = folder / "dataset.toml"
    digest = hashlib.sha256((folder / "queries.jsonl").read_bytes()).hexdigest()
    toml.write_text(f'{toml.read_text()}sha256 = "{digest}"\n')
    assert load_reasonaudio(folder).name == "mine"
    toml.write_text(toml.read_text().replace(digest, "0" * 64))
    with pytest.raises(DataError, match=r"queries.jsonl: sha256 is .*, expected 000"):
        load_reasonaudio(folder)


def bare(folder: Path, queries: str = 'id,task,text\nq1,order,"dog, then rain"\n', ending: str = "") -> None:
    """Turn the folder into a release: clips with other names, CSV files, neither constraints nor choices."""
    for number, composite in enumerate(clips):
        (folder / "clips" / f"{composite.id}.flac").rename(folder / "clips" / f"clip {number} (dog_rain).flac")
    for name in ("queries.jsonl", "qrels.tsv", "choices.jsonl"):
        (folder / name).unlink()
    (folder / "queries.csv").write_text(queries)
    (folder / "qrels.csv").write_text(f"clip-id,query-id,score\nclip 1 (dog_rain){ending},q1,1\n")


@pytest.mark.parametrize("ending", ["", ".flac"])
def test_a_release_without_constraints(folder: Path, ending: str) -> None:
    bare(folder, ending=ending)
    made = load_reasonaudio(folder)
    assert [(q.id, q.text, q.clips) for q in made.queries] == [("q1", "dog, then rain", ("clip 1 (dog_rain)",))]
    assert (made.explain, made.choices) == (None, ())
    assert made.notes == {
        "two-option items (choices.jsonl)": 0,
        "queries with constraints, which would tell why a clip is wrong": 0,
    }


Change = Callable[[Path], object]


def edit(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return change


def append(name: str, line: str) -> Change:
    return lambda folder: (folder / name).write_text((folder / name).read_text() + line)


def write(name: str, text: str) -> Change:
    return lambda folder: (folder / name).write_text(text)


def relisted(change: Callable[[list[dict[str, object]]], object]) -> Change:
    def rewrite(folder: Path) -> None:
        lines = listed(folder)
        change(lines)
        write_listed(folder, lines)

    return rewrite


def without(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def renamed(old: str, new: str) -> Change:
    return lambda folder: (folder / old).rename(folder / new)


def emptied(folder: Path) -> None:
    for path in (folder / "clips").iterdir():
        path.unlink()


def all_relevant(folder: Path) -> None:
    append("queries.jsonl", ANY)(folder)
    append("qrels.tsv", "".join(f"q\t{c.id}\t1\n" for c in clips))(folder)


ANY = '{"id":"q","task":"order","text":"dog","constraints":[{"kind":"presence","sound":"dog"}]}\n'
IN_ORDER = ',"constraints":[{"kind":"order","first":"dog","second":"rain"}]'
Q, R, H = "queries.jsonl", "qrels.tsv", "choices.jsonl"
BAD: list[tuple[Change, str]] = [
    (without(Q), "out holds no queries.jsonl, expected one of queries.jsonl, queries.csv: write one"),
    (write("queries.csv", "id,task,text\n"), "out holds both queries.jsonl and queries.csv"),
    (write(Q, ""), "queries.jsonl holds no queries"),
    (append(Q, ANY), "queries.jsonl:3: query 'q' has no relevant clip"),
    (all_relevant, "queries.jsonl:3: all 3 clips are relevant to 'q'"),
    (edit(Q, "negation-001", "order-001"), "queries.jsonl:2: id 'order-001' stands on line 1"),
    (edit(Q, '"order-001"', '" "'), "queries.jsonl:1: id is ' ', expected printable"),
    (
        edit(Q, '"task":"order"', '"task":"orders"'),
        "queries.jsonl:1: task is 'orders', expected one of negation, order, overlap, duration, mix: did you mean",
    ),
    (edit(Q, '"task":"order"', '"task":"mix"'), "queries.jsonl:1: task is 'mix', expected 'order' as its constraints"),
    (
        edit(H, '"task":"order"', '"task":"overlap"'),
        "choices.jsonl:1: task is 'overlap', expected 'order' as its constraints",
    ),
    (edit(Q, "dog, then rain", " "), "queries.jsonl:1: the text of 'order-001' is empty"),
    (edit(Q, '"kind":"order"', '"kind":"loud"'), "queries.jsonl:1: Invalid value 'loud'"),
    (edit(Q, IN_ORDER, ""), "queries.jsonl:1: the query has no constraints (nor have 0 others of 2 queries)"),
    (without(R), "out holds no qrels.tsv"),
    (write(R, "query-id\tclip-id\tscore\n"), "qrels.tsv names no relevant clip"),
    (
        edit(R, "query-id\tclip-id\tscore\n", ""),
        "qrels.tsv:1: columns missing 'query-id', 'clip-id', 'score'; unknown",
    ),
    (
        append(R, "order-001\n"),
        "qrels.tsv:6: 1 cells, expected 3 (query-id, clip-id, score): separate cells by",
    ),
    (edit(R, "\t1\n", "\t0\n"), "qrels.tsv:2: score is '0', expected 1"),
    (edit(R, "order-001", "order-01"), "qrels.tsv:2: query 'order-01' is unknown: did you mean 'order-001'? correct"),
    (edit(R, A.id, "00007_seq_dog.0-5"), "qrels.tsv:2: clip '00007_seq_dog.0-5' has no file in clips/"),
    (append(R, f"order-001\t{A.id}\t1\n"), f"qrels.tsv:6: clip {A.id!r} is named for 'order-001' twice"),
    (
        edit(R, f"order-001\t{A.id}", f"order-001\t{B.id}"),
        f"qrels.tsv:2: clip {B.id!r} is not relevant to 'order-001': dog (1.00-2.00 s) does not end before rain",
    ),
    (
        edit(R, f"order-001\t{C.id}\t1\n", ""),
        f"queries.jsonl:1: clip {C.id!r} meets every constraint of 'order-001' and is not stated",
    ),
    (edit(H, f'"wrong":"{B.id}"', '"wrong":"b"'), "choices.jsonl:1: clip 'b' has no file in clips/"),
    (
        edit(H, f'"right":"{A.id}"', f'"right":"{B.id}"'),
        "choices.jsonl:1: the right clip is wrong: dog (1.00-2.00 s) does not",
    ),
    (
        edit(H, f'"wrong":"{B.id}"', f'"wrong":"{C.id}"'),
        "choices.jsonl:1: the wrong clip meets every constraint",
    ),
    (edit(H, "negation-choice-002", "order-choice-001"), "choices.jsonl:3: id 'order-choice-001' stands on line 1"),
    (edit(H, "order-choice-001", "order-001"), "choices.jsonl:1: id 'order-001' is that of a query"),
    (edit(H, IN_ORDER, ""), "choices.jsonl:1: the choice has no constraints, unlike the queries"),
    (emptied, "clips holds no clips, expected sound files"),
    (renamed("clips", "sounds"), "clips cannot be read (No such file"),
    (write("clips/notes.txt", ""), "notes.txt is no sound file"),
    (write(f"clips/{A.id}.wav", ""), f"clip {A.id!r} is there as {A.id}.flac"),
    (write("clips/x.flac", ""), "x.flac: name is 'x', expected NUMBER_"),
    (
        relisted(lambda lines: lines[1].update(events=lines[0]["events"])),
        f"clips.jsonl:2: events differ from those of the clip's name {B.id!r}",
    ),
    (
        relisted(lambda lines: lines[1].update(pattern="single-overlap")),
        f"clips.jsonl:2: events differ from those of the clip's name {B.id!r}",
    ),
    (relisted(lambda lines: lines.pop(1)), f"clips.jsonl: clip {B.id!r} is missing (1 such)"),
    (relisted(lambda lines: lines.clear()), f"clips.jsonl: clip {A.id!r} is missing (3 such)"),
    (relisted(lambda lines: lines[0].update(id="00009_seq_a.0-9_b.9-10")), "clips.jsonl:1: clip '00009_seq_a.0-9"),
    (relisted(lambda lines: lines[2].update(sha256="0" * 64)), "expected " + "0" * 64 + " as clips.jsonl states"),
    (
        append("dataset.toml", 'identical_captions = "merge"\n'),
        "identical_captions is for layout 'captions': remove it",
    ),
]


@pytest.mark.parametrize(("change", "expected"), BAD, ids=[f"{n}-{expected}" for n, (_, expected) in enumerate(BAD)])
def test_a_folder_that_contradicts_itself_is_refused_in_one_line(folder: Path, change: Change, expected: str) -> None:
    change(folder)
    with pytest.raises(DataError) as caught:
        load_reasonaudio(folder)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ("id,text\nq1,dog\n", "queries.csv:1: columns missing 'task', expected id, task, text"),
        ("", "queries.csv holds no queries"),
        ("id,task,text\nq1,order,dog, then rain\n", "queries.csv:2: 4 cells, expected 3"),
        ("id,task,text\nq1,other,dog\n", "queries.csv:2: task is 'other'"),
        ("id,task,text\nq1,order,dog\nq1,order,rain\n", "queries.csv:3: id 'q1' stands on line 2"),
        ('id,task,text\nq1,order,"dog', "queries.csv:2: no readable CSV"),
        ("id,task,text\nq1,order,\udcff\n", "queries.csv:2: invalid UTF-8"),
    ],
)
def test_a_bad_table_is_refused_by_line(folder: Path, queries: str, expected: str) -> None:
    bare(folder)
    (folder / "queries.csv").write_bytes(queries.encode(errors="surrogateescape"))
    with pytest.raises(DataError) as caught:
        load_reasonaudio(folder)
    assert expected in str(caught.value)


def test_a_choice_with_constraints_where_the_queries_have_none(folder: Path) -> None:
    choices = (
        (folder / "choices.jsonl").read_text().replace(A.id, "clip 0 (dog_rain)").replace(B.id, "clip 1 (dog_rain)")
    )
    bare(folder)
    (folder / "choices.jsonl").write_text(choices)
    with pytest.raises(DataError, match=r"choices.jsonl:1: the choice has constraints, unlike the queries"):
        load_reasonaudio(folder)
