"""Experiments 1 to 4 of MASB for several models on one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_audioretrieval.benchmarks.masb.analyses.answers import Answers, answer_choices, is_mirror
from pytest_audioretrieval.benchmarks.masb.analyses.chance import Family
from pytest_audioretrieval.benchmarks.masb.analyses.mirrors import mirror_tables
from pytest_audioretrieval.benchmarks.masb.analyses.prior import (
    WithPrior,
    in_experiment_2,
    prior_tables,
    text_only_answers,
)
from pytest_audioretrieval.benchmarks.masb.analyses.swaps import swap_table
from pytest_audioretrieval.benchmarks.masb.analyses.texts import reworded, text_table
from pytest_audioretrieval.embedding.fusion import single
from pytest_audioretrieval.errors import SpecError, refuse_namesakes

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.embedding.single_model import SingleModel
    from pytest_audioretrieval.report.tables.table import Table


def models_to_judge(answerers: Sequence[Answerer]) -> list[SingleModel]:
    """Return the models, each by itself.

    Raises:
        SpecError: two of one name, or a fusion, whose scores hold for whole rankings alone.
    """
    refuse_namesakes("model", [answerer.spec.id for answerer in answerers])
    return [single(answerer) for answerer in answerers]


def prior_model(answerer: Answerer) -> SingleModel:
    """Return the model of ``--prior``, which chooses between texts without their sound.

    Raises:
        SpecError: it is no pair scorer.
    """
    model = single(answerer)
    if not model.scores_pairs:
        raise SpecError(
            f"--prior {model.spec.id} embeds texts",
            expected="a pair scorer, which can choose between texts without audio",
            remedy="name an audio LLM, or leave --prior out",
        )
    return model


def analyse(models: Sequence[SingleModel], dataset: Dataset, prior: SingleModel | None = None) -> list[Table]:
    """Measure all models and tabulate the experiments; a table that does not apply says why.

    Args:
        models: as ``alone`` returns them.
        prior: text prior of all models in Experiment 2; by default each pair scorer, without audio, is its own.

    Raises:
        RetrievalError: a model cannot be measured.
    """
    answers = [answer_choices(model, dataset) for model in models]
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
    kept = np.array([in_experiment_2(choice) for choice in dataset.choices], dtype=np.bool_)
    choices = [choice for choice in dataset.choices if in_experiment_2(choice)]
    if not choices:
        return prior_tables([], notes=["the dataset has no choices between two texts outside of mirror pairs"])
    of = {model.spec.id: prior or model for model in models if prior is not None or model.scores_pairs}
    priors = {one.spec.id: text_only_answers(one, choices) for one in of.values()}
    judged = [WithPrior(one.where(kept), priors[of[one.model].spec.id]) for one in answers if one.model in of]
    without = [model.spec.id for model in models if model.spec.id not in of]
    note = f"no text prior for {', '.join(without)}: pass --prior MODEL, a pair scorer"
    return prior_tables(judged, notes=[note] if without else [])


def _text_table(models: Sequence[SingleModel], dataset: Dataset) -> Table:
    embedding = [model for model in models if not model.scores_pairs]
    scorers = [model.spec.id for model in models if model.scores_pairs]
    vectors = [reworded(model, dataset.rewordings) for model in embedding] if dataset.rewordings else []
    notes = [f"left out, as pair scorers have no text vectors: {', '.join(scorers)}"] if scorers else []
    return text_table(vectors, dataset.rewordings, notes=notes)
