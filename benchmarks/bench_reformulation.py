"""All of CORA's quantities against the least a script would do: two matrix products, each argsorted.

    OMP_NUM_THREADS=1 python benchmarks/bench_reformulation.py

CORA's own size (section 4.1, Table 1): 3,305 items in 5 forms, 3,367 candidates; then 100,000 candidates, whose
matrix of scores nobody can hold. Each figure is of a process of its own, inputs and imports included.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

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
    """Print the best time of several runs, in seconds, and the most memory the process ever held, in MB."""
    work, times = {"ours": ours, "bare": bare}[name](pool), []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    print(min(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


def measured(name: str, pool: int, repeats: int) -> tuple[float, float]:
    command = [sys.executable, __file__, name, str(pool), str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken, memory = map(float, done.stdout.split())
    return taken, memory


def main() -> None:
    print(f"{ITEMS} sources x {FORMS} forms, {POOL} candidates, {DIMS} dimensions")
    base, memory = measured("bare", POOL, REPEATS)
    print(f"  {'2 products + 2 argsorts':28}{base:8.2f} s   {memory:6.0f} MB   1.00")
    taken, memory = measured("ours", POOL, REPEATS)
    print(f"  {'reformulation':28}{taken:8.2f} s   {memory:6.0f} MB   {taken / base:.2f}")
    taken, memory = measured("ours", LARGE_POOL, 1)
    print(f"  {f'{LARGE_POOL} candidates':28}{taken:8.2f} s   {memory:6.0f} MB")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
