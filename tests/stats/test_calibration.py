"""Tests of the hardest cells of the calibration grid with few trials; `make calibrate` runs them all."""

from __future__ import annotations

import csv
import importlib.util
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from pytest_audioretrieval.stats import compare

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CELL = ["outcome", "clusters", "queries", "margin", "gain", "rho"]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


simulation = load("simulation")
report = load("calibration_report")
calibrate = load("calibrate")
Cell = simulation.Cell

TRIALS = 600
#: What the plain percentile, one lost query or the worst cluster seen got wrong most, of each outcome and size.
HARDEST = [
    Cell("binary", 50, "1", 0.005, 0.0, 0.0),
    Cell("binary", 50, "1", 0.03, 0.01, 0.0),
    Cell("binary", 50, "5", 0.03, 0.0, 0.7),
    Cell("binary", 200, "1", 0.03, 0.0, 0.0),
    Cell("binary", 200, "unequal", 0.01, 0.0, 0.7),
    Cell("binary", 957, "unequal", 0.01, 0.0, 0.7),
    Cell("ap", 50, "unequal", 0.01, 0.01, 0.7),
    Cell("ap", 200, "1", 0.005, 0.0, 0.0),
    Cell("ap", 200, "unequal", 0.01, 0.01, 0.7),
    Cell("rank", 50, "unequal", 0.1, 0.0, 0.7),
    Cell("rank", 200, "1", 0.03, 0.0, 0.0),
    Cell("rank", 957, "5", 0.03, 0.01, 0.7),
    Cell("margin", 50, "5", 0.01, 0.0, 0.7),
    Cell("margin", 200, "5", 0.03, 0.0, 0.3),
    Cell("margin", 957, "1", 0.03, 0.01, 0.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", HARDEST, ids=lambda cell: "-".join(str(part) for part in asdict(cell).values()))
def test_a_loss_as_large_as_the_margin_is_rarely_certified(cell):
    tally = simulation.run(cell, TRIALS)
    assert not report.beyond(cell, tally, TRIALS), tally
    assert tally.plain > tally.certified, "the plain percentile does no worse: not one of the hardest cells"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "least", "most"), [(None, 3, 8 + 3 * (8 * 92 / TRIALS) ** 0.5), ((0, simulation.OCTAVES), 0, 0.5)]
)
def test_compare_on_ranks_with_and_without_the_octaves_of_the_pool(bounds, least, most):
    """Outcomes are 0 except those that moved, so few octaves are seen, while the grid has all of them."""
    cell = Cell("rank", 50, "1", 0.03, 0.01, 0.0)
    drawn = simulation.differences(cell, np.ones(50, dtype=np.int64), TRIALS, np.random.default_rng(0))
    wrong = 0
    for seed, d in enumerate(drawn):
        new, old = np.maximum(-d, 0), np.maximum(d, 0)
        settings = {"margin": 0.03, "higher_is_better": False, "bounds": bounds, "resamples": 1_000, "seed": seed}
        found = compare(new, old, range(50), **settings)
        wrong += found.changed > 0 and found.low > -0.03
    assert least <= 100 * wrong / TRIALS <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "least"),
    [
        (Cell("binary", 957, "1", 0.03, 0.025, 0.0, 0.0), 95),
        (Cell("binary", 1045, "5", 0.01, 0.01, 0.3, 0.0), 88),
        (Cell("symmetric", 957, "1", 0.005, 0.0, 0.0, 0.0), 60),
    ],
)
def test_no_difference_is_certified(cell, least):
    """Without this test a method that certifies nothing would pass."""
    tally = simulation.run(cell, TRIALS)
    assert tally.certified > least
    assert tally.lost <= 5 + 3 * (5 * 95 / TRIALS) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("margin", "regressed"), [(0.03, 90), (0.01, 99)])
def test_a_three_point_drop_on_957_clips_is_reported(margin, regressed):
    tally = simulation.run(Cell("binary", 957, "1", margin, 0.01, 0.0, 0.03), TRIALS)
    assert tally.regressed > regressed
    assert tally.certified <= 6.5 + 3 * (6.5 * 93.5 / TRIALS) ** 0.5
    if margin == 0.01:
        assert tally.equivalent == 0


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.7])
@pytest.mark.parametrize(
    "cell",
    [
        Cell("binary", 400, "3", 0.03, 0.05, 0.0),
        Cell("ap", 400, "3", 0.03, 0.05, 0.0),
        Cell("rank", 400, "3", 0.03, 0.05, 0.0),
        Cell("margin", 400, "3", 0.03, 0.2, 0.0),
        Cell("exponential", 400, "3", 0.03, 0.0, 0.0),
        Cell("lognormal", 400, "3", 0.03, 0.0, 0.0),
        Cell("symmetric", 400, "3", 0.03, 0.0, 0.0),
    ],
    ids=lambda cell: cell.outcome,
)
def test_simulated_runs_have_the_difference_and_correlation_they_claim(cell, rho):
    cell = Cell(cell.outcome, cell.clusters, cell.queries, cell.margin, cell.gain, rho)
    drawn = simulation.differences(cell, np.full(400, 3), 200, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(-0.03, abs=4 * drawn.mean(axis=1).std() / 200**0.5)
    ranked = drawn.argsort(axis=None).argsort().reshape(-1, 3)  # ranks, so that no tail decides
    if cell.outcome in ("binary", "ap", "rank"):
        ranked = (drawn < 0).reshape(-1, 3)
    assert np.corrcoef(ranked[:, 0], ranked[:, 1])[0, 1] == pytest.approx(rho, abs=0.03)


def test_a_second_run_goes_on_where_the_first_stopped(monkeypatch, tmp_path, capsys):
    cells = [Cell("binary", 50, "1", 0.03, 0.0, 0.0), Cell("ap", 50, "3", 0.01, 0.01, 0.3)]
    page = tmp_path / "calibration.md"
    page.write_text(f"before\n{calibrate.BEGIN}\nold\n{calibrate.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(calibrate, "PAGE", page)
    monkeypatch.setattr(calibrate, "CSV", tmp_path / "calibration.csv")
    monkeypatch.setattr(calibrate, "tables", lambda results, trials: f"{len(results)} cells of {trials} trials")
    done = []
    monkeypatch.setattr(calibrate, "run", lambda cell, trials: done.append(cell) or simulation.run(cell, trials))
    command = ["--trials", "100", "--work", str(tmp_path / "work")]
    for known in (1, 2):
        monkeypatch.setattr(calibrate, "grid", lambda known=known: iter(cells[:known]))
        assert calibrate.main(command) == 0
    assert done == cells
    assert page.read_text(encoding="utf-8") == (
        f"before\n{calibrate.BEGIN}\n\n2 cells of 100 trials\n{calibrate.END}\nafter\n"
    )
    with (tmp_path / "calibration.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["outcome"] for row in csv.DictReader(stream)] == ["binary", "ap"]
    assert capsys.readouterr().out.endswith("2 cells, 0 beyond their limits\n")


def test_committed_grid_is_whole_and_within_its_limits():
    with (ROOT / "docs/explanation/calibration.csv").open(encoding="utf-8", newline="") as stream:
        rows = {tuple(row[name] for name in CELL): row for row in csv.DictReader(stream)}
    cells = [cell for cell in simulation.grid() if cell.outcome in report.HELD]
    assert len(cells) == 4 * 4 * 10 * 3 * 4
    for cell in cells:
        row = rows[tuple(str(asdict(cell)[name]) for name in CELL)]
        tally = simulation.Tally(**{name: float(row[name]) for name in asdict(simulation.Tally(*[0.0] * 9))})
        assert not report.beyond(cell, tally, 2_000), cell
