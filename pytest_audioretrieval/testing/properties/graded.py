"""Properties of ``ndcg``, ``average_precision`` and ``mrr``, which grow with better ranks of relevant candidates."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pytest_audioretrieval.testing.catalogue import TOLERANCE, Catalogue, expect_between, expect_close, extended
from pytest_audioretrieval.testing.implementation import Floats
from pytest_audioretrieval.testing.properties.scores import Measure
from pytest_audioretrieval.testing.strategies import ranking_tasks

PROPERTIES = Catalogue()
DEEP = ("ndcg", "average_precision")
GRADED = (*DEEP, "mrr")

untied = ranking_tasks(untied=True)


@PROPERTIES.state_each("the best order is worth 1", GRADED, cases=untied)
def of_the_ideal_order_is_1(measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int) -> None:
    ideal = _raised(scores, relevant)
    expect_close(f"{metric}@{k}", measure(ideal, relevant, k), np.ones(len(scores)))


@PROPERTIES.state_each("no other order of the first min(k, relevant) is worth 1", DEEP, cases=untied)
def of_another_order_is_below_1(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    reach = [part[: min(k, len(part))] for part in relevant]
    ahead = _raised(_raised(scores, relevant), [[_irrelevant(part, scores.shape[1])] for part in relevant])
    assert all(reach)
    expect_between(f"{metric}@{k} behind an irrelevant one", measure(ahead, relevant, k), 0, 1 - 1e-3)


@PROPERTIES.state_each("the denominator is that of min(k, relevant)", DEEP, cases=untied)
def divides_by_what_fits_into_k(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    ideal, most = _raised(scores, relevant), max(map(len, relevant))
    for depth in range(1, min(most, 6) + 1):
        expect_close(f"{metric}@{depth}", measure(ideal, relevant, depth), np.ones(len(scores)))


@PROPERTIES.state_each("without a hit the value is 0", DEEP, cases=untied)
def of_no_hit_is_0(measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int) -> None:
    sunk = -_raised(-scores, relevant)
    depth = scores.shape[1] - max(map(len, relevant))
    expect_close(f"{metric}@{depth}", measure(sunk, relevant, depth), np.zeros(len(scores)))


@PROPERTIES.state_each("a better rank is worth more", GRADED, cases=extended(untied, which=st.integers(0, 5)))
def never_falls_when_a_relevant_one_rises(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int, which: int
) -> None:
    up = _raised(scores, [[part[which % len(part)]] for part in relevant])
    least = measure(scores, relevant, k) - TOLERANCE
    expect_between(metric, measure(up, relevant, k), least, np.inf)


def _raised(scores: Floats, chosen: list[list[int]]) -> Floats:
    """Return the scores with each query's chosen candidates above all others, in the same order otherwise."""
    raised = scores.copy()
    for row, part in zip(raised, chosen, strict=True):
        row[part] += np.ceil(np.ptp(scores)) + 1
    return raised


def _irrelevant(relevant: list[int], candidates: int) -> int:
    """Return the first irrelevant candidate."""
    return next(one for one in range(candidates) if one not in set(relevant))
