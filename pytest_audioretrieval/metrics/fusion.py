"""Score fusion of several retrievers, as vectors (CORA, Appendix L).

Both rules of the paper scale a retriever's scores per query and average them over retrievers: ``avg-z`` divides by
their standard deviation over the candidates, ``avg-minmax`` by their range. What is subtracted is the same for all
candidates of a query and moves no rank. So the fused score is an inner product of scaled queries, laid side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

#: Queries whose scores are held at a time.
_BLOCK = 1024


def _deviation(scores: Floats) -> Floats:
    return np.asarray(scores.std(axis=1))


def _range(scores: Floats) -> Floats:
    return np.asarray(scores.max(axis=1) - scores.min(axis=1))


RULES: dict[str, Callable[[Floats], Floats]] = {"avg-z": _deviation, "avg-minmax": _range}


def fuse(parts: Sequence[tuple[Vectors, Vectors]], rule: str) -> tuple[Floats, Floats]:
    """Unit vectors whose cosines rank candidates as the averaged, scaled scores of all parts do.

    Args:
        parts: queries [Q, D_i] and candidates [C, D_i] of each retriever, unit vectors, in the same order.
        rule: ``avg-z`` or ``avg-minmax``.

    Returns:
        queries [Q, sum of D_i] and candidates [C, sum of D_i], float64 unit vectors. A cosine is the fused score but
        for a factor and a constant of the query's own, so that margins are in no unit of their own.

    Raises:
        DataError: a retriever that scores all candidates of a query alike: its scores have no scale.
    """
    scaled = [queries / _scale(queries, candidates, rule)[:, None] for queries, candidates in parts]
    asked = np.concatenate(scaled, axis=1)
    pool = np.concatenate([candidates for _, candidates in parts], axis=1).astype(np.float64)
    return asked / np.linalg.norm(asked, axis=1, keepdims=True), pool / np.linalg.norm(pool, axis=1, keepdims=True)


def _scale(queries: Vectors, candidates: Vectors, rule: str) -> Floats:
    pool = candidates.astype(np.float64)
    scale = np.empty(len(queries))
    for start in range(0, len(queries), _BLOCK):
        scores = queries[start : start + _BLOCK] @ pool.T
        scale[start : start + _BLOCK] = RULES[rule](scores)
        flat = np.flatnonzero(_range(scores) == 0)
        if len(flat):
            raise DataError(
                f"query {start + flat[0]} scores all {len(pool)} candidates alike, so {rule} cannot scale it: expected "
                "scores that differ; leave that retriever out of the fusion"
            )
    return scale
