"""Properties of every metric that is computed from scores."""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import numpy as np
from hypothesis import strategies as st

from pytest_audioretrieval.testing.catalogue import (
    TOLERANCE,
    Catalogue,
    expect_between,
    expect_close,
    expect_refusal,
    extended,
)
from pytest_audioretrieval.testing.definitions import DEFINITIONS, values
from pytest_audioretrieval.testing.implementation import Floats
from pytest_audioretrieval.testing.properties.ranks import ORDER, squeezed, stretched, with_worse
from pytest_audioretrieval.testing.strategies import ranking_tasks, spoiled_scores

PROPERTIES = Catalogue()
Measure = Callable[[Floats, list[list[int]], int], Floats]
METRICS = tuple(DEFINITIONS)

tasks, untied = ranking_tasks(), ranking_tasks(untied=True)


@PROPERTIES.state_each("definition, see Implementation", METRICS, cases=untied)
def follows_its_definition(measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int) -> None:
    expect_close(metric, measure(scores, relevant, k), values(metric, scores, relevant, k, relevant_first=True))


@PROPERTIES.state_each("equal scores may be in any order", METRICS, cases=tasks)
def of_equal_scores_is_that_of_some_order(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    worst, best = (values(metric, scores, relevant, k, relevant_first=first) for first in (False, True))
    expect_between(metric, measure(scores, relevant, k), worst - TOLERANCE, best + TOLERANCE)


@PROPERTIES.state_each("0 is the worst, 1 the best", METRICS, cases=tasks)
def is_from_0_to_1(measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int) -> None:
    expect_between(metric, measure(scores, relevant, k), 0, 1 + TOLERANCE)


@PROPERTIES.state_each(ORDER, METRICS, cases=tasks)
def survives_a_monotone_transform(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    expect_close(metric, measure(stretched(scores), relevant, k), measure(scores, relevant, k))


@PROPERTIES.state_each(ORDER, METRICS, cases=extended(tasks, at=st.integers(0, 6)))
def survives_a_worse_candidate(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int, at: int
) -> None:
    place = min(at, scores.shape[1])
    moved = [[candidate + (candidate >= place) for candidate in part] for part in relevant]
    expect_close(metric, measure(with_worse(scores, at), moved, k), measure(scores, relevant, k))


@PROPERTIES.state_each(
    "the order of the candidates does not matter", METRICS, cases=extended(untied, seed=st.integers(0, 5))
)
def survives_another_order_of_candidates(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(scores.shape[1])
    moved = [np.argsort(order)[part].tolist() for part in relevant]
    expect_close(metric, measure(scores[:, order], moved, k), measure(scores, relevant, k))


@PROPERTIES.state_each(
    "scores are compared as float64", METRICS, cases=extended(untied, gap=st.sampled_from([1e-9, 1e-12]))
)
def tells_close_scores_apart(
    measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int, gap: float
) -> None:
    expect_close(metric, measure(squeezed(scores, gap), relevant, k), measure(scores, relevant, k))


@PROPERTIES.state_each(
    "nan is not a score", (*METRICS, "margin"), cases=st.fixed_dictionaries({"scores": spoiled_scores(nan)})
)
def refuses_nan(measure: Measure, metric: str, scores: Floats) -> None:
    expect_refusal(metric, lambda: measure(scores, [[0]] * len(scores), 1))
