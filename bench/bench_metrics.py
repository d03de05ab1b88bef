"""R@1, 5, 10, map@10 and ndcg@10 of Clotho's size, from vectors to a value per query, against other libraries.

    OMP_NUM_THREADS=1 python -m bench.bench_metrics

All get the same vectors (5,225 captions, 1,045 clips, 512 dimensions) and make the same matrix of scores; a library
that takes dictionaries is given them as its documentation builds them. The target is on these rows: all candidates are
ranked by the library itself. Ours are exact ranks besides, with ties and margins.

Two shorter jobs are timed too, without a target: only the ten best of each query, picked by argpartition (enough for
these five metrics and no other; equal scores are then in argpartition's order), and ranx on arrays that numpy has
sorted, which its docstring allows. Nothing that starts from vectors can be faster than the last row, the bare product.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.bench_ranking import CAPTIONS, CLIPS, vectors
from bench.table import Row, as_json, elsewhere, interpreter, seconds, show
from pytest_audioretrieval.metrics import hit_rate, map_at, ndcg, rank

WORK = "metrics of 5,225 queries x 1,045 clips, from vectors"
PEERS = ("ranx", "ir_measures", "torchmetrics")
DEPTH = 10
SHORTER = "; no rank past them, no ties, no margin"
RANX = ["hit_rate@1", "hit_rate@5", "hit_rate@10", "map@10", "ndcg@10"]

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
    columns = best(scores, depth)
    kept = zip(columns.tolist(), np.take_along_axis(scores, columns, axis=1).tolist(), strict=True)
    return {f"q{row}": {names[c]: s for c, s in zip(*pair, strict=True)} for row, pair in enumerate(kept)}


def best(scores: Vectors, depth: int) -> npt.NDArray[np.intp]:
    """Columns of the ``depth`` best of each row, in no order."""
    return np.argpartition(-scores, depth, axis=1)[:, :depth]


def ranx(captions: Vectors, clips: Vectors, depth: int | None = None) -> Found:
    from ranx import Qrels, Run, evaluate

    right, found = Qrels.from_dict(judged()), Run.from_dict(scored(captions, clips, depth))
    return dict(evaluate(right, found, RANX, return_mean=False))


def ranx_arrays(captions: Vectors, clips: Vectors, depth: int | None = None) -> Found:
    """``evaluate`` takes arrays too, of (number, score), best first: then all that is left to it are the sums."""
    from ranx import evaluate

    scores = captions @ clips.T
    columns = np.arange(len(clips))[np.newaxis] if depth is None else best(scores, depth)
    kept = scores if depth is None else np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-kept, axis=1)
    found = np.stack([np.take_along_axis(a, order, axis=1) for a in np.broadcast_arrays(columns, kept)], axis=2)
    right = np.stack([np.arange(len(captions)) // CAPTIONS, np.ones(len(captions))], axis=1)[:, np.newaxis]
    return dict(evaluate(right, found, RANX, return_mean=False))


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
    """All of them in this process, each several times, because the first take compiles; its means are to be ours."""
    clips, captions = vectors()
    expected = ours(captions, clips)
    base = seconds(lambda: ours(captions, clips), 9)

    def row(work: Callable[..., Found], name: str, depth: int | None, target: float | None, what: str) -> Row:
        found: list[Found] = []
        taken = seconds(lambda: found.append(work(captions, clips, depth)), 3)
        means = [[np.mean(values) for values in one.values()] for one in (found[0], expected)]
        np.testing.assert_allclose(*means, atol=2e-3)
        print(name, depth, taken, base, file=sys.stderr, flush=True)
        return Row(WORK, name, taken / base, target, note=f"{base * 1e3:.0f} ms against {taken * 1e3:.0f} ms{what}")

    libraries = (ranx, ir_measures, torchmetrics)
    product = seconds(lambda: captions @ clips.T, 9)
    limit = f"{base * 1e3:.0f} ms against {product * 1e3:.0f} ms; the limit"
    return [
        *(row(one, one.__name__, None, 10.0, "") for one in libraries),
        *(row(one, f"{one.__name__}, {DEPTH} best alone", DEPTH, None, SHORTER) for one in libraries),
        row(ranx_arrays, "ranx, sorted arrays", None, None, "; numpy ranks, not the library"),
        row(ranx_arrays, f"ranx, sorted arrays, {DEPTH} best alone", DEPTH, None, SHORTER),
        Row(WORK, "bare product", product / base, note=limit),
    ]


def rows() -> list[Row]:
    python = interpreter("ranx", "peers")
    if python is None:
        return [Row(WORK, peer, at_least=10.0, note="not installed: make peers") for peer in PEERS]
    return elsewhere(python, "bench.bench_metrics")


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(as_json(measured()))
    else:
        sys.exit(show(rows()))
