"""Stored runs: written so that a person can review them, read so that nothing wrong passes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import BaselineError
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.runs import baselines, stored
from pytest_audioretrieval.runs.outcomes import Outcomes
from pytest_audioretrieval.runs.run import SCHEMA, DatasetRef, Model, Run


def average_precision(ranks: list[int]) -> float:
    """map@10 of one query from its definition, apart from ``metrics``."""
    found = [(hit, rank) for hit, rank in enumerate(ranks, start=1) if rank <= 10]
    return sum(hit / rank for hit, rank in found) / min(10, len(ranks))


def make_run(ranks: list[list[int]], *, model: str = "m", margin: float = 0.125, **changes: object) -> Run:
    protocol = Protocol()
    outcomes = Outcomes(
        id=[f"q{i}" for i in range(len(ranks))],
        cluster=[f"c{i // 2}" for i in range(len(ranks))],
        first_hit_rank=[row[0] for row in ranks],
        pessimistic_rank=[row[0] for row in ranks],
        tied=[0] * len(ranks),
        ap=[average_precision(row) for row in ranks],
        margin=[margin] * len(ranks),
        relevant_ranks=ranks if any(len(row) > 1 for row in ranks) else None,
    )
    fields: dict[str, object] = {
        "schema": SCHEMA,
        "model": Model(model, None, "0" * 64),
        "dataset": DatasetRef("d", None, "f" * 64, "c" * 64, clips=3, queries=len(ranks)),
        "direction": "t2a",
        "protocol": {"name": protocol.name, **protocol.settings(), "fingerprint": protocol.fingerprint},
        "environment": {"torch": "2.13.0"},
        "metrics": {"R@1": 0.5},
        "queries": outcomes,
    }
    return Run(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.slow
@given(st.lists(st.sets(st.integers(1, 50), min_size=1, max_size=4).map(sorted), min_size=1, max_size=20))
def test_what_is_written_is_read_back(ranks: list[list[int]]) -> None:
    run = make_run(ranks, dataset=DatasetRef("d", None, "f" * 64, "c" * 64, clips=50, queries=len(ranks)))
    text = stored.encode(run)
    assert stored.decode(text.encode(), "x") == run
    assert json.loads(text, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))


def test_one_array_a_line_and_sorted_keys() -> None:
    lines = stored.encode(make_run([[1], [2]])).splitlines()
    assert '    "first_hit_rank": [1, 2],' in lines
    top = [line.split('"')[1] for line in lines if line.startswith('  "')]
    assert top == sorted(top)


def broken(change: str) -> bytes:  # noqa: C901  (a table of faults)
    value = msgspec.to_builtins(make_run([[1], [2], [3]]))
    queries = value["queries"]
    match change:
        case "no query":
            value["dataset"]["queries"] = 0
            queries.update({name: [] for name, column in queries.items() if isinstance(column, list)})
        case "extra query":
            queries["id"].append("q9")
        case "duplicate id":
            queries["id"][2] = "q0"
        case "nan margin":
            return json.dumps(value | {"queries": {**queries, "margin": [float("nan")] * 3}}).encode()
        case "rank 0":
            queries["first_hit_rank"][0] = 0
        case "rank past the pool":
            queries["first_hit_rank"][2] = queries["pessimistic_rank"][2] = 99
        case "margin past 2":
            queries["margin"][0] = 5000.0
        case "pessimistic above":
            queries["pessimistic_rank"][2] = 1
        case "wrong ap":
            queries["ap"][1] = 0.9
        case "wrong schema":
            value["schema"] = "other/9"
        case "unknown field":
            value["extra"] = 1
        case "tied beyond any pool":
            queries["tied"][0] = 10**30
            value["direction"] = "choice"
            queries.update(first_hit_rank=[1] * 3, pessimistic_rank=[1] * 3, relevant_ranks=None, ap=[1.0] * 3)
        case "brackets without end":
            value["protocol"] = {"deep": "here"}
            return json.dumps(value).replace('"here"', "[" * 100_000 + "]" * 100_000).encode()
        case "text for a rank":
            queries["first_hit_rank"][0] = "1"
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("no query", "dataset.queries is 0, expected at least 1"),
        ("extra query", "queries.id has 4 entries, expected dataset.queries = 3"),
        ("duplicate id", "query id 'q0' stands twice"),
        ("nan margin", "no readable run"),
        ("rank 0", "query 'q0': ranks [0]"),
        ("rank past the pool", "query 'q2': ranks [99]"),
        ("margin past 2", "query 'q0': margin is 5000.0, expected -2 to 2"),
        ("pessimistic above", "query 'q2': pessimistic_rank 1 with rank 3 cannot be"),
        ("wrong ap", "query 'q1': ap 0.9 does not follow"),
        ("wrong schema", "schema is 'other/9', expected 'pytest-audioretrieval/run/1'"),
        ("unknown field", "unknown field `extra`"),
        ("tied beyond any pool", "query 'q0': rank 1 (pessimistic 1), tied 1000000000000000000000000000000 and"),
        ("brackets without end", "no readable run: maximum recursion depth exceeded"),
        ("text for a rank", "$.queries.first_hit_rank"),
    ],
)
def test_a_damaged_baseline_is_refused(change: str, expected: str) -> None:
    with pytest.raises(BaselineError) as caught:
        stored.decode(broken(change), "stored.json")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("stored.json: ")
    assert "--retrieval-record all" in str(caught.value)


def test_a_baseline_cut_in_half_is_refused() -> None:
    content = stored.encode(make_run([[1], [2]])).encode()
    with pytest.raises(BaselineError, match=r"stored.json: no readable run"):
        stored.decode(content[: len(content) // 2], "stored.json")


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"direction": "a2t"}, "direction is a2t, this run's is t2a"),
        ({"dataset": DatasetRef("d", None, "e" * 64, "c" * 64, 3, 2)}, "dataset.fingerprint"),
        ({"dataset": DatasetRef("d", None, "f" * 64, "b" * 64, 3, 2)}, "candidate pool"),
        ({"dataset": DatasetRef("d", None, "f" * 64, "c" * 64, 4, 2)}, "number of clips is 4, this run's is 3"),
        ({"protocol": {**make_run([[1]]).protocol, "seconds": 7.0}}, "protocol.seconds is 7.0, this run's is 10.0"),
    ],
)
def test_incomparable_runs_are_refused_by_field(other: dict[str, object], field: str) -> None:
    with pytest.raises(BaselineError) as caught:
        baselines.refuse_incomparable(make_run([[1], [2]]), make_run([[1], [2]], **other), "stored.json")
    assert field in str(caught.value)


def test_another_query_set_is_refused() -> None:
    other = make_run([[1], [2]])
    other = msgspec.structs.replace(other, queries=msgspec.structs.replace(other.queries, id=["q0", "q7"]))
    with pytest.raises(BaselineError, match="query set is 'q7', this run's is 'q1'"):
        baselines.refuse_incomparable(make_run([[1], [2]]), other, "stored.json")


def test_another_library_is_compared_and_said() -> None:
    new, old = make_run([[1]], environment={"torch": "2.14"}), make_run([[1]], environment={"torch": "2.13"})
    baselines.refuse_incomparable(new, old, "x")
    assert baselines.environment_differences(new, old) == ["torch 2.13 -> 2.14"]


def in_dtype(dtype: str, tied: list[int], **changes: object) -> Run:
    protocol = Protocol(dtype=dtype)  # type: ignore[arg-type]
    settings = {"name": "x", **protocol.settings(), "fingerprint": protocol.fingerprint}
    run = make_run([[1]] * len(tied), protocol=settings, **changes)
    return msgspec.structs.replace(run, queries=msgspec.structs.replace(run.queries, tied=tied))


def test_another_dtype_is_compared_and_said() -> None:
    """Fault 67: ties in low precision are said where they grow, and only where the dtype is another."""
    exact, half, none = in_dtype("float32", [0, 0, 3]), in_dtype("bfloat16", [1, 0, 2]), in_dtype("float16", [0, 0, 0])
    for new, old in ((half, exact), (exact, half), (none, exact)):
        baselines.refuse_incomparable(new, old, "x")
    line = "dtype float32 -> bfloat16"
    assert baselines.environment_differences(half, exact) == [line]
    ties = "tied queries 1 -> 2: low precision makes ties, which document order breaks"
    assert baselines.precision_notes(half, exact) == [line, ties]
    assert baselines.precision_notes(exact, half) == ["dtype bfloat16 -> float32"]
    assert baselines.precision_notes(none, exact) == ["dtype float32 -> float16"]
    assert baselines.precision_notes(in_dtype("float32", [5, 5, 5]), exact) == []


def test_what_else_differs_in_another_dtype_is_refused() -> None:
    half = in_dtype("bfloat16", [0])
    other = msgspec.structs.replace(half, protocol={**half.protocol, "seconds": 7.0})
    with pytest.raises(BaselineError, match=r"protocol.seconds is 10.0, this run's is 7.0"):
        baselines.refuse_incomparable(other, in_dtype("float32", [0]), "x")


def test_an_edited_fingerprint_is_refused() -> None:
    edited = in_dtype("float32", [0])
    edited = msgspec.structs.replace(edited, protocol={**edited.protocol, "fingerprint": "0" * 64})
    with pytest.raises(BaselineError, match=r"protocol\.fingerprint is 000"):
        baselines.refuse_incomparable(in_dtype("float32", [0]), edited, "x")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d/t2a/m.json"
    baselines.write(path, "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BaselineError, match=r"was not written \(No space left on device\).*intact"):
        baselines.write(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in path.parent.iterdir()] == ["m.json"]
