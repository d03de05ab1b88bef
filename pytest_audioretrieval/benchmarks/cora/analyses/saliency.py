"""Token saliency audit of a model on a dataset (CORA, Appendix I)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.queries import clusters
from pytest_audioretrieval.data.query_sets import from_dataset, positions
from pytest_audioretrieval.data.reformulate.groups import GROUPS, grouped
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.metrics.saliency import RankGroup, by_rank_group, rank_groups, sample, signed_masses
from pytest_audioretrieval.metrics.scores import Floats, Ints
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.saliency import Saliency, boundary_saliency
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, joined, table
from pytest_audioretrieval.runs.directions.forms import rank_drops, with_forms

if TYPE_CHECKING:
    from pytest_audioretrieval.benchmarks.cora.analyses.pools import QueriedDataset
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.metrics.rank_drop import Reformulation
    from pytest_audioretrieval.stats.features import Features
    from pytest_audioretrieval.stats.regression import Score

#: Key phrases have no words of function or intent to compare.
SENTENCES = tuple(form for form in FORMS if form != "key_phrase")
#: Pairs per dataset, form and rank group.
PER_STRATUM = 10
#: Group of tokens that belong to no word of the query; they have saliency, and so a share of the total.
SPECIAL = "special"
TITLES = (
    "Token saliency of the target's margin (CORA, Table 22)",
    "Predicting RankDrop from token saliency (CORA, Table 23)",
)
BOUNDARY = ("move", "tal", "tbmd", "p_boundary")


@dataclass(frozen=True, eq=False)
class Audit:
    """P audited pairs, with the margins and token saliencies of their reformulated queries.

    Attributes:
        fixed: labels [P] of ``dataset``, ``model`` and ``form``.
        clip: dataset and clip of each pair, [P], which cross-validation keeps together.
        source_rank, rank: of the target, int64 [P].
        margin: of the target under the reformulated query, as computed with the gradients, [P].
        boundary: ``BOUNDARY``, [P] each.
        masses: ``content+`` to ``special-``, [P] each.
        cut: number of queries that exceed the model's text limit.
    """

    fixed: Mapping[str, list[str]]
    clip: list[str]
    source_rank: Ints
    rank: Ints
    margin: Floats
    boundary: Mapping[str, Floats]
    masses: Mapping[str, Floats]
    cut: int

    @property
    def table(self) -> dict[str, RankGroup]:
        """The means by rank group (CORA, Table 22)."""
        return by_rank_group(self.source_rank, self.rank, self.margin, self.masses)


def audit(answerer: Answerer, dataset: Dataset, *, per_stratum: int = PER_STRATUM, seed: int = SEED) -> Audit:
    """Sample pairs of each sentence-like form and rank group, and attribute their margins to their tokens.

    Raises:
        ModelError: the model has no text tower of CLAP.
        DataError: as ``directions.forms.ask_forms``.
    """
    single, model = _clap(answerer)
    given = with_forms(dataset)
    asked = from_dataset(given)
    found = rank_drops(answerer, given, asked)
    chosen = _choose([pair.form for pair in asked.pairs], found, per_stratum, seed)
    pairs, cluster = [asked.pairs[i] for i in chosen], clusters(given)
    queries = [pair.text for pair in pairs]
    target = [right[0] for right in positions(asked, [clip.id for clip in given.clips])]
    protocol = answerer.resources.protocol
    candidates = single.clips(given.clips)
    saliency = boundary_saliency(
        model,
        queries,
        [[(word.start, word.end) for word in grouped(query)] for query in queries],
        candidates[[target[pair.item] for pair in pairs]],
        candidates[found.hard_negative[chosen]],
        protocol,
    )
    return Audit(
        fixed={
            "dataset": [given.name] * len(pairs),
            "model": [answerer.spec.id] * len(pairs),
            "form": [pair.form for pair in pairs],
        },
        clip=[f"{given.name}::{cluster[asked.items[pair.item].clip]}" for pair in pairs],
        source_rank=found.source_rank[chosen],
        rank=found.rank[chosen],
        margin=np.array([one.margin for one in saliency]),
        boundary={name: getattr(found, name)[chosen] for name in BOUNDARY},
        masses=_masses(queries, saliency),
        cut=model.count_cut(queries, protocol),
    )


def predict(audits: Sequence[Audit]) -> dict[str, Score]:
    """Score out-of-fold predictions of RankDrop from each feature set, over all ``audits`` (CORA, Table 23).

    The paper's "only" is taken to mean that all other sets hold the fixed effects too, as in Table 5.
    """
    from pytest_audioretrieval.stats.regression import score_sets

    drop = np.concatenate([a.rank - a.source_rank for a in audits])
    return score_sets(feature_sets(audits), drop, [clip for a in audits for clip in a.clip])


def saliency_tables(answerers: Sequence[Answerer], given: Sequence[QueriedDataset]) -> list[Table]:
    """Tabulate Tables 22 and 23 over all models and datasets; loads every model, as gradients are never stored."""
    audits, refused = [], []
    for answerer in answerers:
        try:
            audits += [audit(answerer, one.dataset) for one in given]
        except ModelError as error:
            refused.append(str(error))
    if not audits:
        return [Table(TITLES[0], (), (), f"does not apply: {'; '.join(refused)}")]
    made = table(TITLES[0], _mass_rows, audits)
    return [replace(made, note=joined(made.note, *refused)), table(TITLES[1], _score_rows, audits)]


def _mass_rows(audits: Sequence[Audit]) -> Body:
    names = ("content+", "content-", "form-", "intent-")
    figures = [Column("N", "d"), Column("MeanRD", "+.3f"), *(Column(name, ".4f") for name in names)]
    columns = [Column("dataset"), Column("model"), Column("target"), *figures, Column("mean margin", "+.4f")]
    rows: list[tuple[Cell, ...]] = []
    for one in audits:
        dataset, model = one.fixed["dataset"][0], one.fixed["model"][0]
        for group, of in one.table.items():
            masses = [of.masses[name] for name in names]
            rows.append((dataset, model, group, of.pairs, of.mean_rd, *masses, of.mean_margin))
    return Body(columns, rows)


def _score_rows(audits: Sequence[Audit]) -> Body:
    scores = predict(audits)
    columns = (Column("features"), Column("Pearson r", "+.3f"), Column("Spearman rho", "+.3f"))
    rows: list[tuple[Cell, ...]] = [(name, score.pearson, score.spearman) for name, score in scores.items()]
    return Body(columns, rows)


def feature_sets(audits: Sequence[Audit]) -> dict[str, Features]:
    """Return the five feature sets of CORA, Table 23: a row a pair, audit after audit."""
    from pytest_audioretrieval.stats.features import rows

    fixed = {name: [label for a in audits for label in a.fixed[name]] for name in audits[0].fixed}
    boundary = {name: np.concatenate([a.boundary[name] for a in audits]) for name in BOUNDARY}
    masses = {name: np.concatenate([a.masses[name] for a in audits]) for name in audits[0].masses}
    return {
        "fixed effects only": rows({**fixed}),
        "query movement": rows({**fixed, "move": boundary["move"]}),
        "token-group saliency": rows({**fixed, **masses}),
        "boundary features": rows({**fixed, **boundary}),
        "boundary + token saliency": rows({**fixed, **boundary, **masses}),
    }


def _clap(answerer: Answerer) -> tuple[SingleModel, Clap]:
    if isinstance(answerer, SingleModel) and isinstance(answerer.retriever, Clap):
        return answerer, answerer.retriever
    raise ModelError(
        f"{answerer.spec.id} is no CLAP of transformers",
        expected="one, because saliency needs its gradients",
        remedy="leave this model out to get these tables",
    )


def _masses(queries: Sequence[str], saliency: Sequence[Saliency]) -> dict[str, Floats]:
    labels = [
        [*(word.group for word in grouped(query)), *[SPECIAL] * len(one.special)]
        for query, one in zip(queries, saliency, strict=True)
    ]
    return signed_masses([np.append(one.words, one.special) for one in saliency], labels, (*GROUPS, SPECIAL))


def _choose(forms: Sequence[str], found: Reformulation, per_stratum: int, seed: int) -> Ints:
    """Sample pairs of sentence-like forms, some of each form and rank group."""
    rows = np.flatnonzero(np.isin(forms, SENTENCES))
    groups = rank_groups(found.source_rank[rows], found.rank[rows])
    strata = [f"{forms[row]}/{group}" for row, group in zip(rows.tolist(), groups, strict=True)]
    return rows[sample(strata, per_stratum, seed)]
