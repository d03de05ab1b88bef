"""Properties of ``hit_rate`` and ``recall``: any, or a share, of the relevant candidates is among the first k."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pytest_audioretrieval.testing.catalogue import TOLERANCE, Catalogue, expect_between, expect_close, extended
from pytest_audioretrieval.testing.implementation import Floats, Implementation, checked_metric
from pytest_audioretrieval.testing.properties.scores import Measure
from pytest_audioretrieval.testing.strategies import ranking_tasks

PROPERTIES = Catalogue()
CUTOFFS = ("hit_rate", "recall")
HITS = "pinned protocol, Results: some relevant result in the first k"

tasks = ranking_tasks()


@PROPERTIES.state_each("the first k are among the first k + 1", CUTOFFS, cases=extended(tasks, more=st.integers(1, 3)))
def grows_with_k(measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int, more: int) -> None:
    least = measure(scores, relevant, k) - TOLERANCE
    expect_between(f"{metric}@{k + more}", measure(scores, relevant, k + more), least, np.inf)


@PROPERTIES.state_each("all candidates are among the first N", CUTOFFS, cases=tasks)
def is_1_at_full_depth(measure: Measure, metric: str, scores: Floats, relevant: list[list[int]], k: int) -> None:
    expect_close(f"{metric}@N", measure(scores, relevant, max(k, scores.shape[1])), np.ones(len(scores)))


@PROPERTIES.state(HITS, "hit_rate", cases=tasks)
def hit_rate_is_0_or_1(implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int) -> None:
    found = checked_metric(implementation, "hit_rate")(scores, relevant, k)
    expect_close("hit_rate", found, np.round(found))


@PROPERTIES.state("a share of the relevant candidates", "recall", cases=tasks)
def recall_counts_whole_candidates(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    found = checked_metric(implementation, "recall")(scores, relevant, k) * [len(part) for part in relevant]
    expect_close("recall times relevant", found, np.round(found))


@PROPERTIES.state(HITS, "hit_rate", "recall", cases=tasks)
def hit_rate_is_1_where_recall_is_above_0(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    some = checked_metric(implementation, "recall")(scores, relevant, k) > TOLERANCE
    expect_close("hit_rate", checked_metric(implementation, "hit_rate")(scores, relevant, k), some.astype(float))


@PROPERTIES.state("with one relevant candidate both are equal", "hit_rate", "recall", cases=tasks)
def hit_rate_is_recall_of_one_relevant(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    one = [part[:1] for part in relevant]
    share = checked_metric(implementation, "recall")(scores, one, k)
    expect_close("hit_rate", checked_metric(implementation, "hit_rate")(scores, one, k), share)


@PROPERTIES.state("both are 1 where the best hit has rank 1", "mrr", "hit_rate", cases=tasks)
def mrr_is_1_where_hit_rate_at_1_is(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    first = checked_metric(implementation, "hit_rate")(scores, relevant, 1)
    reciprocal = checked_metric(implementation, "mrr")(scores, relevant, k)
    expect_close("mrr is 1", np.isclose(reciprocal, 1).astype(float), first)
