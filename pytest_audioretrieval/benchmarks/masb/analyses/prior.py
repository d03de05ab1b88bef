"""The text-only prior, and the gain of a model with audio over it (MASB, Experiment 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_audioretrieval.benchmarks.masb.analyses.answers import (
    Answers,
    Floats,
    Mask,
    is_mirror,
    label_answers,
    slices,
)
from pytest_audioretrieval.benchmarks.masb.analyses.chance import CHANCE, NOTE, Family
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.metrics.binding import by_prior, correct, text_prior
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, bounded, joined, table
from pytest_audioretrieval.stats.agreement import cohen_kappa

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Choice
    from pytest_audioretrieval.embedding.single_model import SingleModel

_AGREEMENT = (
    *(Column(name) for name in ("model", "prior", "slice")),
    Column("n", "d"),
    Column("clusters", "d"),
    *bounded("kappa", "+.3f"),
    Column("accuracy", ".3f"),
    Column("prior right", ".3f"),
    Column("n right", "d"),
    Column("prior wrong", ".3f"),
    Column("n wrong", "d"),
    Column("prior ties", "d"),
    Column("prior-balanced", ".3f"),
)


@dataclass(frozen=True, eq=False)
class Prior:
    """Answers of a pair scorer to the two texts of each choice, without audio.

    Attributes:
        answers: averaged over both orders of the texts.
        right_first, wrong_first: probability of the first text, where the right or the wrong text is first, [N].
    """

    answers: Answers
    right_first: Floats
    wrong_first: Floats


@dataclass(frozen=True, eq=False)
class WithPrior:
    """The answers of a model with audio, and those of the prior to the same choices."""

    answers: Answers
    prior: Prior


def in_experiment_2(choice: Choice) -> bool:
    """Return whether a choice is between two texts and in no mirror pair, whose prior is chance."""
    return not is_mirror(choice.slice) and choice.right.text != choice.wrong.text


def text_only_answers(model: SingleModel, choices: Sequence[Choice]) -> Prior:
    """Ask a pair scorer for both orders of the two texts of each choice, at least one.

    Raises:
        RetrievalError: the model is no pair scorer, or fails.
    """
    first, second = model.text_preference([(choice.right.text, choice.wrong.text) for choice in choices])
    right = text_prior(first, 1 - second).right
    return Prior(label_answers(model.spec.id, choices, correct(right, 1 - right)), first, 1 - second)


def prior_tables(judged: Sequence[WithPrior], *, notes: Sequence[str] = ()) -> list[Table]:
    """Tabulate the priors, and each model beside its prior (Figure 3); ``notes`` say what is left out."""
    return [
        table("Experiment 2: text-only prior (MASB, Experiment 2)", _priors, judged, notes),
        table("Experiment 2: with audio and without (MASB, Experiment 2, Figure 3)", _agreements, judged, notes),
    ]


def _priors(judged: Sequence[WithPrior], notes: Sequence[str]) -> Body:
    _check(judged, notes)
    # The prior of several models is one row.
    priors = list({one.prior.answers.model: one.prior for one in judged}.values())
    biases = [_bias(prior, kept) for prior in priors for _, kept in slices(prior.answers.slice)]
    answers = [prior.answers for prior in priors]
    rows = Family(answers).rows(answers)
    cells = [(*row, bias) for row, bias in zip(rows, biases, strict=True)]
    columns = (Column("prior"), Column("slice"), *CHANCE, Column("position bias", "+.3f"))
    return Body(columns, cells, joined(NOTE + "this table", *notes))


def _bias(prior: Prior, kept: Mask) -> float:
    return text_prior(prior.right_first[kept], prior.wrong_first[kept]).position_bias


def _agreements(judged: Sequence[WithPrior], notes: Sequence[str]) -> Body:
    _check(judged, notes)
    reasons: list[str] = []
    rows = [_agreement(one, name, kept, reasons) for one in judged for name, kept in slices(one.answers.slice)]
    reason = f"no kappa in {len(reasons)} places, the first is {reasons[0]}" if reasons else ""
    return Body(_AGREEMENT, rows, joined("kappa is over choices, its interval resamples clusters", reason, *notes))


def _agreement(one: WithPrior, name: str, kept: Mask, reasons: list[str]) -> tuple[Cell, ...]:
    audio, text = one.answers.where(kept), one.prior.answers.where(kept)
    split = by_prior(audio.correct, text.correct)
    return (
        audio.model,
        text.model,
        name,
        len(audio),
        len(set(audio.cluster.tolist())),
        *_kappa(audio, text, name, reasons),
        float(audio.correct.mean()),
        split.right_half,
        split.right_count,
        split.wrong_half,
        split.wrong_count,
        split.ties,
        split.balanced,
    )


def _kappa(audio: Answers, text: Answers, name: str, reasons: list[str]) -> tuple[Cell, Cell, Cell]:
    """Return kappa with its interval; where there is none, add the reason to ``reasons``."""
    try:
        found = cohen_kappa(audio.correct, text.correct, audio.cluster)
    except DataError as error:
        reasons.append(f"{audio.model}, {name}: {error}")
        return None, None, None
    if found.kappa is None:
        reasons.append(f"{audio.model}, {name}: both always make the same choice")
    return found.kappa, found.low, found.high


def _check(judged: Sequence[WithPrior], notes: Sequence[str]) -> None:
    if not judged:
        raise DataError(joined(*notes))
