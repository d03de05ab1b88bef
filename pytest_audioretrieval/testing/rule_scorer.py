"""A pair scorer without weights, to test with: ``--model pytest_audioretrieval.testing.rule_scorer:RuleScorer``.

It recognises nothing. What it answers follows from sound, text and order by rules that fit in a line each, so that a
test of whatever asks pair scorers can compute by hand what has to come out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

#: What the alphabet is worth where two texts are compared, and what being shown first is.
PRIOR, POSITION = 0.2, 0.1


class RuleScorer:
    """Says yes where a sound that fades is described in the order of the alphabet, or one that swells against it."""

    device = "cpu"

    def __init__(self, *, device: str) -> None:
        """Runs on the CPU whatever ``device`` the user chose."""

    @staticmethod
    def weights_sha256() -> str:
        """This file is all that decides."""
        return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()

    def score(
        self, windows: Sequence[npt.NDArray[np.float32]], texts: Sequence[str], protocol: object
    ) -> npt.NDArray[np.float32]:
        """``(1 + fade * alphabetical) / 2``, from 0 to 1."""
        pairs = zip(windows, texts, strict=True)
        return np.array([(1 + fade(window) * alphabetical(text)) / 2 for window, text in pairs], dtype=np.float32)

    def prefer(self, first: Sequence[str], second: Sequence[str]) -> npt.NDArray[np.float32]:
        """The text nearer to the order of the alphabet, and a little the one shown first, from 0.2 to 1."""
        leads = [alphabetical(one) - alphabetical(two) for one, two in zip(first, second, strict=True)]
        return np.array([0.5 + PRIOR * lead + POSITION for lead in leads], dtype=np.float32)


def fade(window: npt.NDArray[np.float32]) -> float:
    """Energy of the first half less that of the second, as a share of both, from -1 to 1; 0 for silence."""
    half = (len(window) + 1) // 2
    first, second = (float(np.square(part, dtype=np.float64).sum()) for part in (window[:half], window[half:]))
    return (first - second) / (first + second) if first + second else 0.0


def alphabetical(text: str) -> float:
    """Kendall's tau between the order of a text's words and the alphabet, from -1 to 1; 0 for a single word.

    Two different words that change places always change it.
    """
    pairs = list(combinations(re.findall(r"\w+", text.lower()), 2))
    return sum((one < two) - (one > two) for one, two in pairs) / len(pairs) if pairs else 0.0
