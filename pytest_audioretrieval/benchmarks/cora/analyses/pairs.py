"""Measures of all pairs of several models and datasets, with their labels (CORA, Sections 3.3 to 3.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.cora.analyses.pools import Pool
from pytest_audioretrieval.errors import DataError, SpecError, refuse_namesakes
from pytest_audioretrieval.metrics.rank_drop import Reformulation
from pytest_audioretrieval.runs.directions.forms import rank_drops

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.answerer import Answerer

Labels = npt.NDArray[np.str_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs(Reformulation):
    """Measures of P pairs of a source query and its reformulation, with their labels; all columns [P].

    Hard negatives are indices into the candidates of the pair's own pool.

    Attributes:
        dataset, model, form: names.
        item: ``dataset::id`` of the source query.
        clip: ``dataset::id`` of the target, which is the cluster: all pairs of a clip are resampled together.
        pool: number of ranked candidates.
    """

    dataset: Labels
    model: Labels
    form: Labels
    item: Labels
    clip: Labels
    pool: Ints

    def __len__(self) -> int:
        return len(self.item)

    def where(self, kept: npt.NDArray[Any]) -> Pairs:
        """Return the pairs of a mask [P], or of indices."""
        return Pairs(**{column.name: getattr(self, column.name)[kept] for column in fields(self)})

    def levels(self, label: str) -> list[str]:
        """Return the different names in a column of labels, sorted."""
        return sorted(set(getattr(self, label).tolist()))

    def groups(self, *by: str) -> Iterator[tuple[tuple[str, ...], Pairs]]:
        """Yield the pairs of each combination of labels that occurs, sorted.

        Without labels, all pairs come under ``()``.
        """
        keys = list(zip(*(getattr(self, label).tolist() for label in by), strict=True)) if by else [()] * len(self)
        order = {key: code for code, key in enumerate(sorted(set(keys)))}
        codes = np.array([order[key] for key in keys])
        for key, code in order.items():
            yield key, self.where(codes == code)


def check_varies(pairs: Pairs, *labels: str) -> None:
    """Refuse pairs that all have the same label.

    Raises:
        DataError: there is nothing to compare.
    """
    for label in labels:
        levels = pairs.levels(label)
        if len(levels) == 1:
            raise DataError(f"all pairs are of one {label}, {levels[0]}", remedy=f"add another {label}")


def effects_note(pairs: Pairs, *labels: str) -> str:
    """Return a note on the effects that these pairs cannot have."""
    fixed = [f"one {label}, {levels[0]}" for label in labels if len(levels := pairs.levels(label)) == 1]
    return f"no effect of: {'; '.join(fixed)}" if fixed else ""


def measure(answerers: Sequence[Answerer], pools: Sequence[Pool]) -> Pairs:
    """Ask every model all queries of every pool; the pairs are ordered by model, then pool, then as in the pool.

    Raises:
        SpecError: there is no model, or two have the same name.
        DataError: there is no pool; or as ``directions.forms.rank_drops``.
    """
    names = [answerer.spec.id for answerer in answerers]
    refuse_namesakes("model", names)
    if not names:
        raise SpecError("there is no model to ask", expected="at least one", remedy="name one")
    if not pools:
        raise DataError("there is no dataset to ask about", expected="at least one", remedy="name one")
    parts = [_measured(answerer, pool) for answerer in answerers for pool in pools]
    return Pairs(
        **{column.name: np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(Pairs)}
    )


def _measured(answerer: Answerer, pool: Pool) -> Pairs:
    found = rank_drops(answerer, pool.dataset, pool.queries)
    pairs = pool.queries.pairs
    items = [pool.queries.items[pair.item] for pair in pairs]
    labels = {
        "dataset": np.array([pool.name_of[item.id] for item in items]),
        "model": np.full(len(pairs), answerer.spec.id),
        "form": np.array([pair.form for pair in pairs]),
        "item": np.array([item.id for item in items]),
        "clip": np.array([pool.cluster_of[item.clip] for item in items]),
        "pool": np.full(len(pairs), len(pool.dataset.clips)),
    }
    return Pairs(**labels, **{column.name: getattr(found, column.name) for column in fields(found)})
