"""One table of all pairs of several models and datasets: who, and CORA's quantities (Sections 3.3 to 3.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.cora.pools import Pool
from pytest_audioretrieval.errors import DataError, SpecError, refuse_namesakes
from pytest_audioretrieval.runs.directions.forms import rank_drops

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.answerer import Answerer

Labels = npt.NDArray[np.str_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """P pairs of a source query and a reformulation of it, under one model each, all columns [P].

    Attributes:
        dataset, model, form: names.
        item: ``dataset::id`` of the source query.
        clip: ``dataset::id`` of the target, which is the cluster: all pairs of a clip are resampled together.
        pool: how many candidates were ranked.
        source_rank and all that follow: as in ``metrics.rank_drop.Reformulation``.
    """

    dataset: Labels
    model: Labels
    form: Labels
    item: Labels
    clip: Labels
    pool: Ints
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

    def __len__(self) -> int:
        return len(self.item)

    def where(self, kept: npt.NDArray[Any]) -> Pairs:
        """The pairs of a mask [P], or of indices."""
        return Pairs(**{column.name: getattr(self, column.name)[kept] for column in fields(self)})

    def levels(self, label: str) -> list[str]:
        """The different names in a column of labels, sorted."""
        return sorted(set(getattr(self, label).tolist()))

    def groups(self, *by: str) -> Iterator[tuple[tuple[str, ...], Pairs]]:
        """The pairs of each combination of labels that occurs, sorted; all of them under ``()`` where none is named."""
        keys = list(zip(*(getattr(self, label).tolist() for label in by), strict=True)) if by else [()] * len(self)
        order = {key: code for code, key in enumerate(sorted(set(keys)))}
        codes = np.array([order[key] for key in keys])
        for key, code in order.items():
            yield key, self.where(codes == code)


def check_varies(pairs: Pairs, *labels: str) -> None:
    """Raises: DataError: all pairs have the same label, so that there is nothing to compare."""
    for label in labels:
        levels = pairs.levels(label)
        if len(levels) == 1:
            raise DataError(f"all pairs are of one {label}, {levels[0]}")


def single(pairs: Pairs, *labels: str) -> str:
    """A note on the effects that these pairs cannot have."""
    fixed = [f"one {label}, {levels[0]}" for label in labels if len(levels := pairs.levels(label)) == 1]
    return f"no effect of: {'; '.join(fixed)}" if fixed else ""


def measure(answerers: Sequence[Answerer], pools: Sequence[Pool]) -> Pairs:
    """Ask every model all queries of every pool; model by model, pool by pool, each in its own order of pairs.

    Raises:
        SpecError: no model, or two of one name. DataError: no pool, or as ``reformulated.rank_drops``.
    """
    names = [answerer.spec.id for answerer in answerers]
    refuse_namesakes("model", names)
    if not names:
        raise SpecError("no model to ask: expected at least one")
    if not pools:
        raise DataError("no dataset to ask about: expected at least one")
    parts = [_measured(answerer, pool) for answerer in answerers for pool in pools]
    return Pairs(**{c.name: np.concatenate([getattr(part, c.name) for part in parts]) for c in fields(Pairs)})


def _measured(answerer: Answerer, pool: Pool) -> Pairs:
    found = rank_drops(answerer, pool.dataset, pool.queries)
    pairs = pool.queries.pairs
    items = [pool.queries.items[pair.item] for pair in pairs]
    who = {
        "dataset": np.array([pool.name_of[item.id] for item in items]),
        "model": np.full(len(pairs), answerer.spec.id),
        "form": np.array([pair.form for pair in pairs]),
        "item": np.array([item.id for item in items]),
        "clip": np.array([pool.cluster_of[item.clip] for item in items]),
        "pool": np.full(len(pairs), len(pool.dataset.clips)),
    }
    return Pairs(**who, **{c.name: getattr(found, c.name) for c in fields(Pairs) if c.name not in who})
