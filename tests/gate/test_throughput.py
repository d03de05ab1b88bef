"""What is judged of a checkpoint's speed, by figures made up; and the packaged suite's own, by reading them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.errors import BaselineError, SpecError
from pytest_audioretrieval.gate import throughput
from pytest_audioretrieval.gate.throughput import Cost
from pytest_audioretrieval.plugin.throughput_needs import NO_BENCHMARK


def figure(cost: float, device: str = "cpu") -> Cost:
    return Cost(device=device, protocol="short-clip", cost=cost)


def test_cost_is_the_least_time_of_an_item_over_the_least_of_the_reference() -> None:
    assert throughput.cost([8.0, 4.0, 6.0], [0.5, 0.25], 8) == 2.0


def test_a_machine_half_as_fast_changes_nothing() -> None:
    assert throughput.cost([4.0], [0.25], 8) == throughput.cost([8.0], [0.5], 8)


def test_a_cpu_is_timed_with_one_thread_and_left_as_it_was() -> None:
    """Of two threads that spin, the cost of one checkpoint went from 0.6 to 1.5 with the load of the machine."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with throughput.one_thread("cuda"):
            assert torch.get_num_threads() == 2
        with throughput.one_thread("cpu"):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_it_is_told_in_units_of_the_reference_and_of_what_is_stored() -> None:
    assert throughput.compared(figure(5.0), figure(2.0), "stored.json") == (
        "takes 5 of the reference workload, 2.50 times the 2 in stored.json"
    )


def test_another_device_is_not_compared() -> None:
    with pytest.raises(BaselineError, match=r"its device is cuda, this run's is cpu: record it anew"):
        throughput.compared(figure(1.0), figure(1.0, "cuda"), "stored.json")


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "stored.json"
    path.write_text(throughput.encode(figure(0.123456)))
    assert throughput.read(path) == figure(0.1235)
    for damaged in ("{}", '{"device": "cpu", "protocol": "short-clip", "cost": 0}'):
        path.write_text(damaged)
        with pytest.raises(BaselineError, match="holds no cost"):
            throughput.read(path)


@pytest.mark.parametrize(
    ("items", "what"), [(0, "clip"), (-1, "clip"), (1, "../../clip"), (1, ""), (1, "a/b"), (1, "a\n"), (1, None)]
)
def test_what_gives_no_figure_is_refused(items: int, what: Any) -> None:
    with pytest.raises(SpecError, match=r"^(items|what) is .*, expected"):
        throughput.check(items, what)
    throughput.check(8, "own_clip-2")
    throughput.check(np.int64(8), "clip")


def test_the_packaged_figures_are_read() -> None:
    for what in ("clip", "query"):
        path = shipped("baselines") / throughput.FOLDER / what / "builtin--tiny-clap-fused.json"
        assert throughput.read(path).device == "cpu"


NOT_INSTALLED = """
import sys
sys.modules["pytest_benchmark"] = None
"""


@pytest.mark.slow
def test_the_suite_is_skipped_and_says_that_it_needs_pytest_benchmark(pytester: pytest.Pytester) -> None:
    """It is skipped before the model is loaded, which here would fail."""
    pytester.makeconftest(NOT_INSTALLED)
    arguments = ("-p", "no:benchmark", "-p", "no:cacheprovider", "-rs", "--retrieval-suite", "throughput")
    done = pytester.runpytest_subprocess(*arguments, "--model", "no_such_module:make")
    done.stdout.fnmatch_lines([f"SKIPPED *: {NO_BENCHMARK}".replace("[", "[[]")])
    assert (done.ret, done.parseoutcomes()) == (0, {"skipped": 2})
