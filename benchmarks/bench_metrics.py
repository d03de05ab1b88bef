"""R@1, 5, 10, map@10 and ndcg@10 of Clotho's size, from vectors to a value per query, against other libraries.

    OMP_NUM_THREADS=1 python -m benchmarks.bench_metrics

All get the same vectors (5,225 captions, 1,045 clips, 512 dimensions) and make the same matrix of scores; a library
that takes dictionaries is given them as its documentation builds them. Our ranks are exact, with ties and margins.
Beside the full matrix each library is also timed on no more than the ten best of each query, picked by argpartition:
enough for these five metrics, though for no other, and its rule for equal scores is then argpartition's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.bench_ranking import CAPTIONS, CLIPS, vectors
from benchmarks.table import Row, as_json, elsewhere, interpreter, seconds, show
from pytest_audioretrieval.metrics import hit_rate, map_at, ndcg, rank

WORK = "metrics of 5,225 queries x 1,045 clips"
PEERS = ("ranx", "ir_measures", "torchmetrics")
DEPTH = 10

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Found = dict[str, Floats]
Scored = dict[str, dict[str, float]]


def ours(captions: Vectors, clips: Vectors) -> Found:
    ranking = rank(captions, clips, [[row // CAPTIONS] for row in range(len(captions))])
    return {str(m): m(ranking) for m in (hit_rate(1), hit_rate(5), hit_rate(10), map_at(10), ndcg(10))}


def judged() -> dict[str, dict[str, int]]:
    return {f"q{row}": {f"d{row // CAPTIONS}": 1} for row in range(CLIPS * CAPTIONS)}


def scored(captions: Vectors, clips: Vectors, depth: int | None) -> Scored:
    """What dictionaries are made of: all scores, or the best of each query."""
    names, scores = [f"d{column}" for column in range(len(clips))], captions @ clips.T
    if depth is None:
        return {f"q{row}": dict(zip(names, line, strict=True)) for row, line in enumerate(scores.tolist())}
    best = np.argpartition(-scores, depth, axis=1)[:, :depth]
    kept = zip(best.tolist(), np.take_along_axis(scores, best, axis=1).tolist(), strict=True)
    return {f"q{row}": {names[c]: s for c, s in zip(*pair, strict=True)} for row, pair in enumerate(kept)}


def ranx(captions: Vectors, clips: Vectors, depth: int | None = None) -> Found:
    from ranx import Qrels, Run, evaluate

    metrics = ["hit_rate@1", "hit_rate@5", "hit_rate@10", "map@10", "ndcg@10"]
    right, found = Qrels.from_dict(judged()), Run.from_dict(scored(captions, clips, depth))
    return dict(evaluate(right, found, metrics, return_mean=False))


def ir_measures(captions: Vectors, clips: Vectors, depth: int | None = None) -> Found:
    import ir_measures as library

    measures = [library.parse_measure(m) for m in ("Success@1", "Success@5", "Success@10", "AP@10", "nDCG@10")]
    found: dict[str, list[float]] = {str(measure): [] for measure in measures}
    for one in library.iter_calc(measures, judged(), scored(captions, clips, depth)):
        found[str(one.measure)].append(one.value)
    return {name: np.array(values) for name, values in found.items()}


def torchmetrics(captions: Vectors, clips: Vectors, depth: int | None = None) -> Found:
    import torch
    from torchmetrics.functional.retrieval import (
        retrieval_average_precision,
        retrieval_hit_rate,
        retrieval_normalized_dcg,
    )

    scores = torch.from_numpy(captions) @ torch.from_numpy(clips).T
    # Documented as probabilities; an increasing map keeps the order.
    scores, columns = ((scores + 1) / 2, torch.arange(len(clips)).expand(scores.shape))
    if depth is not None:
        scores, columns = scores.topk(depth, dim=1)
    right = columns == (torch.arange(len(captions)) // CAPTIONS)[:, None]
    asked: dict[str, Callable[[Any, Any], Any]] = {
        **{f"R@{k}": lambda p, t, k=k: retrieval_hit_rate(p, t, top_k=k) for k in (1, 5, 10)},
        "map": lambda p, t: retrieval_average_precision(p, t, top_k=10),
        "ndcg": lambda p, t: retrieval_normalized_dcg(p, t, top_k=10),
    }
    return {
        name: np.array([float(metric(p, t)) for p, t in zip(scores, right, strict=True)])
        for name, metric in asked.items()
    }


def measured() -> list[Row]:
    """All of them in this process, each twice, because the first take compiles; its means are compared with ours."""
    clips, captions = vectors()
    expected = ours(captions, clips)
    base = seconds(lambda: ours(captions, clips), 5)
    rows: list[Row] = []
    for depth in (None, DEPTH):
        for library in (ranx, ir_measures, torchmetrics):
            found: list[Found] = []
            taken = seconds(lambda: found.append(library(captions, clips, depth)), 2)  # noqa: B023
            means = [[np.mean(values) for values in one.values()] for one in (found[0], expected)]
            np.testing.assert_allclose(*means, atol=2e-3)
            print(library.__name__, depth, taken, base, file=sys.stderr, flush=True)
            name = library.__name__ + ("" if depth is None else f", best {depth} alone")
            target = 10.0 if depth is None else None
            rows.append(Row(WORK, name, taken / base, target, note=f"{base * 1e3:.0f} ms against {taken * 1e3:.0f} ms"))
    return rows


def rows() -> list[Row]:
    python = interpreter("ranx", "peers")
    if python is None:
        return [Row(WORK, peer, at_least=10.0, note="not installed: make peers") for peer in PEERS]
    return elsewhere(python, "benchmarks.bench_metrics")


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(as_json(measured()))
    else:
        show(rows())
