"""MASB's Experiments 1 to 4 of several models on one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_audioretrieval.benchmarks.masb.analyses.answers import Answers, answered, is_mirror
from pytest_audioretrieval.benchmarks.masb.analyses.chance import Family
from pytest_audioretrieval.benchmarks.masb.analyses.mirrors import mirror_tables
from pytest_audioretrieval.benchmarks.masb.analyses.prior import Judged, has_prior, preferred, prior_tables
from pytest_audioretrieval.benchmarks.masb.analyses.swaps import swap_table
from pytest_audioretrieval.benchmarks.masb.analyses.texts import reworded, text_table
from pytest_audioretrieval.embedding.fusion import single
from pytest_audioretrieval.errors import SpecError, refuse_namesakes

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.embedding.single_model import SingleModel
    from pytest_audioretrieval.report.tables.table import Table


def alone(answerers: Sequence[Answerer]) -> list[SingleModel]:
    """Return the models to judge, each by itself.

    Raises:
        SpecError: two of one name, or a fusion, whose scores hold for whole rankings alone.
    """
    refuse_namesakes("model", [answerer.spec.id for answerer in answerers])
    return [single(answerer) for answerer in answerers]


def unheard(answerer: Answerer) -> SingleModel:
    """Return the model of ``--prior``, which chooses between texts without their sound.

    Raises:
        SpecError: it is no pair scorer.
    """
    model = single(answerer)
    if not model.scores_pairs:
        raise SpecError(
            f"--prior {model.spec.id} embeds texts",
            expected="a pair scorer, which can choose between texts unheard",
            remedy="name an audio LLM, or leave --prior out",
        )
    return model


def analyse(models: Sequence[SingleModel], dataset: Dataset, prior: SingleModel | None = None) -> list[Table]:
    """Measure, then tabulate: those tables that do not apply say why.

    Args:
        models: as ``alone`` returns them.
        prior: what all of them are held against in Experiment 2; by default each pair scorer against itself unheard.

    Raises:
        RetrievalError: what cannot be measured.
    """
    answers = [answered(model, dataset) for model in models]
    family = Family(answers)
    mirrors = [choice for choice in dataset.choices if is_mirror(choice.slice)]
    mirrored = np.array([is_mirror(choice.slice) for choice in dataset.choices], dtype=np.bool_)
    return [
        swap_table([one.where(~mirrored) for one in answers], family),
        *_prior_tables(models, answers, dataset, prior),
        _text_table(models, dataset),
        *mirror_tables([one.where(mirrored) for one in answers], mirrors, family),
    ]


def _prior_tables(
    models: Sequence[SingleModel], answers: Sequence[Answers], dataset: Dataset, prior: SingleModel | None
) -> list[Table]:
    kept = np.array([has_prior(choice) for choice in dataset.choices], dtype=np.bool_)
    choices = [choice for choice in dataset.choices if has_prior(choice)]
    if not choices:
        return prior_tables([], notes=["the dataset has no choices between two texts outside of mirror pairs"])
    of = {model.spec.id: prior or model for model in models if prior is not None or model.scores_pairs}
    priors = {one.spec.id: preferred(one, choices) for one in of.values()}
    judged = [Judged(one.where(kept), priors[of[one.model].spec.id]) for one in answers if one.model in of]
    without = [model.spec.id for model in models if model.spec.id not in of]
    note = f"no text prior to hold {', '.join(without)} against: pass --prior MODEL, a pair scorer"
    return prior_tables(judged, notes=[note] if without else [])


def _text_table(models: Sequence[SingleModel], dataset: Dataset) -> Table:
    embedding = [model for model in models if not model.scores_pairs]
    scorers = [model.spec.id for model in models if model.scores_pairs]
    vectors = [reworded(model, dataset.rewordings) for model in embedding] if dataset.rewordings else []
    notes = [f"left out, as pair scorers have no text vectors: {', '.join(scorers)}"] if scorers else []
    return text_table(vectors, dataset.rewordings, notes=notes)
