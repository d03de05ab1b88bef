"""Gradient x input against finite differences in the embeddings, by a forward pass of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pytest_audioretrieval.data.reformulate.groups import grouped
from pytest_audioretrieval.errors import DataError, ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.saliency import Saliency, boundary_saliency
from pytest_audioretrieval.pinning.protocol import NAMED

SHORT = NAMED["short-clip"]
QUERIES = ["Find me a dog barking.", "rain", "Is there any chance you could send a clip of a bell's ring?"]


def spans(queries: list[str]) -> list[list[tuple[int, int]]]:
    return [[(word.start, word.end) for word in grouped(query)] for query in queries]


def units(count: int, seed: int) -> npt.NDArray[np.float64]:
    vectors = np.random.default_rng(seed).standard_normal((count, 12))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


TARGET, RIVAL = units(3, 0), units(3, 1)


@pytest.fixture(scope="module")
def double(tiny_clap: Path) -> Iterator[Clap]:
    """Model in float64 throughout, for finite differences; its attention would round weights to float32."""
    model, softmax = Clap(tiny_clap, device="cpu"), torch.softmax
    model.model.double()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torch.nn.functional.softmax", lambda scores, dim, dtype=None: softmax(scores, dim))
        yield model


def audit(model: Clap, queries: list[str] = QUERIES, **changed: Any) -> list[Saliency]:
    given = {"spans": spans(queries), "target": TARGET, "hard_negative": RIVAL, "protocol": SHORT} | changed
    return boundary_saliency(model, queries, **given)


def margin(model: Clap, query: str, change: npt.NDArray[np.float64] | float, row: int) -> float:
    """M of one query whose token embeddings [T, H] are changed: fed in as vectors, normalised by hand."""
    clap = model.model
    ids = model.tokenizer(query, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        looked_up = clap.text_model.get_input_embeddings()(ids)
        changed = looked_up + torch.as_tensor(change, dtype=looked_up.dtype)
        pooled = clap.text_projection(clap.text_model(inputs_embeds=changed).pooler_output)[0].numpy()
    return float(pooled / np.linalg.norm(pooled) @ (TARGET[row] - RIVAL[row]))


def embeddings(model: Clap, query: str) -> npt.NDArray[np.float64]:
    ids = model.tokenizer(query)["input_ids"]
    table: npt.NDArray[np.float64] = model.model.text_model.get_input_embeddings().weight.detach().numpy()[ids]
    return table


def by_finite_differences(model: Clap, query: str, row: int) -> npt.NDArray[np.float64]:
    """Saliency of each token, [T]: how the margin changes as that token's embedding grows."""
    table, step, found = embeddings(model, query), 1e-4, []
    for token in range(len(table)):
        change = np.zeros_like(table)
        change[token] = step * table[token]
        found.append((margin(model, query, change, row) - margin(model, query, -change, row)) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("row", range(3))
def test_saliency_is_the_slope_along_each_tokens_embedding(row: int, double: Clap) -> None:
    """A token of the tiny model is a byte, so a word's saliency is the sum over its bytes."""
    query = QUERIES[row]
    found, slopes = audit(double)[row], by_finite_differences(double, query, row)
    assert found.special == pytest.approx(slopes[[0, -1]], rel=1e-5, abs=1e-9)
    widths = [len(word.text.encode()) + (word.start > 0 and query[word.start - 1] == " ") for word in grouped(query)]
    assert sum(widths) == len(slopes) - 2
    ends = np.cumsum([0, *widths])
    sums = [slopes[1 + a : 1 + b].sum() for a, b in pairwise(ends)]
    assert found.words == pytest.approx(sums, rel=1e-5, abs=1e-9)
    assert np.abs(found.words).max() > 1e-3


@pytest.mark.parametrize("row", range(3))
def test_all_saliency_is_the_slope_along_all_embeddings(row: int, double: Clap) -> None:
    found, step, table = audit(double)[row], 1e-4, embeddings(double, QUERIES[row])
    slope = margin(double, QUERIES[row], step * table, row) - margin(double, QUERIES[row], -step * table, row)
    assert found.total == pytest.approx(slope / (2 * step), rel=1e-5)


def test_the_margin_is_that_of_the_models_own_vectors(tiny_clap: Path) -> None:
    model = Clap(tiny_clap, device="cpu")
    vectors = model.embed_text(QUERIES, SHORT)
    expected = (vectors * (TARGET - RIVAL)).sum(axis=1)
    np.testing.assert_allclose([s.margin for s in audit(model)], expected, atol=1e-6)
    assert model.embed_text(QUERIES, SHORT).tobytes() == vectors.tobytes()
    assert not model.model.text_model.get_input_embeddings()._forward_hooks


def test_exchanging_target_and_rival_turns_every_sign(double: Clap) -> None:
    one, two = audit(double), audit(double, target=RIVAL, hard_negative=TARGET)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a.words, -b.words, atol=1e-12)
        assert a.margin == pytest.approx(-b.margin)


def test_a_query_is_the_same_alone_and_beside_a_longer_one(double: Clap, monkeypatch: pytest.MonkeyPatch) -> None:
    together = audit(double)
    monkeypatch.setattr("pytest_audioretrieval.models.saliency.BATCH", 1)
    for a, b in zip(together, audit(double), strict=True):
        np.testing.assert_allclose(a.words, b.words, atol=1e-12)
        np.testing.assert_allclose(a.special, b.special, atol=1e-12)
        assert a.special.shape == (2,)


def test_a_word_behind_the_limit_is_never_read(double: Clap) -> None:
    cut = replace(SHORT, max_text_tokens=2 + len("Find me a"))
    found = audit(double, protocol=cut)[0]
    assert (found.words[:3] != 0).all()
    assert found.words[3:].tolist() == [0, 0, 0]


def test_white_space_around_is_counted(double: Clap) -> None:
    queries = ["rain ", " rain", "rain"]
    for row, (saliency, query) in enumerate(zip(audit(double, queries), queries, strict=True)):
        assert saliency.words.shape == (1,)
        assert saliency.words[0] == pytest.approx(by_finite_differences(double, query, row)[1:-1].sum(), rel=1e-5)


def test_refusals(double: Clap) -> None:
    with pytest.raises(DataError, match="found 3 queries, 2 spans, 3 targets, 3 hard negatives, expected as many"):
        audit(double, spans=spans(QUERIES)[:2])
    with pytest.raises(DataError, match="query ' ' has no word, expected at least one"):
        audit(double, [" ", "a", "b"])
    slow = SimpleNamespace(tokenizer=SimpleNamespace(is_fast=False))
    with pytest.raises(ModelError, match="tokenizer gives no offsets, expected a fast one"):
        audit(slow)  # type: ignore[arg-type]
