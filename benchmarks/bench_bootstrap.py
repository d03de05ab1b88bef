"""Eight endpoints compared jointly, against scipy.stats.bootstrap on cluster indices run eight times, in one process.

    OMP_NUM_THREADS=1 python benchmarks/bench_bootstrap.py

Clotho's size (pinned protocol): 1,045 clips with 5 captions each, 10,000 resamples.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import bootstrap

from pytest_audioretrieval.stats import Endpoint, compare_jointly

CLIPS, CAPTIONS, ENDPOINTS, RESAMPLES, REPEATS = 1_045, 5, 8, 10_000, 5


def endpoints(seed: int = 0) -> list[Endpoint]:
    """Hits of which a tenth flips, more of them lost than gained."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(ENDPOINTS):
        old = rng.random(CLIPS * CAPTIONS) < 0.6
        new = old ^ (rng.random(CLIPS * CAPTIONS) < 0.1)
        made.append(Endpoint(f"endpoint {number}", new, old, margin=0.03))
    return made


def ours(made: list[Endpoint], cluster: list[str]) -> None:
    compare_jointly(made, cluster, resamples=RESAMPLES)


def scipys(made: list[Endpoint], cluster: list[str]) -> None:
    codes = np.unique(cluster, return_inverse=True)[1]
    sizes = np.bincount(codes)
    for endpoint in made:
        sums = np.bincount(codes, np.asarray(endpoint.new, float) - np.asarray(endpoint.baseline, float))
        bootstrap(
            (np.arange(CLIPS),),
            lambda index, axis, sums=sums: sums[index].sum(axis=axis) / sizes[index].sum(axis=axis),
            n_resamples=RESAMPLES,
            confidence_level=0.9,
            method="percentile",
            batch=200,
            rng=np.random.default_rng(0),
        )


def seconds(work: Callable[[], Any]) -> float:
    """CPU time, the best of several runs: what is left when nothing else disturbs."""
    times = []
    for _ in range(REPEATS):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def main() -> None:
    made = endpoints()
    cluster = [f"clip {i}" for i in range(CLIPS) for _ in range(CAPTIONS)]
    base = seconds(lambda: scipys(made, cluster))
    taken = seconds(lambda: ours(made, cluster))
    print(f"{ENDPOINTS} endpoints, {CLIPS} clips x {CAPTIONS} captions, {RESAMPLES} resamples")
    print(f"  {'scipy.stats.bootstrap x 8':28}{base * 1e3:8.0f} ms   1.00")
    print(f"  {'compare_jointly':28}{taken * 1e3:8.0f} ms   {taken / base:.3f}")


if __name__ == "__main__":
    main()
