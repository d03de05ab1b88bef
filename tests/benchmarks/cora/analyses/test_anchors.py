from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.anchors import (
    SOURCE,
    anchor_table,
    content_fixed,
    controls,
    statement_anchor,
)
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import measure
from pytest_audioretrieval.benchmarks.cora.analyses.pools import Pool, pools
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics import reformulation
from tests.benchmarks.cora.analyses.planted import VectorModel, ask, cells, hashed, unit

CAPTIONS = {f"r{i}": [f"rain {i}"] for i in range(8)} | {"twin": ["rain 0"]}
(POOL,) = pools([ask("rain", CAPTIONS)])
MODEL = VectorModel("m")


def changed(pool: Pool, **forms: str | None) -> Pool:
    """Return the pool with some forms of the first item replaced or removed."""
    first, *rest = pool.queries.items
    kept = {form: text for form, text in {**first.forms, **forms}.items() if text is not None}
    return replace(pool, queries=replace(pool.queries, items=(replace(first, forms=kept), *rest)))


def test_the_statement_takes_the_place_of_the_source() -> None:
    queries = statement_anchor(POOL).queries
    assert queries.forms == ("command", "question", "indirect", "key_phrase")
    assert queries.items[0].source == "rain 0, statement"
    assert dict(queries.items[0].forms) == {form: f"rain 0, {form}" for form in queries.forms}
    assert queries.items[0].also_relevant == ("rain::twin",)
    assert len(queries.pairs) == 4 * 9


def test_items_without_a_statement_or_anything_else_are_left_out() -> None:
    assert len(statement_anchor(changed(POOL, statement=None)).queries.items) == 8
    alone = changed(POOL, command=None, question=None, indirect=None, key_phrase=None)
    assert len(statement_anchor(alone).queries.items) == 8


def test_the_wrapper_keeps_the_caption_letter_for_letter() -> None:
    queries = content_fixed(POOL).queries
    assert len(queries.forms) == 5
    for item in queries.items:
        assert item.source in {text for texts in CAPTIONS.values() for text in texts}
        assert all(item.source in text for text in item.forms.values())
    assert queries.items[1].forms["question"] == "Is there a recording described as: rain 1?"


def test_table_20_from_vectors() -> None:
    asked, reasons = controls([POOL])
    assert reasons == []
    sets = {SOURCE: measure([MODEL], [POOL]), **{name: measure([MODEL], given) for name, given in asked.items()}}
    rows = cells(anchor_table(sets))
    assert [row["N"] for row in rows.values()] == [45, 36, 45]
    items = [(i, f"rain {i}") for i in range(8)] + [(8, "rain 0")]
    candidates = unit([hashed(f"sound of rain {clip}") for clip in CAPTIONS])
    relevant = {"rain 0": (0, 8)}
    wording = {
        SOURCE: ("{0}", ["{0}, command", "{0}, question", "{0}, indirect", "{0}, key_phrase", "{0}, statement"]),
        "statement to the other forms": (
            "{0}, statement",
            ["{0}, command", "{0}, question", "{0}, indirect", "{0}, key_phrase"],
        ),
        "source query to its content-fixed wrappers": (
            "{0}",
            [
                "Find the recording described as: {0}.",
                "Is there a recording described as: {0}?",
                "I'm hoping you could help me find the recording described as: {0}.",
                "recording: {0}",
                "This is a recording described as: {0}.",
            ],
        ),
    }
    for name, (source, forms) in wording.items():
        asked_as = [(target, text, form) for target, text in items for form in forms]
        found = reformulation(
            unit([hashed(source.format(text)) for _, text, _ in asked_as]),
            unit([hashed(form.format(text)) for _, text, form in asked_as]),
            candidates,
            np.array([target for target, _, _ in asked_as]),
            relevant=[relevant.get(text, ()) for _, text, _ in asked_as],
        )
        assert rows[name]["r(TAL,RD)"] == pytest.approx(np.corrcoef(found.tal, found.rank_drop)[0, 1], abs=1e-6)
        assert rows[name]["r(TBMD,RD)"] == pytest.approx(np.corrcoef(found.tbmd, found.rank_drop)[0, 1], abs=1e-6)


def test_a_control_that_cannot_be_asked_is_told_and_the_other_is_asked() -> None:
    items = tuple(
        replace(i, forms={f: text for f, text in i.forms.items() if f != "statement"}) for i in POOL.queries.items
    )
    without = replace(POOL, queries=replace(POOL.queries, items=items))
    with pytest.raises(DataError, match="rain: no item has a statement and another form"):
        statement_anchor(without)
    asked, reasons = controls([without])
    assert list(asked) == ["source query to its content-fixed wrappers"]
    table = anchor_table({SOURCE: measure([MODEL], [without])}, reasons)
    assert table.note.startswith("no statement to the other forms: rain: no item has a statement")
    assert len(table.rows) == 1
