"""The table of benchmarks: which rows meet their target, what fails a run of them, and the exponent of costs."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bench.__main__ as command
from bench import bench_scale, table
from bench.bench_scale import Cost, exponent, page
from bench.table import Row, show

MET = Row("fast", "a peer", 10.0, at_least=10.0)
MISSED = Row("slow", "another", 9.99, at_least=10.0)
ABSENT = Row("asked", "a third", at_least=3.0, note="not installed: make peers")


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (MET, "yes"),
        (MISSED, "NO"),
        (Row("a", "b", float(np.nextafter(10, 0)), at_least=10.0), "NO"),
        (Row("a", "b", 1.3, at_most=1.3), "yes"),
        (Row("a", "b", float(np.nextafter(1.3, 2)), at_most=1.3), "NO"),
        (Row("a", "b", 1.1, at_least=1.0, at_most=1.2), "yes"),
        (Row("a", "b", 0.9, at_least=1.0, at_most=1.2), "NO"),
        (Row("a", "b", 1.3, at_least=1.0, at_most=1.2), "NO"),
        (Row("a", "b", float("nan"), at_least=1.0), "NO"),
        (Row("a", "b", 0.0, at_least=0.0), "yes"),
        (ABSENT, "not measured"),
        (Row("a", "b", 2.0), ""),
    ],
)
def test_met(row: Row, met: str) -> None:
    assert row.met == met


@pytest.mark.parametrize(
    ("row", "target"),
    [(MET, "at least 10"), (Row("a", "b", 1.0, at_most=1.15), "at most 1.15"), (Row("a", "b", 1.0), "")],
)
def test_target(row: Row, target: str) -> None:
    assert row.target == target


def test_the_table_says_what_was_measured_and_on_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert show(iter([MET, ABSENT, Row("plain", "nothing", 123.456)])) == 0
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert [cells for cells in lines if cells] == [
        ["fast", "a peer", "10", "at least 10", "yes", ""],
        ["asked", "a third", "", "at least 3", "not measured", "not installed: make peers"],
        ["plain", "nothing", "123", "", "", ""],
    ]


def test_the_table_names_the_machine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    show([MET])
    assert table.machine() in " ".join(capsys.readouterr().out.split())
    assert f"threads 1, Python {platform.python_version()}, numpy {np.__version__}, " in table.machine()


@pytest.mark.parametrize(
    ("rows", "status"),
    [([], 0), ([MET], 0), ([MET, MISSED], 1), ([table.failed("bench", ValueError("no"))], 1), ([ABSENT], 0)],
)
def test_the_status_is_1_where_a_target_is_missed_or_a_script_failed(rows: list[Row], status: int) -> None:
    assert show(rows) == status


def script(monkeypatch: pytest.MonkeyPatch, name: str, **holds: Any) -> None:
    module = ModuleType(f"bench.bench_{name}")
    module.__dict__.update(holds)
    monkeypatch.setitem(sys.modules, module.__name__, module)


def broken() -> list[Row]:
    raise RuntimeError("no clips here")


def test_a_script_that_fails_is_a_row_and_hides_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "first", rows=broken)
    script(monkeypatch, "second", rows=lambda: [MET])
    script(monkeypatch, "ranks_alone")
    assert command.main(["first", "absent", "second", "ranks_alone"]) == 1
    said = capsys.readouterr()
    assert said.err.splitlines() == ["== first", "== absent", "== second", "== ranks_alone"]
    assert "failed: RuntimeError: no clips here" in said.out
    assert "failed: ModuleNotFoundError: No module named 'bench.bench_absent'" in said.out
    assert "at least 10 │ yes" in said.out
    assert command.main(["second", "ranks_alone"]) == 0


def test_all_scripts_are_run_unless_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(command, "measured", lambda name: ran.append(name) or [])
    assert command.main([]) == 0
    assert ran == sorted(path.stem[6:] for path in Path(table.__file__).parent.glob("bench_*.py"))
    assert {"metrics", "scale", "ranking", "uiq"} <= set(ran)


def test_where_a_module_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "ROOT", tmp_path)
    assert table.interpreter("json", "peers") == sys.executable
    assert table.interpreter("no_such_module", "peers") is None
    made = tmp_path / ".venv-peers/bin/python"
    made.parent.mkdir(parents=True)
    made.touch()
    assert table.interpreter("no_such_module", "peers") == str(made)
    monkeypatch.setenv("BENCH_PEERS_PYTHON", str(tmp_path / "elsewhere"))
    assert table.interpreter("no_such_module", "peers") is None


def test_the_least_of_several_takes_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr(table, "process_time", lambda: next(clock))
    assert table.seconds(lambda: None) == 2.0


@pytest.mark.parametrize("rows", [[], [MET, ABSENT]])
def test_rows_come_from_another_environment(monkeypatch: pytest.MonkeyPatch, rows: list[Row]) -> None:
    done = SimpleNamespace(returncode=0, stdout=f"warming up\n{table.as_json(rows)}\n", stderr="")
    monkeypatch.setattr(table, "run", lambda *_, **__: done)
    assert table.elsewhere("python", "module") == rows


def test_another_environment_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    done = SimpleNamespace(returncode=3, stdout="", stderr="ImportError: ranx")
    monkeypatch.setattr(table, "run", lambda *_, **__: done)
    with pytest.raises(RuntimeError, match="module in python failed:\nImportError: ranx"):
        table.elsewhere("python", "module")


def costs(time: float, memory: float) -> list[Cost]:
    return [Cost(n, 3e-6 * n**time, 2e-6 * n**time, 50 * n**memory) for n in (1_000, 10_000, 100_000)]


@pytest.mark.parametrize(("time", "memory"), [(1.0, 0.5), (1.25, 0.0), (0.5, 1.0)])
def test_the_exponent_of_costs_that_follow_a_power_is_that_power(time: float, memory: float) -> None:
    made = costs(time, memory)
    assert exponent(made, "seconds") == pytest.approx(time)
    assert exponent(made, "megabytes") == pytest.approx(memory, abs=1e-12)
    said = page(made)
    assert f"time {time:.2f} over all sizes, {time:.2f} from 10,000 clips on" in said
    assert f"memory {abs(memory):.2f}." in said.replace("-0.00", "0.00")


def test_a_cost_of_scale_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same code on tiny sizes, in this process."""
    for name, value in {"SIZES": {40: 2, 90: 1}, "QUERIES": 12, "STEP": 25, "DIMS": 8}.items():
        monkeypatch.setattr(bench_scale, name, value)
    path = tmp_path / "clips.npy"
    bench_scale.write(path)
    stored = np.load(path)
    assert stored.shape == (90, 8)
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 1, rtol=1e-6)
    for kind in ("ours", "bare"):
        assert bench_scale.main([kind, str(path), "90"]) == 0
        taken, megabytes = json.loads(capsys.readouterr().out)
        assert 0 <= taken < 10
        assert 10 < megabytes < 100_000


def test_costs_are_written_and_plotted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib comes with make peers, which runs this")
    monkeypatch.setattr(bench_scale, "PAGE", tmp_path / "scale.md")
    monkeypatch.setattr(bench_scale, "measured", lambda: costs(1.0, 0.5))
    picture = tmp_path / "pictures/scale.svg"
    picture.parent.mkdir()
    # 50 * 100,000 ** 0.5 MB are more than the 2 GB allowed.
    assert bench_scale.main(["--plot", str(picture)]) == 1
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.count("clips ** 1.00") == drawn.count("clips ** 0.50") == 1
    written = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert "| 100,000 | 0.30 s | 0.20 s | 1.50 | 15,811 MB |" in written
    assert "](pictures/scale.svg)" in written
    assert "peak 15,811 MB" in capsys.readouterr().out
    bench_scale.plot(costs(1.0, 0.5), tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
