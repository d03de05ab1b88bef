"""What is asked of an implementation: some of a few functions, on scores and relevance."""

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
    """What ``reformulation`` returns: an array ``[P]`` per measure (CORA, sections 3.3 to 3.5, Appendices F and K)."""

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
    """Any module or object with some of these functions; a property whose functions are missing is skipped.

    ``scores`` are float64 ``[Q, N]``, greater is better; ``relevant`` holds the indices of a query's one or more
    relevant candidates, ``[Q][>= 1]``; ``k`` is at least 1 and may exceed N. Every result is per query, nothing is
    averaged. Equal scores may be ranked by any rule, except that it leaves no rank out and gives none twice.
    """

    def ranks(self, scores: Floats) -> Ints:
        """1-based rank of every candidate, ``[Q, N]``."""

    def first_hit_rank(self, queries: npt.NDArray[Any], candidates: npt.NDArray[Any], relevant: Relevant) -> Ints:
        """1-based rank by cosine of the best relevant candidate, ``[Q]``, from unit float32 ``[Q, D]``, ``[N, D]``."""

    def hit_rate(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """1 where some relevant candidate is among the first k, else 0, ``[Q]``."""

    def recall(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """Share of the relevant candidates among the first k, ``[Q]``."""

    def ndcg(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """Gain ``1 / log2(1 + rank)`` of the relevant among the first k, over that of the best order, ``[Q]``."""

    def average_precision(self, scores: Floats, relevant: Relevant, k: int) -> Floats:
        """Precision at each relevant rank up to k, summed, over ``min(k, relevant)``, ``[Q]``."""

    def mrr(self, scores: Floats, relevant: Relevant) -> Floats:
        """One over the rank of the best relevant candidate, ``[Q]``: the mean is not taken."""

    def margin(self, scores: Floats, relevant: Relevant) -> Floats:
        """Best relevant minus best irrelevant score, ``[Q]``."""

    def reformulation(
        self,
        source: npt.NDArray[Any],
        reformulated: npt.NDArray[Any],
        candidates: npt.NDArray[Any],
        target: Ints,
    ) -> ReformulationLike:
        """Measures of P pairs of queries, unit float32 ``[P, D]``; ``target`` is each pair's candidate, ``[P]``."""


FUNCTIONS = tuple(name for name in vars(Implementation) if not name.startswith("_"))


def offers(implementation: Any, function: str) -> bool:
    """Whether ``implementation`` has this function."""
    return callable(getattr(implementation, function, None))


def load(text: str) -> Any:
    """The implementation that ``module`` or ``module:object`` names.

    Raises:
        SpecError: nothing of that name can be imported, or it has none of the functions.
    """
    try:
        found = imported(text)
    except (ImportError, AttributeError) as error:
        raise SpecError(
            f"implementation {text!r}: {one_line(error)}: expected MODULE or MODULE:OBJECT whose folder is on "
            "python's path: start with 'python -m pytest', or set ini pythonpath"
        ) from None
    if not any(offers(found, name) for name in FUNCTIONS):
        raise SpecError(
            f"implementation {text!r} has no function to check: expected a module or object that holds "
            f"some of {', '.join(FUNCTIONS)}; see pytest_audioretrieval.testing.Implementation"
        )
    return found


def measured(implementation: Any, metric: str) -> Callable[[Floats, Relevant, int], Floats]:
    """A metric as a function of scores, relevance and k, whether it takes a k or not, its shape checked."""
    function = getattr(implementation, metric)

    def measure(scores: Floats, relevant: Relevant, k: int) -> Floats:
        depth = () if metric in ("mrr", "margin") else (k,)
        values = np.asarray(function(scores.copy(), [list(part) for part in relevant], *depth), dtype=np.float64)
        if values.shape != (len(scores),):
            raise AssertionError(f"{metric} has shape {values.shape}, expected one value per query, ({len(scores)},)")
        return values

    return measure
