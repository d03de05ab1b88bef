"""Scores of queries against candidates: fast for whole blocks, exact for single pairs."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import DataError, SpecError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: float32 or float64.
Products = npt.NDArray[np.floating[Any]]

#: How far a vector's norm may be from 1.
NORM_TOLERANCE = 1e-3
#: Rows times columns of one block: with these the block and its masks stay in a core's cache.
QUERY_BLOCK, CANDIDATE_BLOCK = 256, 1024
#: Rows read at once while vectors are checked.
CHECK_BLOCK = 16_384
#: Products that are held at once while pairs are scored (8 bytes each): few enough for a core's cache.
PAIR_PRODUCTS = 2**16
UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class Block:
    """Scores of some queries against some candidates, each within ``Scores.error`` of the exact score."""

    rows: slice
    columns: slice
    values: Products


class Scores(Protocol):
    """Source of scores that ranks are counted from; only ``pairs`` decides which of two scores is greater.

    Attributes:
        queries, candidates: how many there are.
        error: how far a score of ``block`` may be from the exact one.
    """

    queries: int
    candidates: int
    error: float

    def block(self, rows: slice, columns: slice) -> Products:
        """Return the scores of some queries against some candidates, each within ``error`` of the exact score."""

    def pairs(self, rows: Ints, columns: Ints) -> Floats:
        """Return the exact score of each pair of a query and a candidate, [P]."""

    def release(self) -> None:
        """Give back memory that the scores can be read into again."""


class VectorScores:
    """Cosines of unit vectors, float32 or float64, of shape ``(queries, dims)`` and ``(candidates, dims)``.

    A matrix product may sum in any order, so its results differ between block sizes, libraries and machines.
    ``pairs`` multiplies in float64 (exactly, for float32 vectors) and adds the products in one fixed order, so a pair
    has one score everywhere, and candidates with the same bits always tie. Vectors may lie in a read-only memory map:
    only a few blocks of them are held in memory at once then.
    """

    def __init__(self, queries: npt.NDArray[Any], candidates: npt.NDArray[Any]) -> None:
        self._queries = unit_vectors("queries", queries).view(np.ndarray)
        self._candidates = unit_vectors("candidates", candidates).view(np.ndarray)
        if queries.shape[1] != candidates.shape[1]:
            raise DataError(
                f"queries have {queries.shape[1]} dimensions and candidates {candidates.shape[1]}",
                expected="the same number",
                remedy="embed both with one model",
            )
        self.queries, self.candidates = len(queries), len(candidates)
        # float32 vectors are multiplied in float32 first, which is twice as fast: only scores that are too close to
        # tell apart are computed again.
        self._first = np.result_type(queries, candidates)
        # A sum of n products of two unit vectors lies within n roundings of the true one (Higham, section 3.1).
        self.error = (queries.shape[1] + 64) * (float(np.finfo(self._first).eps) / 2 + UNIT_ROUNDOFF)
        self._duplicate_of = _first_duplicates(self._candidates)

    def block(self, rows: slice, columns: slice) -> Products:
        left, right = (a.astype(self._first, copy=False) for a in (self._queries[rows], self._candidates[columns]))
        product: Products = left @ right.T
        return product

    def pairs(self, rows: Ints, columns: Ints) -> Floats:
        if self._duplicate_of is None:
            return self._dots(rows, columns)
        keys, back = np.unique(rows * self.candidates + self._duplicate_of[columns], return_inverse=True)
        return self._dots(*np.divmod(keys, self.candidates))[back]

    def release(self) -> None:
        _release_pages(self._candidates)

    def _dots(self, rows: Ints, columns: Ints) -> Floats:
        found = np.empty(len(rows))
        step = max(1, PAIR_PRODUCTS // self._queries.shape[1])
        for part in slices(len(rows), step):
            left, right = self._queries[rows[part]], self._candidates[columns[part]]
            found[part] = _sum_rows(np.multiply(left, right, dtype=np.float64))
        return found


class MatrixScores:
    """Scores that a user computed, of shape ``(queries, candidates)``, float32 or float64."""

    error = 0.0

    def __init__(self, scores: npt.NDArray[Any]) -> None:
        _check_array("scores", scores)
        if not np.isfinite(scores).all():
            row, column = np.argwhere(~np.isfinite(scores))[0]
            raise DataError(
                f"scores[{row}, {column}] is {scores[row, column]}",
                expected="finite scores",
                remedy="score that pair again",
            )
        self._scores = scores
        self.queries, self.candidates = scores.shape

    def block(self, rows: slice, columns: slice) -> Products:
        return self._scores[rows, columns].astype(np.float64)

    def pairs(self, rows: Ints, columns: Ints) -> Floats:
        return self._scores[rows, columns].astype(np.float64)

    def release(self) -> None:
        _release_pages(self._scores)


def blocks(scores: Scores, query_block: int, candidate_block: int) -> Iterator[Block]:
    """Yield all scores in blocks of at most ``query_block * candidate_block``."""
    for size in (query_block, candidate_block):
        if size < 1:
            raise SpecError(
                f"block size is {size}", expected="at least 1", remedy="use the defaults, which fit a core's cache"
            )
    for columns in slices(scores.candidates, candidate_block):
        for rows in slices(scores.queries, query_block):
            yield Block(rows, columns, scores.block(rows, columns))
        scores.release()


def slices(length: int, step: int) -> Iterator[slice]:
    """Return slices of ``step`` that cover ``length``; the last one may be shorter."""
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _sum_rows(products: Floats) -> Floats:
    """Sum each row in place: add its upper half to its lower half until one column is left."""
    width = products.shape[1]
    while width > 1:
        half = (width + 1) // 2
        products[:, : width - half] += products[:, half:width]
        width = half
    return products[:, 0]


def _first_duplicates(vectors: npt.NDArray[Any]) -> Ints | None:
    """Return for every row the index of the first row with the same bits; None where no two rows are the same."""
    words = np.dtype(f"u{vectors.dtype.itemsize}")
    sums = np.concatenate([part.view(words).sum(axis=1, dtype=words) for part in _row_blocks(vectors)])
    values, counts = np.unique(sums, return_counts=True)
    # Only rows whose bits have the same sum can be the same. Digests tell those apart, because sorting or keeping the
    # rows themselves takes several times the candidates' memory.
    suspect = np.isin(sums, values[counts > 1])
    seen: dict[bytes, int] = {}
    first = np.arange(len(vectors))
    for start, part in zip(range(0, len(vectors), CHECK_BLOCK), _row_blocks(vectors), strict=True):
        for i in np.flatnonzero(suspect[start : start + CHECK_BLOCK]).tolist():
            digest = blake2b(part[i].tobytes(), digest_size=16).digest()
            first[start + i] = seen.setdefault(digest, start + i)
    return None if len(seen) == suspect.sum() else first


def unit_vectors(name: str, vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``vectors`` unchanged once all rows are known to be finite and of length 1.

    Raises:
        DataError: another type, dtype or shape, or a row that is no unit vector.
    """
    _check_array(name, vectors)
    with np.errstate(all="ignore"):
        squares = [np.einsum("ij,ij->i", part, part, dtype=np.float64) for part in _row_blocks(vectors)]
        norms = np.sqrt(np.concatenate(squares))
    bad = np.flatnonzero(~(np.abs(norms - 1) <= NORM_TOLERANCE))
    if len(bad):
        finite = np.isfinite(vectors[bad[0]]).all()
        found = f"norm {norms[bad[0]]:.6g}" if finite else "a value that is not finite"
        raise DataError(
            f"{name}[{bad[0]}] has {found}", expected="finite unit vectors", remedy="L2-normalise in float32"
        )
    return vectors


def _row_blocks(vectors: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Yield all rows in blocks, as plain arrays, because each slice of an ``np.memmap`` costs far more."""
    plain = vectors.view(np.ndarray)
    for part in slices(len(plain), CHECK_BLOCK):
        yield plain[part]
        _release_pages(plain)


def _release_pages(array: npt.NDArray[Any]) -> None:
    """Give back the pages of a read-only memory map, which count as this process's memory until memory is short.

    Pages of a map that can be written to stay, because they may hold what the file does not.
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") and memoryview(base).readonly:
        base.madvise(mmap.MADV_DONTNEED)


def _check_array(name: str, array: Any) -> None:
    """Refuse anything but a plain, two-dimensional array of float32 or float64."""
    if not isinstance(array, np.ndarray):
        kind = f"{type(array).__module__.partition('.')[0]} {type(array).__name__}"
        raise DataError(f"{name} is a {kind}", expected="a numpy array, float32 or float64", remedy="convert it")
    if isinstance(array, (np.matrix, np.ma.MaskedArray)):
        kind = f"numpy {type(array).__name__}"
        raise DataError(f"{name} is a {kind}", expected="a plain array", remedy="pass np.asarray of it")
    if array.dtype not in (np.float32, np.float64):
        allowed = "float32 or float64, because 16 bits make ties"
        raise DataError(f"{name} is {array.dtype}", expected=allowed, remedy="embed in float32")
    if array.ndim != 2 or 0 in array.shape:
        shape = "2 axes, neither of them empty"
        raise DataError(f"{name} has shape {array.shape}", expected=shape, remedy="pass one row for each query")
