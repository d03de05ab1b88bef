"""Texts longer than the model's limit: cut, and counted in a warning (fault 44)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.embedding.engine import embed_texts
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol
from tests.embedding.fake import WHO, Fake

SHORT = NAMED["short-clip"]
TEXTS = ["a dog", "long " * 9, "rain", "longer " * 9, "long " * 9]


class Forgetful(Fake):
    """Reads ten letters."""

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        return sum(len(text) > 10 for text in texts)


def never() -> Any:
    raise AssertionError("everything is stored")


def track(items: Sequence[Any], what: str) -> Sequence[Any]:
    return items


def test_cut_texts_are_counted_when_they_are_embedded_and_when_they_are_stored(tmp_path: Path) -> None:
    expected = "^3 of 5 texts are longer than what the model reads and were cut$"
    with pytest.warns(UserWarning, match=expected):
        embed_texts(TEXTS, Forgetful, WHO, SHORT, Store(tmp_path), track)
    with pytest.warns(UserWarning, match=expected):
        embed_texts(TEXTS, never, WHO, SHORT, Store(tmp_path), track)


def test_those_of_other_datasets_are_not_counted(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="^3 of 5"):
        embed_texts(TEXTS, Forgetful, WHO, SHORT, Store(tmp_path), track)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embed_texts(TEXTS[:1], Forgetful, WHO, SHORT, Store(tmp_path), track)
        embed_texts(TEXTS[1:2], Fake, ModelIdentity("other", None, "b" * 64), SHORT, Store(tmp_path), track)


def test_a_caption_of_ten_thousand_words(tiny_clap: Path) -> None:
    from pytest_audioretrieval.models.clap import Clap

    model = Clap(tiny_clap, device="cpu")
    with pytest.warns(UserWarning, match="^1 of 2 texts"):
        made = embed_texts(["a dog", "dog " * 10_000], lambda: model, WHO, SHORT, Store(None), track)
    assert made.shape == (2, 12)
    assert np.isfinite(made).all()
