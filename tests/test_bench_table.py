"""The table of benchmarks: which rows meet their target, and the exponent of costs."""

from __future__ import annotations

import pytest

from benchmarks.bench_scale import Cost, exponent, page
from benchmarks.table import Row


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row("a", "b", 10.0, at_least=10.0), "yes"),
        (Row("a", "b", 9.9, at_least=10.0), "NO"),
        (Row("a", "b", 1.3, at_most=1.3), "yes"),
        (Row("a", "b", 1.31, at_most=1.3), "NO"),
        (Row("a", "b", None, at_least=3.0, note="not installed"), "not measured"),
        (Row("a", "b", 2.0), ""),
    ],
)
def test_met(row: Row, met: str) -> None:
    assert row.met == met


def test_the_exponent_of_costs_that_follow_a_power_is_that_power() -> None:
    costs = [Cost(n, 3e-6 * n**1.25, 1.0, 50 * n**0.5) for n in (1_000, 10_000, 100_000)]
    assert exponent(costs, "seconds") == pytest.approx(1.25)
    assert exponent(costs, "megabytes") == pytest.approx(0.5)
    assert "time 1.25 over all sizes, 1.25 from 10,000 clips on" in page(costs)
