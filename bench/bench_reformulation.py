"""All of CORA's quantities against the least a script would do: two matrix products, each argsorted.

    OMP_NUM_THREADS=1 python -m bench.bench_reformulation

CORA's own size (section 4.1, Table 1): 3,305 items in 5 forms, 3,367 candidates; then 100,000 candidates, whose
matrix of scores nobody can hold. Each figure is of a process of its own, inputs and imports included.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.table import ROOT, Row, show
from pytest_audioretrieval.metrics import reformulation

ITEMS, FORMS, DIMS, REPEATS = 3_305, 5, 512, 3
POOL, LARGE_POOL = 3_367, 100_000

Vectors = npt.NDArray[np.float32]


def near(rows: Vectors, noise: float, rng: np.random.Generator) -> Vectors:
    """Unit vectors about as far from ``rows``, which are unit, as ``noise`` says."""
    moved = rng.standard_normal(rows.shape, dtype=np.float32)
    moved *= np.float32(noise / DIMS**0.5)
    moved += rows
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved


def task(pool: int) -> tuple[Vectors, Vectors, Vectors, npt.NDArray[np.int64]]:
    """Source, reformulated, candidates and target: a source finds its target about half of the time."""
    rng = np.random.default_rng(0)
    candidates = near(np.zeros((pool, DIMS), np.float32), 1, rng)
    source = np.repeat(near(candidates[:ITEMS], 6, rng), FORMS, axis=0)
    return source, near(source, 0.5, rng), candidates, np.repeat(np.arange(ITEMS), FORMS)


def ours(pool: int) -> Any:
    inputs = task(pool)
    return lambda: reformulation(*inputs)


def bare(pool: int) -> Any:
    source, reformulated, candidates, _ = task(pool)
    return lambda: [np.argsort(-(side @ candidates.T), axis=1) for side in (source[::FORMS], reformulated)]


def measure(name: str, pool: int, repeats: int) -> None:
    """Print the best processor time of several runs, in seconds, and the most memory the process ever held, in MB."""
    work, times = {"ours": ours, "bare": bare}[name](pool), []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    print(min(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


def measured(name: str, pool: int, repeats: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "bench.bench_reformulation", name, str(pool), str(repeats)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    taken, memory = map(float, done.stdout.split())
    return taken, memory


def rows() -> list[Row]:
    base, _ = measured("bare", POOL, REPEATS)
    taken, memory = measured("ours", POOL, REPEATS)
    large, most = measured("ours", LARGE_POOL, 1)
    work = f"reformulation, {ITEMS:,} x {FORMS} among"
    note = f"{taken:.2f} s against {base:.2f} s, {memory:.0f} MB"
    return [
        Row(f"{work} {POOL:,}", "2 products + 2 argsorts", base / taken, note=note),
        Row(f"{work} {LARGE_POOL:,}", f"{POOL:,}", taken / large, note=f"{large:.2f} s, {most:.0f} MB"),
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(show(rows()))
