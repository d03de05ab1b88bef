"""The pinned protocol's cleaning of captions, which every loader uses."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_audioretrieval.data.captions import clean
from pytest_audioretrieval.data.types import Caption


def test_what_is_stripped_removed_and_shared_is_counted() -> None:
    """Rows of one clip may be apart; of equal texts the first stays, with its forms."""
    notes: Counter[str] = Counter()
    stated = [
        Caption("1", " rain ", "a", {"question": "Is it rain?"}),
        Caption("2", "rain", "b"),
        Caption("3", "rain", "a", {"question": "Rain?"}),
        Caption("4", "\n", "a"),
        Caption("5", "", "c"),
        Caption("6", "rain\t", "a"),
        Caption("7", "rain. wind", "a"),
        Caption("8", "Rain", "a"),
    ]
    assert clean(stated, notes) == (
        Caption("1", "rain", "a", {"question": "Is it rain?"}),
        Caption("2", "rain", "b"),
        Caption("7", "rain. wind", "a"),
        Caption("8", "Rain", "a"),
    )
    assert notes == {
        "captions with white space around them, stripped": 2,
        "captions repeated within a clip, removed": 2,
        "empty captions, removed": 2,
        "captions that several clips share": 2,
    }


@pytest.mark.parametrize("text", ["\u200b", " \u200d\ufeff ", "\u00a0"])
def test_what_shows_nothing_is_empty(text: str) -> None:
    notes: Counter[str] = Counter()
    assert clean([Caption("1", text, "a")], notes) == ()
    assert +notes == {"empty captions, removed": 1}
