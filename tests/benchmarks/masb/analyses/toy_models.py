"""Models with given scores, vectors and preferences, and choices between options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.masb.analyses.answers import Answers
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Option, Rewording
from pytest_audioretrieval.pinning.spec import ModelSpec

Score = Callable[[str, str], float]


class Fake:
    """A stand-in for an ``SingleModel``; with ``prefers`` it is a pair scorer."""

    def __init__(
        self,
        name: str,
        score: Score = lambda text, clip: 0.0,
        *,
        vectors: dict[str, Sequence[float]] | None = None,
        prefers: dict[str, tuple[float, float]] | None = None,
    ) -> None:
        self.spec = ModelSpec(text=name, kind="factory", id=name)
        self.score, self.vectors, self.prefers = score, vectors or {}, prefers
        self.calls: list[str] = []

    @property
    def scores_pairs(self) -> bool:
        return self.prefers is not None

    def pair_scores(self, pairs: Sequence[tuple[str, Clip]]) -> npt.NDArray[np.float64]:
        self.calls.append("pair_scores")
        return np.array([self.score(text, clip.id) for text, clip in pairs], dtype=np.float64)

    def texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.calls.append("texts")
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)

    def text_preference(self, pairs: Sequence[tuple[str, str]]) -> tuple[Any, Any]:
        """Return P(the first text is chosen) for each pair, shown first and shown second, as given by that text."""
        assert self.prefers is not None
        self.calls.append("text_preference")
        first, second = zip(*(self.prefers[right] for right, _ in pairs), strict=True)
        return np.array(first), np.array(second)


def answers(model: str, **slices: tuple[Sequence[float], Sequence[str]]) -> Answers:
    """Return answers by slice (``_`` for ``-``): the correct ones, and their clusters."""
    names = [name.replace("_", "-") for name, (correct, _) in slices.items() for _ in correct]
    cluster = [label for _, labels in slices.values() for label in labels]
    return Answers(
        model, np.array(names), np.array(cluster), np.array([c for correct, _ in slices.values() for c in correct])
    )


def swap(number: int, part: str, cluster: str | None = None) -> Choice:
    """Return the choice between "right N" and "wrong N" for one clip."""
    clip = f"clip {number}"
    return Choice(str(number), Option(f"right {number}", clip), Option(f"wrong {number}", clip), cluster or clip, part)


def mirror(number: int, part: str = "mirror-order", cluster: str | None = None) -> tuple[Choice, Choice]:
    """Return two choices: of "A first" and "B first", one holds for clip "N ab", the other for "N ba"."""
    texts, label = (f"A first {number}", f"B first {number}"), cluster or f"track {number}"
    ab, ba = ([Option(text, f"{number} {mix}") for text in texts] for mix in ("ab", "ba"))
    return Choice(f"{number} ab", ab[0], ab[1], label, part), Choice(f"{number} ba", ba[1], ba[0], label, part)


def dataset(choices: Sequence[Choice] = (), rewordings: Sequence[Rewording] = (), **others: Any) -> Dataset:
    """Return a dataset of these choices with the clips that they name, in their order."""
    names = dict.fromkeys(pair.clip for choice in choices for pair in (choice.right, choice.wrong))
    clips = tuple(Clip(name, f"sound of {name}", lambda: None) for name in names)  # type: ignore[arg-type, return-value]
    made = {"clips": clips, "captions": (), **others}
    return Dataset("toy", None, fingerprint="f" * 64, choices=tuple(choices), rewordings=tuple(rewordings), **made)


def rewording(number: int, part: str, *, cluster: str, recording: str) -> Rewording:
    text = f"text {number}"
    return Rewording(
        id=str(number),
        text=text,
        swap=f"swap {number}",
        paraphrase=f"paraphrase {number}",
        recording=recording,
        cluster=cluster,
        slice=part,
    )


def rows(table: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the rows of a table by their labels, the columns without a format in front."""
    names = [column.name for column in table.columns]
    count = next(position for position, column in enumerate(table.columns) if column.format)
    return {tuple(row[:count]): dict(zip(names, row, strict=True)) for row in table.rows}
