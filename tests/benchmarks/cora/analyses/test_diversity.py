"""Diversity of a query set, with vectors made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.diversity import diversity
from pytest_audioretrieval.data.query_sets import QueryItem, QuerySet, collect
from pytest_audioretrieval.errors import DataError, SpecError

#: Angle of each query, in degrees.
ANGLES = {"find a": 0, "find b": 60, "is a": 90, "is b": 90, "want a": 180, "want b": 0, "a": 0, "b": 90}


def asked() -> QuerySet:
    forms = ("command", "question", "indirect", "statement")
    texts = {"command": "find", "question": "is", "indirect": "want"}
    items = [
        QueryItem(clip, clip, f"source {clip}", {form: f"{texts.get(form, '')} {clip}".strip() for form in forms})
        for clip in "ab"
    ]
    return collect("toy", items, forms)


def encode(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    angles = np.radians([ANGLES[text] for text in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_diversity_by_hand() -> None:
    """1 - cos 60, 1 - cos 0 and 1 - cos 180 within; overall the mean over all 28 pairs of the eight."""
    found = diversity(asked(), encode)
    assert found.by_type == {
        "command": pytest.approx(0.5),
        "indirect": pytest.approx(2),
        "question": pytest.approx(0, abs=1e-12),
    }
    assert found.within == pytest.approx(2.5 / 3)
    angles = list(ANGLES.values())
    distances = [1 - np.cos(np.radians(a - b)) for i, a in enumerate(angles) for b in angles[:i]]
    assert (found.queries, len(distances)) == (8, 28)
    assert found.overall == pytest.approx(np.mean(distances))


def test_types_are_the_callers() -> None:
    found = diversity(asked(), encode, ("statement", "command"))
    assert found.by_type == {"command": pytest.approx(0.5), "statement": pytest.approx(1)}
    assert found.within == pytest.approx(0.75)


@pytest.mark.parametrize("types", [("imperative",), ()])
def test_a_type_that_is_no_form_is_refused(types: tuple[str, ...]) -> None:
    with pytest.raises(SpecError, match="is no form, expected some of command, question, indirect, statement"):
        diversity(asked(), encode, types)


def test_one_query_of_a_type_is_refused() -> None:
    one = collect(
        "one", [QueryItem("a", "a", "source a", {"command": "find a", "question": "is a"})], ("command", "question")
    )
    with pytest.raises(DataError, match="type 'command' has 1 query"):
        diversity(one, encode, ("command",))
