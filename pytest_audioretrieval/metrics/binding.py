"""Choices between a text and its attribute swap, the prior that text alone gives, and distances between texts.

Source: "Don't CLAP: Are Music-Text Models Bag-of-Words?" (MASB), Exp. 1 to 4. A choice is 1 where the right option
scores higher, 0 where the wrong one does, and 0.5 at an exact tie.

This module imports numpy only where something is computed, because suites name their metrics at collection.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytest_audioretrieval.errors import DataError, SpecError
from pytest_audioretrieval.metrics.retrieval import Metric, RankingLike

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.metrics.retrieval import Floats, Ints


class ChoiceLike(RankingLike, Protocol):
    """Run of direction ``choice``, which ``accuracy`` reads; its ``first_hit_rank`` is 1 or 2."""

    @property
    def tied(self) -> Ints:
        """1 where both options score the same, so that their order in the data decides the rank; else 0, [Q]."""


class TextsLike(RankingLike, Protocol):
    """Run of direction ``texts``, which ``sensitivity`` reads."""

    @property
    def swap_distance(self) -> Floats:
        """Cosine distance of each text to its attribute swap, [Q]."""

    @property
    def paraphrase_distance(self) -> Floats:
        """Cosine distance of each text to its paraphrase, [Q]."""


@dataclass(frozen=True, eq=False)
class TextDistances:
    """Cosine distances of N texts to other texts.

    Attributes:
        swap, paraphrase: float64 [N], distance of each text to its attribute swap and to its paraphrase.
        others: float64 [N], median distance of each text to the texts of all other recordings.
    """

    swap: Floats
    paraphrase: Floats
    others: Floats


@dataclass(frozen=True, slots=True)
class PriorSplit:
    """Accuracies where the text-only choice is right and where it is wrong.

    Attributes:
        right_half, wrong_half: accuracy of the pairs in each half; None for a half without pairs.
        right_count, wrong_count: number of pairs in each half.
        ties: number of pairs on which the text-only choice ties; they are in neither half.
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
    """Preference of a model that sees the texts but not the audio.

    Attributes:
        right: float64 [N], probability of the right option, averaged over both orders of the options.
        position_bias: mean probability of the right option when it comes first, minus that when it comes second; 0
            where the order does not matter, 1 where the first option is always chosen.
    """

    right: Floats
    position_bias: float


def accuracy() -> Metric:
    """Return ``accuracy``: 1 where the right option scores higher, 0.5 at an exact tie, else 0; chance is 0.5.

    Its values are float64 [Q].

    Source: MASB, Exp. 1 and 4.

    Raises:
        SpecError: on a call, a run that is not of direction ``choice`` or ``texts``.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import accuracy
    >>> run = SimpleNamespace(first_hit_rank=np.array([1, 2, 1]), tied=np.array([0, 0, 1]))
    >>> accuracy()(run).tolist(), accuracy().value(run)
    ([1.0, 0.0, 0.5], 0.5)
    """
    return Metric("accuracy", True, (0.0, 1.0), cast("Callable[[RankingLike], Floats]", _accuracy), chance=0.5)


def sensitivity() -> Metric:
    """Return ``sensitivity``: the distance of a text to its swap over the sum of its distances to swap and paraphrase.

    Its values are float64 [Q], from 0 to 1. At 0.5 a text moves as far when its meaning changes as when only its words
    do; it is also 0.5 where neither change moves it. A ratio r of both distances is r / (1 + r) here. It is a share,
    because the ratio itself has no upper limit: one paraphrase that hardly moves would decide the mean, and no interval
    for such a mean is honest.

    Source: MASB, Exp. 3.

    Raises:
        SpecError: on a call, a run that is not of direction ``texts``.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import sensitivity
    >>> run = SimpleNamespace(swap_distance=np.array([0.25, 0.0]), paraphrase_distance=np.array([0.75, 0.0]))
    >>> sensitivity()(run).tolist()
    [0.25, 0.5]
    """
    return Metric("sensitivity", True, (0.0, 1.0), cast("Callable[[RankingLike], Floats]", _sensitivity))


def correct(right: npt.ArrayLike, wrong: npt.ArrayLike) -> Floats:
    """Return the choices that the scores [N] of both options make: 1, 0, or 0.5 at an exact tie, float64 [N].

    Source: MASB, Exp. 1.

    Raises:
        DataError: values that are no finite numbers, or different lengths.
    """
    import numpy as np

    from pytest_audioretrieval.stats.checks import numbers, same_length

    one, other = numbers("right", right, "[N]"), numbers("wrong", wrong, "[N]")
    same_length({"right": one, "wrong": other})
    return np.asarray((1 + np.sign(one - other)) / 2)


def by_prior(correct: npt.ArrayLike, prior_correct: npt.ArrayLike) -> PriorSplit:
    """Split choices [N] into pairs whose text-only choice [N] is right and pairs whose text-only choice is wrong.

    Source: MASB, Exp. 2.

    Raises:
        DataError: values other than 1, 0 and 0.5, or different lengths.
    """
    from pytest_audioretrieval.stats.checks import choices, same_length

    found, prior = choices("correct", correct), choices("prior_correct", prior_correct)
    same_length({"correct": found, "prior_correct": prior})
    right, wrong = found[prior == 1], found[prior == 0]
    right_half, wrong_half = (float(half.mean()) if len(half) else None for half in (right, wrong))
    balanced = None if right_half is None or wrong_half is None else (right_half + wrong_half) / 2
    ties = len(found) - len(right) - len(wrong)
    return PriorSplit(right_half, wrong_half, len(right), len(wrong), ties, balanced)


def text_prior(right_first: npt.ArrayLike, wrong_first: npt.ArrayLike) -> TextPrior:
    """Average text-only answers over both orders of the options, which cancels position bias.

    Source: MASB, Exp. 2.

    Args:
        right_first: [N], probability of the first option when that is the right one.
        wrong_first: [N], probability of the first option when that is the wrong one.

    Raises:
        DataError: values that are no probabilities, or different lengths.
    """
    import numpy as np

    from pytest_audioretrieval.stats.checks import same_length

    first, second = _probabilities("right_first", right_first), 1 - _probabilities("wrong_first", wrong_first)
    same_length({"right_first": first, "wrong_first": second})
    return TextPrior((first + second) / 2, float(np.mean(first - second)))


def text_distances(
    text: npt.NDArray[np.floating[Any]],
    swap: npt.NDArray[np.floating[Any]],
    paraphrase: npt.NDArray[np.floating[Any]],
    recording: Iterable[Hashable],
) -> TextDistances:
    """Return the distances of texts to their attribute swaps, to their paraphrases and to texts of other recordings.

    Memory grows with N, not with its square.

    Source: MASB, Exp. 3.

    Args:
        text, swap, paraphrase: unit vectors [N, D], float32 or float64; row i of each belongs to one caption.
        recording: [N] labels, any hashable; the median of ``others`` is over the texts of all other recordings.

    Raises:
        DataError: vectors that are no unit vectors, shapes or labels that do not fit, or only one recording.
    """
    import numpy as np

    from pytest_audioretrieval.metrics.scores import unit_vectors
    from pytest_audioretrieval.stats.checks import same_length
    from pytest_audioretrieval.stats.clusters import group

    named = {"text": text, "swap": swap, "paraphrase": paraphrase}
    given = {name: unit_vectors(name, vectors) for name, vectors in named.items()}
    clusters = group(recording)
    same_length({**given, "recording": clusters.codes})
    _check_text_vectors(given, len(clusters.sizes))
    # With norms of 1 in float32 only, a text would not be at distance 0 from itself.
    exact = [
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        for vectors in (vectors.astype(np.float64) for vectors in given.values())
    ]
    to_swap, to_paraphrase = (np.square(exact[0] - other).sum(axis=1) / 2 for other in exact[1:])
    return TextDistances(to_swap, to_paraphrase, _to_others(exact[0], clusters.codes))


def _check_text_vectors(given: Mapping[str, npt.NDArray[Any]], recordings: int) -> None:
    """Refuse vectors of different dimensions, and texts of a single recording."""
    if len({vectors.shape for vectors in given.values()}) > 1:
        shapes = ", ".join(f"{name} {vectors.shape[1]}" for name, vectors in given.items())
        raise DataError(
            f"vectors have different dimensions ({shapes})",
            expected="one number",
            remedy="embed all texts with one model",
        )
    if recordings < 2:
        raise DataError(
            "all texts are of one recording",
            expected="at least 2 recordings, because a text is compared with those of others",
            remedy="add recordings",
        )


def _to_others(text: Floats, recording: Ints) -> Floats:
    """Return the median cosine distance of each row to the rows of other recordings, [N], in blocks of rows."""
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
    """Return ``values`` [N] as float64, or raise ``DataError`` where one is no probability."""
    import numpy as np

    from pytest_audioretrieval.stats.checks import numbers

    found = numbers(name, values, "[N]")
    wrong = np.flatnonzero((found < 0) | (found > 1))
    if len(wrong):
        raise DataError(
            f"{name}[{wrong[0]}] is {found[wrong[0]]:g}",
            expected="a probability, from 0 to 1",
            remedy="turn scores into probabilities first",
        )
    return found


def _accuracy(run: ChoiceLike) -> Floats:
    import numpy as np

    tied = _two_option_column(run, "tied", "choice", "texts")
    values: Floats = np.where(tied == 1, 0.5, run.first_hit_rank == 1)
    return values


def _sensitivity(run: TextsLike) -> Floats:
    import numpy as np

    swap = _two_option_column(run, "swap_distance", "texts")
    paraphrase = _two_option_column(run, "paraphrase_distance", "texts")
    moved = swap + paraphrase
    shares: Floats = np.divide(swap, moved, out=np.full(len(moved), 0.5), where=moved > 0)
    return shares


def _two_option_column(run: RankingLike, column: str, *directions: str) -> npt.NDArray[Any]:
    """Return a column of a run about two options, or raise ``SpecError`` where the run has none."""
    found = getattr(run, column, None)
    if found is None:
        raise SpecError(
            f"this run has no {column} of two options", remedy=f"ask in direction {' or '.join(directions)}"
        )
    return cast("npt.NDArray[Any]", found)
