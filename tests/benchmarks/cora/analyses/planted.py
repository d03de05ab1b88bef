"""Datasets without sounds, models that are tables of vectors, and pairs with given columns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Pairs
from pytest_audioretrieval.benchmarks.cora.analyses.pools import QueriedDataset
from pytest_audioretrieval.data.query_sets import from_dataset
from pytest_audioretrieval.data.types import Caption, Clip, Dataset
from pytest_audioretrieval.pinning.spec import ModelSpec

FORMS = ("command", "question", "indirect", "key_phrase", "statement")
LABELS = ("dataset", "model", "form", "item", "clip")
WHOLE = ("pool", "source_rank", "rank", "rank_drop")

Vectors = npt.NDArray[np.float32]


def unit(rows: npt.ArrayLike) -> Vectors:
    found = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def hashed(text: str, dims: int = 6) -> npt.NDArray[np.float64]:
    """Return a direction of its own for each text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=dims)


class VectorModel:
    """A model whose vectors are a function of the text, and of the clip's digest."""

    def __init__(self, name: str, vector: Callable[[str], npt.ArrayLike] = hashed) -> None:
        self.spec = ModelSpec(text=name, kind="factory", id=name)
        self.vector = vector
        self.asked: list[str] = []

    def sides(self, queries: Sequence[Sequence[str]], candidates: Sequence[Sequence[Clip]]) -> tuple[Vectors, Vectors]:
        texts = [text for part in queries for text in part]
        self.asked += texts
        clips = [clip.digest for part in candidates for clip in part]
        return unit([self.vector(text) for text in texts]), unit([self.vector(digest) for digest in clips])


def dataset(name: str, captions: Mapping[str, Sequence[str]], *, merge: bool = False) -> Dataset:
    """Return a dataset of ``clip id -> captions``; the forms of a caption read ``caption, form``."""
    return Dataset(
        name=name,
        revision=None,
        clips=tuple(Clip(clip, f"sound of {name} {clip}", lambda: None) for clip in captions),  # type: ignore[arg-type, return-value]
        captions=tuple(
            Caption(f"{clip}#{number}", text, clip, {form: f"{text}, {form}" for form in FORMS})
            for clip, texts in captions.items()
            for number, text in enumerate(texts)
        ),
        fingerprint="f" * 64,
        merge_identical_captions=merge,
    )


def ask(name: str, captions: Mapping[str, Sequence[str]], *, merge: bool = False) -> QueriedDataset:
    given = dataset(name, captions, merge=merge)
    return QueriedDataset(given, from_dataset(given))


def make_pairs(**columns: Any) -> Pairs:
    """Return pairs with these columns, text or number throughout; the others are ones, or one name.

    A rank follows its drop.
    """
    length = max(len(values) for values in columns.values() if not isinstance(values, str | int | float))
    found: dict[str, Any] = {}
    for column in (field.name for field in fields(Pairs)):
        default = column if column in LABELS else 1
        kind = np.str_ if column in LABELS else np.int64 if column in WHOLE else np.float64
        values = columns.get(column, default)
        found[column] = (
            np.full(length, values) if isinstance(values, str | int | float) else np.array(values, dtype=kind)
        )
    if "rank_drop" in columns and "rank" not in columns:
        found["rank"] = found["source_rank"] + found["rank_drop"]
    if "rank" in columns and "rank_drop" not in columns:
        found["rank_drop"] = found["rank"] - found["source_rank"]
    return Pairs(**found)


def random_pairs(pairs: int = 600, seed: int = 5) -> Pairs:
    """Return complete pairs of two datasets, two models and five forms, with normal signals; TAL drives the drop."""
    rng = np.random.default_rng(seed)
    items = pairs // 20
    grid = [(d, m, i, f) for m in ("A", "B") for d in ("x", "y") for i in range(items) for f in FORMS]
    names = {k: [row[p] for row in grid] for p, k in enumerate(("dataset", "model", "number", "form"))}
    tal, other, noise = rng.normal(size=(3, len(grid)))
    hnp = other + noise
    source = rng.integers(60, 90, len(grid) // 5).repeat(5)
    drop = np.rint(10 * tal + 4 * other).astype(np.int64)
    return make_pairs(
        dataset=names["dataset"],
        model=names["model"],
        form=names["form"],
        item=[f"{d}::{i}" for d, _, i, _ in grid],
        clip=[f"{d}::{i // 2}" for d, _, i, _ in grid],
        pool=[200 if d == "x" else 300 for d in names["dataset"]],
        source_rank=source,
        rank_drop=drop,
        move=rng.uniform(size=len(grid)),
        tal=tal,
        hnp=hnp,
        tbmd=tal + hnp,
        tbmd_source_hn=rng.normal(size=len(grid)),
        tbmd_reformulated_hn=tal - hnp,
        shift_norm=rng.uniform(size=len(grid)),
        p_audio=-tal + 0.1 * rng.normal(size=len(grid)),
        p_boundary=-tal + rng.normal(size=len(grid)),
    )


def cells(table: Any, *labels: str) -> dict[Any, dict[str, Any]]:
    """Return the rows of a table by their first columns: one label, or a tuple of several."""
    names = [column.name for column in table.columns]
    count = max(1, len(labels))
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    keys = [tuple(row[name] for name in names[:count]) for row in rows]
    return {key if count > 1 else key[0]: row for key, row in zip(keys, rows, strict=True)}
