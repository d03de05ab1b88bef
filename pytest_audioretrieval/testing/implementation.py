"""Functions that an implementation of ranks and metrics may offer, and how it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.importing import imported
from pytest_audioretrieval.errors import SpecError, one_line

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Relevant = Sequence[Sequence[int]]


class ReformulationLike(Protocol):
    """Result of ``reformulation``: one array [P] for each measure (CORA, sections 3.3 to 3.5, Appendices F and K)."""

    source_rank: Ints
    rank: Ints
    rank_drop: Ints
    move: Floats
    tal: Floats
    hnp: Floats
    tbmd: Floats
    tbmd_source_hn: Floats
    tbmd_reformulated_hn: Floats
    shift_norm: Floats
    p_audio: Floats
    p_boundary: Floats


class Implementation(Protocol):
    """Any module or object with some of these functions; properties of the missing functions are skipped.

    ``scores`` are float64 [Q, N], and a greater score is better. ``relevant`` holds the indices of each query's
    relevant candidates, [Q][>= 1]. ``k`` is at least 1 and may exceed N. Every function returns one value for each
    query and no mean. Equal scores may be ranked by any rule that gives each of their ranks once.

    Source: CORA, sections 3.3 to 3.5, Appendices F and K; pinned protocol, "Fixtures and protocol" and "Results";
    ReasonAudio, section 4.1. The functions of the same names in ``pytest_audioretrieval.metrics`` name the equations.

    An implementation should raise an error of any kind for scores and vectors that are not finite.

    >>> from pytest_audioretrieval.testing.properties import CATALOGUE
    >>> class Mine:
    ...     @staticmethod
    ...     def mrr(scores, relevant):  # wrong: the best relevant candidate is not always first
    ...         return [1.0] * len(scores)
    >>> stated = {stated.name: stated for stated in CATALOGUE}["mrr-follows-its-definition"]
    >>> stated.counterexample(Mine).reason
    'mrr[0] is 1, expected 0.5'
    """

    def ranks(self, scores: Floats) -> Ints:
        """Return the 1-based rank of every candidate, [Q, N]."""

    def first_hit_rank(self, queries: npt.NDArray[Any], candidates: npt.NDArray[Any], relevant: Relevant) -> Ints:
        """Return the 1-based rank by cosine of the best relevant candidate, [Q].

        ``queries`` [Q, D] and ``candidates`` [N, D] are unit vectors in float32.
        """

    def hit_rate(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """Return 1 where some relevant candidate is among the first k, else 0, [Q]."""

    def recall(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """Return the share of the relevant candidates that are among the first k, [Q]."""

    def ndcg(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """Return the gain ``1 / log2(1 + rank)`` of the relevant among the first k over that of the best order, [Q]."""

    def average_precision(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """Return the sum of the precisions at relevant ranks up to k, divided by ``min(k, relevant)``, [Q]."""

    def mrr(self, scores: Floats, relevant: Relevant) -> Floats:
        """Return one over the rank of the best relevant candidate, [Q], without taking the mean."""

    def margin(self, scores: Floats, relevant: Relevant) -> Floats:
        """Return the best relevant minus the best irrelevant score, [Q]."""

    def reformulation(
        self,
        source: npt.NDArray[Any],
        reformulated: npt.NDArray[Any],
        candidates: npt.NDArray[Any],
        target: Ints,
    ) -> ReformulationLike:
        """Return the measures of P pairs of queries, unit vectors in float32 [P, D].

        ``candidates`` are unit vectors [N, D], and ``target`` [P] is the index of each pair's candidate.
        """


FUNCTIONS = tuple(name for name in vars(Implementation) if not name.startswith("_"))


def has_function(implementation: Any, function: str) -> bool:
    """Return whether ``implementation`` has this function."""
    return callable(getattr(implementation, function, None))


def load(text: str) -> Any:
    """Import the implementation that ``module`` or ``module:object`` names.

    Raises:
        SpecError: nothing of that name can be imported, or it has none of the functions.
    """
    try:
        found = imported(text)
    except (ImportError, AttributeError) as error:
        raise SpecError(
            f"implementation {text!r}: {one_line(error)}",
            expected="MODULE or MODULE:OBJECT whose folder is on python's path",
            remedy="start with 'python -m pytest', or set ini pythonpath",
        ) from None
    if not any(has_function(found, name) for name in FUNCTIONS):
        raise SpecError(
            f"implementation {text!r} has no function to check",
            expected=f"a module or object that has some of {', '.join(FUNCTIONS)}",
            remedy="see pytest_audioretrieval.testing.Implementation",
        )
    return found


def checked_metric(implementation: Any, metric: str) -> Callable[[Floats, Relevant, int], Floats]:
    """Return a metric as a function of scores, relevance and k, even if it takes no k, with its shape checked."""
    function = getattr(implementation, metric)

    def measure(scores: Floats, relevant: Relevant, k: int) -> Floats:
        depth = () if metric in ("mrr", "margin") else (k,)
        values = np.asarray(function(scores.copy(), [list(part) for part in relevant], *depth), dtype=np.float64)
        if values.shape != (len(scores),):
            raise AssertionError(f"{metric} has shape {values.shape}, expected one value per query, ({len(scores)},)")
        return values

    return measure
