"""Score fusion of several retrievers, written as vectors (CORA, Appendix L).

Both rules of the paper scale the scores of each retriever for each query and average them over retrievers: ``avg-z``
divides by their standard deviation over the candidates, ``avg-minmax`` by their range. Both also subtract a number that
is the same for all candidates of a query, which changes no rank. So the fused score is the inner product of the
concatenated candidate vectors with the concatenated, scaled query vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

#: Number of queries whose scores are held at once.
_BLOCK = 1024


def _deviation(scores: Floats) -> Floats:
    """Return the standard deviation of each query's scores, [Q]."""
    return np.asarray(scores.std(axis=1))


def _range(scores: Floats) -> Floats:
    """Return the range of each query's scores, [Q]."""
    return np.asarray(scores.max(axis=1) - scores.min(axis=1))


RULES: dict[str, Callable[[Floats], Floats]] = {"avg-z": _deviation, "avg-minmax": _range}


def fuse(parts: Sequence[tuple[Vectors, Vectors]], rule: str) -> tuple[Floats, Floats]:
    """Return unit vectors whose cosines rank candidates as the averaged, scaled scores of all retrievers do.

    Source: CORA, Appendix L.

    Args:
        parts: queries [Q, D_i] and candidates [C, D_i] of each retriever, unit vectors, in the same order.
        rule: ``avg-z`` or ``avg-minmax``.

    Returns:
        Queries [Q, sum of D_i] and candidates [C, sum of D_i], float64 unit vectors. A cosine equals the fused score up
        to a factor and a constant of each query, so margins have no unit that queries share.

    Raises:
        DataError: a retriever that scores all candidates of a query alike, because its scores have no scale.
    """
    scaled = [queries / _scale(queries, candidates, rule)[:, None] for queries, candidates in parts]
    asked = np.concatenate(scaled, axis=1)
    pool = np.concatenate([candidates for _, candidates in parts], axis=1).astype(np.float64)
    return asked / np.linalg.norm(asked, axis=1, keepdims=True), pool / np.linalg.norm(pool, axis=1, keepdims=True)


def _scale(queries: Vectors, candidates: Vectors, rule: str) -> Floats:
    """Return the scale of one retriever's scores for each query, [Q], in blocks of queries."""
    pool = candidates.astype(np.float64)
    scale = np.empty(len(queries))
    for start in range(0, len(queries), _BLOCK):
        scores = queries[start : start + _BLOCK] @ pool.T
        scale[start : start + _BLOCK] = RULES[rule](scores)
        flat = np.flatnonzero(_range(scores) == 0)
        if len(flat):
            raise DataError(
                f"query {start + flat[0]} scores all {len(pool)} candidates alike, so {rule} cannot scale it",
                expected="scores that differ",
                remedy="leave that retriever out of the fusion",
            )
    return scale
