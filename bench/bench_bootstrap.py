"""Eight endpoints compared jointly, against scipy.stats.bootstrap on cluster indices run eight times, in one process.

    OMP_NUM_THREADS=1 python -m bench.bench_bootstrap

Clotho's size (pinned protocol): 1,045 clips with 5 captions each, 10,000 resamples.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import bootstrap as scipy_bootstrap

from bench.table import Row, seconds, show
from pytest_audioretrieval.stats import Endpoint, bootstrap, compare_jointly

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
    bootstrap._kept_weights.cache_clear()  # as in a run's first test
    compare_jointly(made, cluster, resamples=RESAMPLES)


def scipys(made: list[Endpoint], cluster: list[str]) -> None:
    codes = np.unique(cluster, return_inverse=True)[1]
    sizes = np.bincount(codes)
    for endpoint in made:
        sums = np.bincount(codes, np.asarray(endpoint.new, float) - np.asarray(endpoint.baseline, float))
        scipy_bootstrap(
            (np.arange(CLIPS),),
            lambda index, axis, sums=sums: sums[index].sum(axis=axis) / sizes[index].sum(axis=axis),
            n_resamples=RESAMPLES,
            confidence_level=0.9,
            method="percentile",
            batch=200,
            rng=np.random.default_rng(0),
        )


def rows() -> list[Row]:
    made = endpoints()
    cluster = [f"clip {i}" for i in range(CLIPS) for _ in range(CAPTIONS)]
    base = seconds(lambda: scipys(made, cluster), REPEATS)
    taken = seconds(lambda: ours(made, cluster), REPEATS)
    work = f"{RESAMPLES:,} clustered resamples, {ENDPOINTS} endpoints, jointly"
    note = f"{taken * 1e3:.0f} ms against {base * 1e3:.0f} ms"
    return [Row(work, f"scipy.stats.bootstrap x {ENDPOINTS}", base / taken, at_least=5.0, note=note)]


if __name__ == "__main__":
    sys.exit(show(rows()))
