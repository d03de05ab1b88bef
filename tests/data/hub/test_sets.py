"""The named sets, from the command line to a verdict, and columns that a user states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_audioretrieval.api import load_dataset
from pytest_audioretrieval.data.hub.sets import SETS, Expected, HubSet, MtebLayout
from pytest_audioretrieval.data.queries import clip_queries, text_queries
from pytest_audioretrieval.data.registry import known_datasets, source
from pytest_audioretrieval.errors import DataError, PinError, RetrievalError, SpecError
from pytest_audioretrieval.pinning.pins import Pin, load_pins
from tests.data.hub.conftest import COMMIT
from tests.data.hub.made import cell, pairs, parquet, sound
from tests.data.hub.test_rows import files
from tests.models.hub.stub import HubStub, point_client
from tests.plugin import toys

MACS = "mteb/MACS_t2a"
PAGE = (Path(__file__).parents[3] / "docs/how-to/hub-datasets.md").read_text(encoding="utf-8")


def error(name: str, kind: type[RetrievalError], **loading: bool) -> str:
    with pytest.raises(kind) as caught:
        load_dataset(name, **loading)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def macs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStub]:
    """A hub with as many clips as the real set, at its pinned commit."""
    commit = load_pins().datasets[MACS].revision
    assert commit is not None
    with HubStub(MACS, commit, pairs(393), kind="datasets").running() as running:
        point_client(running, tmp_path / "hub", monkeypatch)
        yield running


def test_every_set_has_a_name_and_a_row_on_its_page() -> None:
    known = load_pins().datasets
    for name, one in SETS.items():
        assert known_datasets()[name].name == one.slug
        assert (one.layout is None) == (one.unknown is not None)
        commit = known[one.hub].revision if one.hub in known else None
        assert (commit is not None) == (name not in ("audiocaps", "clotho"))
        counts = "/".join(
            "?" if n is None else f"{n:,}" for n in (one.expected.clips, one.expected.texts, one.expected.captions)
        )
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        for stated in (one.hub or "unknown", commit[:12] if commit else "no", counts, one.licence):
            assert f"| {stated} |" in row


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("audiocaps", "the columns of its rows that hold the captions and the clip's identity are not known here"),
        ("clotho", "the columns of its rows that hold the captions and the clip's identity are not known here"),
        ("mteb/Clotho", "it joins the captions of a clip into one text"),
    ],
)
def test_what_is_not_known_is_said(name: str, expected: str, hub: HubStub) -> None:
    assert error(name, DataError).startswith(f"dataset {name!r} cannot be read: {expected}")
    assert hub.asked == []


def test_commits_on_the_command_line() -> None:
    assert source(f"{MACS}@{COMMIT}", Path()).commit == COMMIT
    for wrong in ("main", "", COMMIT[:12], COMMIT.upper()):
        with pytest.raises(SpecError, match="expected 40 hex digits, no branch or tag"):
            source(f"{MACS}@{wrong}", Path())
    with pytest.raises(SpecError, match="did you mean 'mteb/MACS_t2a'"):
        source("mteb/MACS_t2", Path())
    assert "--retrieval-allow-unpinned" in error(f"{MACS}@{COMMIT}", PinError)


def test_a_named_set_asks_in_both_directions(macs: HubStub) -> None:
    dataset = load_dataset(MACS)
    assert (dataset.name, len(dataset.clips), len(dataset.captions)) == ("mteb--MACS_t2a", 393, 393)
    assert [(c.id, c.text, c.clip) for c in dataset.captions[:2]] == [
        ("t1-0", "tone 1, wording 0", "a1"),
        ("t2-0", "tone 2, wording 0", "a2"),
    ]
    assert text_queries(dataset).relevant == clip_queries(dataset).relevant == tuple((n,) for n in range(393))
    assert not dataset.notes


def test_a_named_set_with_other_counts_is_refused(macs: HubStub) -> None:
    macs.files = pairs(6)
    assert f"{MACS}@{macs.commit} holds 6 clips, expected the 393 of the set known as '{MACS}'" in error(
        MACS, DataError
    )


def test_clips_as_queries(hub: HubStub, pins: dict[str, Pin], monkeypatch: pytest.MonkeyPatch) -> None:
    """mteb's a2t sets hold the same pairs the other way round, with older names of subset and key."""
    content = pairs(4, audio="queries", per_clip=2)
    content["query/test-00000-of-00001.parquet"] = content.pop("queries/test-00000-of-00001.parquet")
    content["data/test-00000-of-00001.parquet"] = content.pop("qrels/test-00000-of-00001.parquet")
    hub.files = content
    monkeypatch.setitem(SETS, "mteb/MACS_a2t", small("queries"))
    dataset = load_dataset("mteb/MACS_a2t")
    assert [clip.id for clip in dataset.clips] == ["a1", "a2", "a3", "a4"]
    assert clip_queries(dataset).relevant == ((0, 1), (2, 3), (4, 5), (6, 7))


def test_a_corpus_that_has_no_split_test_but_one_of_its_own(macs: HubStub) -> None:
    """The README of mteb/MACS_t2a says so; mteb takes the only split there is."""
    macs.files["corpus/corpus-00000-of-00001.parquet"] = macs.files.pop("corpus/test-00000-of-00001.parquet")
    assert len(load_dataset(MACS).clips) == 393


def small(audio: Any) -> HubSet:
    """Return a set of pairs in the hub, without expected counts."""
    return HubSet("mteb/MACS_a2t", "owner/rows", MtebLayout(audio), "CC0-1.0", Expected())


@pytest.mark.parametrize(
    ("subset", "columns", "expected"),
    [
        ("corpus", {"id": ["a1", "a1"], "audio": [cell(sound(1))] * 2}, "row 1: id 'a1' occurs twice"),
        ("queries", {"id": ["t1-0", "t1-0"], "text": ["x", "y"]}, "row 1: text id is 't1-0', expected printable"),
        ("queries", {"id": ["t1-0"]}, "columns are id, expected 'text'"),
        (
            "qrels",
            {"query-id": ["t1-0"], "corpus-id": ["a9"], "score": [1]},
            "row 0: clip 'a9' is not there, expected the id of one of 2 clips",
        ),
        (
            "qrels",
            {"query-id": ["t1-0", "t1-0"], "corpus-id": ["a1", "a2"], "score": [1, 1]},
            "row 1: text 't1-0' has the relevant clips 'a1' and 'a2'",
        ),
        ("qrels", {"query-id": ["t1-0"], "corpus-id": ["a1"], "score": [0]}, "no clip with a caption"),
        (
            "qrels",
            {"query-id": ["t1-0"], "corpus-id": ["a1"], "score": [None]},
            "row 0: score is None, expected a number",
        ),
        (
            "qrels",
            {"query-id": ["t1-0"], "corpus-id": ["a1"], "score": ["1"]},
            "row 0: score is '1', expected a number",
        ),
    ],
)
def test_pairs_that_do_not_fit(
    subset: str, columns: dict[str, Any], expected: str, hub: HubStub, pins: dict[str, Pin], monkeypatch: Any
) -> None:
    hub.files = pairs(2) | {f"{subset}/test-00000-of-00001.parquet": parquet(columns)}
    monkeypatch.setitem(SETS, "mteb/MACS_a2t", small("corpus"))
    assert expected in error("mteb/MACS_a2t", DataError)


def test_texts_and_clips_that_no_judgement_names_are_left_out_and_counted(
    hub: HubStub, pins: dict[str, Pin], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = {"query-id": ["t1-0", "t3-0"], "corpus-id": ["a1", "a3"], "score": [1, 1]}
    hub.files = pairs(3) | {"qrels/test-00000-of-00001.parquet": parquet(judged)}
    monkeypatch.setitem(SETS, "mteb/MACS_a2t", small("corpus"))
    dataset = load_dataset("mteb/MACS_a2t")
    assert [clip.id for clip in dataset.clips] == ["a1", "a3"]
    assert dataset.notes == {"texts without a right clip, left out": 1, "clips without a caption, left out": 1}


def own(folder: Path, **changes: str) -> Path:
    stated = {
        "id": '"owner/rows"',
        "audio": '"audio"',
        "clip": '"file"',
        "captions": '["text", "more"]',
        "clip_count": "6",
        "caption_count": "9",
    } | changes
    folder.mkdir(exist_ok=True)
    table = "".join(f"{key} = {value}\n" for key, value in stated.items() if value)
    (folder / "dataset.toml").write_text(f'name = "mine"\nlicence = "CC0-1.0"\nlayout = "hub"\n\n[hub]\n{table}')
    return folder


def test_a_folder_states_the_columns_of_any_dataset(hub: HubStub, pins: dict[str, Pin], tmp_path: Path) -> None:
    hub.files = files()
    folder = own(tmp_path / "mine")
    dataset = load_dataset(folder)
    assert (dataset.name, dataset.revision, len(dataset.captions)) == ("mine", COMMIT, 9)
    own(folder, caption_count="957")
    assert "9 captions, expected the 957" in error(str(folder), DataError)
    own(folder, revision=f'"{"b" * 40}"')
    assert f"owner/rows@{'b' * 40}: PINS.json pins {COMMIT}" in error(str(folder), PinError)
    own(folder, revision='"main"')
    assert "matching regex" in error(str(folder), DataError)
    (folder / "dataset.toml").write_text('name = "mine"\nlicence = "CC0-1.0"\nlayout = "hub"\n')
    assert 'expected layout = "hub" and a table [hub] together' in error(str(folder), DataError)


@pytest.mark.slow
def test_from_the_command_line_to_a_verdict(
    macs: HubStub, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The real table, pins and client, in another process: record online, judge offline, name missing files."""
    project = toys.Project(pytester, monkeypatch, tmp_path)
    client = {
        "HF_ENDPOINT": macs.url,
        "HF_HUB_CACHE": str(tmp_path / "cache"),
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
    }
    ask = ("test_toys.py", "--model", "toy:Toy", "--retrieval-dataset", MACS)
    cold = project.process(*ask, "--retrieval-offline", **client)
    assert "it is not, or not whole, in the local cache: " in cold.stdout
    assert macs.asked == []
    recorded = project.process(*ask, "--retrieval-record", "new", **client)
    assert toys.counts(recorded) == {"recorded": 3}, recorded.stdout
    assert list(project.stored()) == ["mteb--MACS_t2a/t2a/toy%3AToy.json"]
    macs.asked.clear()
    judged = project.process(*ask, "--retrieval-offline", **client)
    assert toys.counts(judged) == {"passed": 3}, judged.stdout
    assert macs.asked == []
