"""Saliency of a query's words by gradient x input on CLAP's text tower (CORA, Appendix I)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pytest_audioretrieval.errors import DataError, ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.inference import float32_inference
from pytest_audioretrieval.pinning.protocol import Protocol

#: Queries in one backward pass.
BATCH = 64

Floats = npt.NDArray[np.float64]
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Saliency:
    """Saliency of one query's words; above 0 supports the target, below 0 the hard negative.

    Attributes:
        margin: cos(query, target) - cos(query, hard negative).
        words: sum over the tokens of each word, [W]; 0 for a word behind the limit, which the model never reads.
        special: saliency of each token that belongs to no word, such as ``<s>``, [S].
    """

    margin: float
    words: Floats
    special: Floats

    @property
    def total(self) -> float:
        """Sum over all tokens: the margin's derivative if all token embeddings grow by the same factor."""
        return float(self.words.sum() + self.special.sum())


def boundary_saliency(
    model: Clap,
    queries: Sequence[str],
    spans: Sequence[Spans],
    target: npt.NDArray[np.floating[Any]],
    hard_negative: npt.NDArray[np.floating[Any]],
    protocol: Protocol,
) -> list[Saliency]:
    """Return the saliency of P queries for ``target`` over ``hard_negative``.

    The saliency of a token is its embedding times the margin's gradient, summed over the embedding's dimensions. Its
    embedding is the vector that the model looks up for its id, before positions are added.

    Args:
        queries: [P] texts, cut as ``Clap.embed_text`` cuts them.
        spans: places of each query's words, ascending (start, end) in characters. A token belongs to the first word
            that ends behind the token's beginning.
        target, hard_negative: unit vectors [P, D] of the audio that each query asks for, and of its best rival.

    Raises:
        DataError: the lengths differ, or a query has no word.
        ModelError: the protocol's dtype is not float32, or the tokenizer gives no offsets.
    """
    counts = f"{len(queries)} queries, {len(spans)} spans, {len(target)} targets, {len(hard_negative)} hard negatives"
    if not len(queries) == len(spans) == len(target) == len(hard_negative):
        raise DataError(f"found {counts}", expected="as many of each", remedy="pass them in the same order")
    empty = next((query for query, words in zip(queries, spans, strict=True) if not words), None)
    if empty is not None:
        raise DataError(
            f"query {empty[:60]!r} has no word", expected="at least one", remedy="leave it out and count it"
        )
    if protocol.dtype != "float32":
        raise ModelError(
            f"the protocol's dtype is {protocol.dtype}, gradients are taken in float32", remedy="use short-clip"
        )
    if not model.tokenizer.is_fast:
        raise ModelError(
            "this model's tokenizer gives no offsets", expected="a fast one", remedy="save its tokenizer.json too"
        )
    towards = target.astype(np.float64) - hard_negative.astype(np.float64)
    found: list[Saliency] = []
    for start in range(0, len(queries), BATCH):
        part = slice(start, start + BATCH)
        found += _batch(model, queries[part], spans[part], towards[part], protocol)
    return found


def _batch(
    model: Clap, queries: Sequence[str], spans: Sequence[Spans], towards: Floats, protocol: Protocol
) -> Iterator[Saliency]:
    inputs = model.tokenizer(
        list(queries),
        padding=True,
        truncation=True,
        max_length=model.token_limit(protocol),
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_tensors="pt",
    )
    margin, saliency = _gradient_times_input(model, inputs, towards)
    for row, words in enumerate(spans):
        read = inputs["attention_mask"][row].numpy() > 0
        special = inputs["special_tokens_mask"][row].numpy()[read] > 0
        values, starts = saliency[row][read], inputs["offset_mapping"][row].numpy()[read, 0]
        # White space at the end belongs to no word, but its token must be counted somewhere.
        place = np.minimum(np.searchsorted([end for _, end in words], starts, side="right"), len(words) - 1)
        sums = np.bincount(place[~special], values[~special], minlength=len(words)).astype(np.float64)
        yield Saliency(float(margin[row]), sums, values[special])


def _gradient_times_input(model: Clap, inputs: Any, towards: Floats) -> tuple[Floats, Floats]:
    """Return margins [B] and saliency [B, T], by one backward pass: queries of a batch do not affect each other."""
    # float32_inference turns gradients off; they are needed here.
    with float32_inference(), torch.inference_mode(False), _embeddings(model) as looked_up:
        output = model.model.get_text_features(
            input_ids=inputs["input_ids"].to(model.device), attention_mask=inputs["attention_mask"].to(model.device)
        )
        pooled = output if isinstance(output, torch.Tensor) else output.pooler_output
        query = torch.nn.functional.normalize(pooled, dim=1)
        margin = (query * torch.as_tensor(towards, dtype=query.dtype, device=query.device)).sum(dim=1)
        (gradient,) = torch.autograd.grad(margin.sum(), looked_up)
        saliency = (gradient * looked_up[0]).sum(dim=2)
    return tuple(t.detach().double().cpu().numpy() for t in (margin, saliency))  # type: ignore[return-value]


@contextmanager
def _embeddings(model: Clap) -> Iterator[list[torch.Tensor]]:
    """Yield a list that gets the token embeddings of the next pass, as leaves of its graph."""
    looked_up: list[torch.Tensor] = []

    def keep(module: torch.nn.Module, given: Any, output: torch.Tensor) -> torch.Tensor:
        looked_up.append(output.detach().requires_grad_())
        return looked_up[-1]

    handle = model.model.text_model.get_input_embeddings().register_forward_hook(keep)
    try:
        yield looked_up
    finally:
        handle.remove()
