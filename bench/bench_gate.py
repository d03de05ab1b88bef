"""What the plugin adds to pytest, and what a gate costs cold and warm.

Each figure is a ratio to a reference taken in the same run: bare pytest on one trivial test. Of repeated takes the
smallest counts, because noise only ever adds; the cold gate is taken once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.table import Row, own_threads, processor_seconds, show
from pytest_audioretrieval import load_dataset

MODEL = "builtin/tiny-clap-fused"
PYTEST = [sys.executable, "-m", "pytest", "-q"]
#: Other plugins that may be installed are left out on both sides.
OTHERS = ["-p", "no:hypothesispytest", "-p", "no:benchmark", "-p", "no:xdist", "-p", "no:anyio"]
ROUNDS = 15
#: As after an installation: compiled modules are kept.
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
IMPORTED = """
import sys, pytest
code = pytest.main({arguments!r})
print("imported:", *(m for m in ("numpy", "scipy", "scipy.stats", "torch", "transformers") if m in sys.modules))
sys.exit(code)
"""


def seconds(command: list[str], folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=COMPILED)
    return time.perf_counter() - started


def plugin_load(folder: Path) -> Row:
    """``pytest --collect-only`` on one trivial test, with and without the plugin."""
    (folder / "test_trivial.py").write_text("def test_nothing():\n    pass\n")
    bare = [*PYTEST, "--collect-only", *OTHERS, "-p", "no:audioretrieval"]
    ours = [*PYTEST, "--collect-only", *OTHERS]
    pairs = [
        (processor_seconds(bare, folder, COMPILED), processor_seconds(ours, folder, COMPILED)) for _ in range(ROUNDS)
    ]
    without, with_plugin = (min(column) for column in zip(*pairs, strict=True))
    added = (with_plugin - without) * 1000
    loaded = imported(["--collect-only", "-q", *OTHERS], folder)
    note = f"{added:+.1f} ms on {without * 1000:.0f} ms; {loaded}"
    return Row("plugin load", "bare pytest", with_plugin / without, note=note)


def gate(folder: Path) -> list[Row]:
    """The gate of the built-in checkpoint, cold once, then warm in alternation with bare pytest."""
    (folder / "test_trivial.py").write_text("def test_nothing():\n    pass\n")
    bare = [*PYTEST, *OTHERS, "-p", "no:audioretrieval"]
    command = [*PYTEST, "--model", MODEL]
    cold = seconds(command, folder)
    pairs = [(seconds(bare, folder), seconds(command, folder)) for _ in range(3)]
    reference, warm = (min(column) for column in zip(*pairs, strict=True))
    clips = len(load_dataset("sounds").clips)
    note = f"{warm:.2f} s against {reference:.2f} s; {imported(['-q', '--model', MODEL], folder)}"
    return [
        Row(
            "cold gate", "warm gate", cold / warm, note=f"{cold:.1f} s, {cold / clips:.3f} s for each of {clips} clips"
        ),
        Row("warm gate", "bare pytest", warm / reference, note=note),
    ]


def at_once(folder: Path) -> Row:
    """Two cold gates that share a cache, as of two workers or two jobs, each with the threads its libraries take."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    gate = [*PYTEST, "--model", MODEL, "--retrieval-cache"]

    def clock(processes: int) -> float:
        started = time.perf_counter()
        command = [*gate, f"cache{processes}"]
        running = [
            subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=own_threads(COMPILED))
            for _ in range(processes)
        ]
        codes = [process.wait() for process in running]
        if any(codes):
            raise RuntimeError(f"{' '.join(command)} failed")
        return time.perf_counter() - started

    one, two = clock(1), clock(2)
    return Row("two cold gates at once, own threads", "one", one / two, note=f"{two:.1f} s against {one:.1f} s")


def imported(arguments: list[str], folder: Path) -> str:
    code = IMPORTED.format(arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True, env=COMPILED
    )
    return done.stdout.strip().splitlines()[-1]


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / part for part in ("load", "gate", "once")]
        for folder in folders:
            folder.mkdir()
        return [plugin_load(folders[0]), *gate(folders[1]), at_once(folders[2])]


if __name__ == "__main__":
    sys.exit(show(rows()))
