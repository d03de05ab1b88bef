"""Mirror pairs: a model that reads the texts alone gets exactly one of each pair right (MASB, Experiment 4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.masb.analyses.answers import Answers, Mask, slices
from pytest_audioretrieval.benchmarks.masb.analyses.chance import CHANCE, NOTE, Family
from pytest_audioretrieval.data.types import Choice
from pytest_audioretrieval.errors import DataError
from pytest_audioretrieval.report.tables.table import Body, Cell, Column, Table, table

_COUNTS = tuple(Column(name, "d") for name in ("pairs", "both right", "one right", "none right", "with a tie"))
_NOTE = "a model that reads the texts alone has one of each pair right; a pair with a tie is in none of the three"


def mirror_tables(answers: Sequence[Answers], choices: Sequence[Choice], family: Family) -> list[Table]:
    """Tabulate Table 1 over the mirror pairs ``choices`` [N], and how many choices of each pair are right."""
    return [
        table("Experiment 4: mirror pairs (MASB, Table 1)", _mirrors, answers, choices, family),
        table("Experiment 4: both comparisons of each mirror pair", _pairs, answers, choices),
    ]


def mirrored(choices: Sequence[Choice]) -> npt.NDArray[np.int64]:
    """Return the positions of the two choices of each mirror pair, int64 [N / 2, 2].

    The two share slice, cluster and both texts, and the right text of one is the wrong text of the other. Where a
    cluster has several pairs of the same texts, the first of either kind belong together, then the second.

    Raises:
        DataError: a choice has no mirror.
    """
    kinds: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for position, choice in enumerate(choices):
        kinds[choice.slice, choice.cluster, choice.right.text, choice.wrong.text].append(position)
    pairs: list[tuple[int, int]] = []
    for (name, cluster, right, wrong), ours in kinds.items():
        theirs = kinds.get((name, cluster, wrong, right), [])
        if right == wrong or len(ours) != len(theirs):
            lone = choices[ours[0]]
            raise DataError(
                f"{len(ours)} choices of cluster {cluster!r} hold {right!r} right and {wrong!r} wrong, "
                f"{len(theirs)} the reverse",
                expected="as many of both",
                remedy=f"look at choice {lone.id!r}",
            )
        pairs += [pair for pair in zip(ours, theirs, strict=True) if pair[0] < pair[1]]
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def _mirrors(answers: Sequence[Answers], choices: Sequence[Choice], family: Family) -> Body:
    _check(choices)
    return Body((Column("model"), Column("slice"), *CHANCE), family.rows(answers), NOTE + "Experiments 1 and 4")


def _pairs(answers: Sequence[Answers], choices: Sequence[Choice]) -> Body:
    _check(choices)
    pairs = mirrored(choices)
    rows = [(one.model, name, *_counts(one, pairs, kept)) for one in answers for name, kept in slices(one.slice)]
    return Body((Column("model"), Column("slice"), *_COUNTS), rows, _NOTE)


def _counts(answers: Answers, pairs: npt.NDArray[np.int64], kept: Mask) -> tuple[Cell, ...]:
    """Return the cells of ``_COUNTS``; a pair lies in one slice, so its first choice tells whether it is kept."""
    correct = answers.correct[pairs[kept[pairs[:, 0]]]]
    tied = (correct == 0.5).any(axis=1)
    right = correct[~tied].sum(axis=1)
    return len(correct), *(int((right == count).sum()) for count in (2, 1, 0)), int(tied.sum())


def _check(choices: Sequence[Choice]) -> None:
    if not choices:
        raise DataError("the dataset has no mirror pairs", remedy="name one that has")
