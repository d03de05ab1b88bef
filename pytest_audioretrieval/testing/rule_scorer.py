"""A pair scorer without weights, for tests: ``--model pytest_audioretrieval.testing.rule_scorer:RuleScorer``.

It recognises nothing. Its answers follow from sound, text and order by rules of one line each, so a test of code that
uses pair scorers can compute the expected answers by hand.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

#: Weight of the order of the alphabet where two texts are compared, and the bonus of the text that is shown first.
PRIOR, POSITION = 0.2, 0.1


class RuleScorer:
    """Pair scorer that says yes to a fading sound with words in the order of the alphabet.

    It also says yes to a swelling sound with words in the opposite order.
    """

    device = "cpu"

    def __init__(self, *, device: str) -> None:
        """Run on the CPU, whatever ``device`` the user chose."""

    @staticmethod
    def weights_sha256() -> str:
        """Return the hash of this file, which alone decides the answers."""
        return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()

    def score(
        self, windows: Sequence[npt.NDArray[np.float32]], texts: Sequence[str], protocol: object
    ) -> npt.NDArray[np.float32]:
        """Return ``(1 + fade * alphabetical) / 2`` of each pair of a window and a text, from 0 to 1."""
        pairs = zip(windows, texts, strict=True)
        return np.array([(1 + fade(window) * alphabetical(text)) / 2 for window, text in pairs], dtype=np.float32)

    def prefer(self, first: Sequence[str], second: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the preference for the first text of each pair, from 0.2 to 1.

        It is high for the text that is nearer to the order of the alphabet, and a little higher for the text shown
        first.
        """
        leads = [alphabetical(one) - alphabetical(two) for one, two in zip(first, second, strict=True)]
        return np.array([0.5 + PRIOR * lead + POSITION for lead in leads], dtype=np.float32)


def fade(window: npt.NDArray[np.float32]) -> float:
    """Return the energy of the first half minus that of the second, over both, from -1 to 1; 0 for silence."""
    half = (len(window) + 1) // 2
    first, second = (float(np.square(part, dtype=np.float64).sum()) for part in (window[:half], window[half:]))
    return (first - second) / (first + second) if first + second else 0.0


def alphabetical(text: str) -> float:
    """Return Kendall's tau between the order of a text's words and the alphabet, from -1 to 1; 0 for a single word.

    It always changes when two different words change places.
    """
    pairs = list(combinations(re.findall(r"\w+", text.lower()), 2))
    return sum((one < two) - (one > two) for one, two in pairs) / len(pairs) if pairs else 0.0
