"""Prefetching: order, bound on held results, and errors."""

from __future__ import annotations

import threading
import time

import pytest

from pytest_audioretrieval.embedding.prefetch import prefetch


def test_results_come_in_order_however_long_each_takes() -> None:
    def slow_first(item: int) -> int:
        time.sleep(0.02 if item % 2 == 0 else 0)
        return item * 10

    assert list(prefetch(slow_first, range(7))) == [0, 10, 20, 30, 40, 50, 60]
    assert list(prefetch(slow_first, [])) == []


def test_two_are_worked_on_at_once() -> None:
    both = threading.Barrier(2, timeout=5)
    assert sorted(prefetch(lambda item: both.wait(), "ab")) == [0, 1]


def test_no_more_is_begun_than_is_held() -> None:
    begun: list[int] = []
    results = prefetch(lambda item: begun.append(item) or item, range(10))  # type: ignore[func-returns-value]
    for taken in range(3):
        assert next(results) == taken
        assert len(begun) <= taken + 2
    results.close()  # type: ignore[attr-defined]
    assert len(begun) <= 4


def test_an_error_is_raised_in_its_turn() -> None:
    results = prefetch(lambda item: 1 // item, [1, 0, 1])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
