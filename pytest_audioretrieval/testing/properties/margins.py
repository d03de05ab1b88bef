"""Properties of ``margin``, the best relevant minus the best irrelevant score; for one target it is CORA, eq. 5."""

from __future__ import annotations

import numpy as np

from pytest_audioretrieval.testing.catalogue import Catalogue, expect_close
from pytest_audioretrieval.testing.implementation import Floats, Implementation, checked_metric
from pytest_audioretrieval.testing.strategies import ranking_tasks

PROPERTIES = Catalogue()
MARGIN = "CORA, eq. 5, over all relevant candidates"

tasks, untied = ranking_tasks(), ranking_tasks(untied=True)


def _margin(implementation: Implementation, scores: Floats, relevant: list[list[int]]) -> Floats:
    """Return the margins of an implementation, with their shape checked."""
    return checked_metric(implementation, "margin")(scores, relevant, 0)


@PROPERTIES.state(MARGIN, "margin", cases=tasks)
def margin_is_best_relevant_minus_best_irrelevant(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    wanted = [row[part].max() - np.delete(row, part).max() for row, part in zip(scores, relevant, strict=True)]
    expect_close("margin", _margin(implementation, scores, relevant), wanted)


@PROPERTIES.state("CORA, eq. 5: above 0 where the target leads", "margin", "mrr", cases=untied)
def margin_is_positive_where_the_first_hit_has_rank_1(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    first = np.isclose(checked_metric(implementation, "mrr")(scores, relevant, k), 1)
    signs = np.sign(_margin(implementation, scores, relevant))
    expect_close("sign of margin", signs, np.where(first, 1.0, -1.0))


@PROPERTIES.state(MARGIN, "margin", cases=tasks)
def margin_changes_sign_with_the_sides(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    others = [np.delete(np.arange(scores.shape[1]), part).tolist() for part in relevant]
    expect_close("margin", _margin(implementation, scores, others), -_margin(implementation, scores, relevant))


@PROPERTIES.state(MARGIN, "margin", cases=tasks)
def margin_doubles_with_the_scores(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    expect_close("margin", _margin(implementation, 2 * scores, relevant), 2 * _margin(implementation, scores, relevant))


@PROPERTIES.state(MARGIN, "margin", cases=tasks)
def margin_is_at_most_the_spread_of_the_scores(
    implementation: Implementation, scores: Floats, relevant: list[list[int]], k: int
) -> None:
    found = np.abs(_margin(implementation, scores, relevant))
    expect_close("size of margin", np.minimum(found, np.ptp(scores, axis=1)), found)
