"""Choices between a text and its attribute swap, the prior that text alone gives them, and how far swaps move a text.

Source: "Don't CLAP: Are Music-Text Models Bag-of-Words?" (MASB), Exp. 1 to 4. A choice is 1 where the right option
scores higher, 0 where the wrong one does, and 0.5 at an exact tie.

Nothing here imports numpy before something is computed, because suites name their metrics at collection.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.retrieval import Metric, RankingLike

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.metrics.retrieval import Floats, Ints


class ChoiceLike(RankingLike, Protocol):
    """What ``accuracy`` reads: the columns of a run of direction ``choice``; ``first_hit_rank`` is 1 or 2."""

    @property
    def tied(self) -> Ints:
        """1 where both options score the same, so that their order in the data decides the rank, else 0, [Q]."""


class TextsLike(RankingLike, Protocol):
    """What ``sensitivity`` reads: the columns of a run of direction ``texts``."""

    @property
    def swap_distance(self) -> Floats:
        """Cosine distance of a text to its attribute swap, [Q]."""

    @property
    def paraphrase_distance(self) -> Floats:
        """Cosine distance of a text to its paraphrase, [Q]."""


@dataclass(frozen=True, eq=False)
class TextDistances:
    """Cosine distances of N texts, [N] each; ``others`` is the median to the texts of all other recordings."""

    swap: Floats
    paraphrase: Floats
    others: Floats


@dataclass(frozen=True, slots=True)
class PriorSplit:
    """Accuracy where the text-only choice is right and where it is wrong; None of a half without pairs.

    Attributes:
        ties: pairs on which the text-only choice ties; they are in neither half.
        balanced: prior-balanced accuracy, the mean of both halves; None where one of them is empty, because then
            nothing separates the prior from the audio.
    """

    right_half: float | None
    wrong_half: float | None
    right_count: int
    wrong_count: int
    ties: int
    balanced: float | None


@dataclass(frozen=True, eq=False)
class TextPrior:
    """What text alone prefers, without the audio.

    Attributes:
        right: float64 [N], probability of the right option, averaged over both orders.
        position_bias: mean probability of the right option when it comes first, less that when it comes second; 0
            where the order does not matter, 1 where the first option is always chosen.
    """

    right: Floats
    position_bias: float


def accuracy() -> Metric:
    """``accuracy``: 1 where the right option scores higher, 0.5 at a tie, else 0; chance is 0.5 (MASB, Exp. 1, 4)."""
    return Metric("accuracy", True, (0.0, 1.0), cast("Callable[[RankingLike], Floats]", _accuracy), chance=0.5)


def sensitivity() -> Metric:
    """``sensitivity``: distance to the swap, over that to the swap and that to the paraphrase (MASB, Exp. 3).

    0.5 says that a text moves as far when its meaning changes as when only its words do; a ratio r of both distances
    is r / (1 + r) here. Where neither moves it, 0.5. A share, not the ratio, because the ratio has no upper bound: one
    paraphrase that hardly moves would decide its mean, and no interval for that is honest.
    """
    return Metric("sensitivity", True, (0.0, 1.0), cast("Callable[[RankingLike], Floats]", _sensitivity))


def correct(right: npt.ArrayLike, wrong: npt.ArrayLike) -> Floats:
    """Choices from the scores [N] of both options: 1, 0, and 0.5 at an exact tie, float64 [N] (MASB, Exp. 1).

    Raises:
        DataError: not finite numbers of one length.
    """
    import numpy as np

    from pytest_audioretrieval.stats.columns import numbers, same_length

    one, other = numbers("right", right, "[N]"), numbers("wrong", wrong, "[N]")
    same_length({"right": one, "wrong": other})
    return np.asarray((1 + np.sign(one - other)) / 2)


def by_prior(correct: npt.ArrayLike, prior_correct: npt.ArrayLike) -> PriorSplit:
    """Split choices [N] by whether the text-only choice [N] on the same pair is right (MASB, Exp. 2).

    Raises:
        DataError: other values than 1, 0 and 0.5, or different lengths.
    """
    from pytest_audioretrieval.stats.columns import choices, same_length

    found, prior = choices("correct", correct), choices("prior_correct", prior_correct)
    same_length({"correct": found, "prior_correct": prior})
    right, wrong = found[prior == 1], found[prior == 0]
    right_half, wrong_half = (float(half.mean()) if len(half) else None for half in (right, wrong))
    balanced = None if right_half is None or wrong_half is None else (right_half + wrong_half) / 2
    ties = len(found) - len(right) - len(wrong)
    return PriorSplit(right_half, wrong_half, len(right), len(wrong), ties, balanced)


def text_prior(right_first: npt.ArrayLike, wrong_first: npt.ArrayLike) -> TextPrior:
    """Average a text-only answer over both orders of the options, which cancels position bias (MASB, Exp. 2).

    Args:
        right_first: [N], probability of the first option when that is the right one.
        wrong_first: [N], probability of the first option when that is the wrong one.

    Raises:
        DataError: no probabilities, or different lengths.
    """
    import numpy as np

    from pytest_audioretrieval.stats.columns import same_length

    first, second = _probabilities("right_first", right_first), 1 - _probabilities("wrong_first", wrong_first)
    same_length({"right_first": first, "wrong_first": second})
    return TextPrior((first + second) / 2, float(np.mean(first - second)))


def text_distances(
    text: npt.NDArray[np.floating[Any]],
    swap: npt.NDArray[np.floating[Any]],
    paraphrase: npt.NDArray[np.floating[Any]],
    recording: Iterable[Hashable],
) -> TextDistances:
    """How far texts move under an attribute swap and under a paraphrase, beside how far apart recordings' texts are.

    Source: MASB, Exp. 3. Memory grows with N, not with its square.

    Args:
        text, swap, paraphrase: unit vectors [N, D], float32 or float64, row by row of the same caption.
        recording: [N] labels, any hashable; the median of ``others`` is over the texts of all other recordings.

    Raises:
        DataError: no unit vectors, shapes or labels that do not fit, or one recording only.
    """
    import numpy as np

    from pytest_audioretrieval.metrics.scores import unit
    from pytest_audioretrieval.stats.clusters import group
    from pytest_audioretrieval.stats.columns import same_length

    given = {"text": unit("text", text), "swap": unit("swap", swap), "paraphrase": unit("paraphrase", paraphrase)}
    clusters = group(recording)
    same_length({**given, "recording": clusters.codes})
    if len({vectors.shape for vectors in given.values()}) > 1:
        shapes = ", ".join(f"{name} {vectors.shape[1]}" for name, vectors in given.items())
        raise DataError(f"found vectors of different dimensions ({shapes}): expected one number; embed with one model")
    if len(clusters.sizes) < 2:
        raise DataError("all texts are of one recording: expected at least 2, because texts of others are compared")
    # Rounded to a norm of 1 in float32 only, a text would not be at distance 0 from itself.
    exact = [
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        for vectors in (vectors.astype(np.float64) for vectors in given.values())
    ]
    to_swap, to_paraphrase = (np.square(exact[0] - other).sum(axis=1) / 2 for other in exact[1:])
    return TextDistances(to_swap, to_paraphrase, _to_others(exact[0], clusters.codes))


def _to_others(text: Floats, recording: Ints) -> Floats:
    """Median cosine distance of each row to the rows of other recordings, [N], a block of rows at a time."""
    import numpy as np

    from pytest_audioretrieval.metrics.scores import PAIR_PRODUCTS

    medians = np.empty(len(text))
    step = max(1, PAIR_PRODUCTS // len(text))
    for start in range(0, len(text), step):
        distances = 1 - text[start : start + step] @ text.T
        for row, found in enumerate(distances, start):
            medians[row] = np.median(found[recording != recording[row]])
    return np.maximum(medians, 0)


def _probabilities(name: str, values: npt.ArrayLike) -> Floats:
    import numpy as np

    from pytest_audioretrieval.stats.columns import numbers

    found = numbers(name, values, "[N]")
    wrong = np.flatnonzero((found < 0) | (found > 1))
    if len(wrong):
        raise DataError(f"{name}[{wrong[0]}] is {found[wrong[0]]:g}: expected a probability, from 0 to 1")
    return found


def _accuracy(run: ChoiceLike) -> Floats:
    import numpy as np

    tied = _asked(run, "tied", "choice", "texts")
    values: Floats = np.where(tied == 1, 0.5, run.first_hit_rank == 1)
    return values


def _sensitivity(run: TextsLike) -> Floats:
    import numpy as np

    swap, paraphrase = _asked(run, "swap_distance", "texts"), _asked(run, "paraphrase_distance", "texts")
    moved = swap + paraphrase
    shares: Floats = np.divide(swap, moved, out=np.full(len(moved), 0.5), where=moved > 0)
    return shares


def _asked(run: RankingLike, column: str, *directions: str) -> npt.NDArray[Any]:
    """A column that tells of two options; in runs of other directions it is empty, or tells of something else."""
    found = getattr(run, column, None)
    if found is None:
        raise SpecError(f"this run has no {column} of two options: ask in direction {' or '.join(directions)}")
    return cast("npt.NDArray[Any]", found)
