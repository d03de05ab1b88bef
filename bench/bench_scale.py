"""Exact ranks of 5,000 queries among up to 1,000,000 clips, memory-mapped, against the bare blocked product.

    OMP_NUM_THREADS=1 python -m bench.bench_scale [--plot FILE]

Writes ``docs/explanation/scale.md``: time and memory at four sizes, with the exponent that fits. Each figure is of a
process of its own, of which peak memory is asked, pages of the mapped file included. Needs 2 GB in the folder for
temporary files.
``--plot`` draws them too; it needs matplotlib, which ``make peers`` has: ``.venv-peers/bin/python`` runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import numpy.typing as npt

from bench.table import ROOT, Row, machine, show
from pytest_audioretrieval.metrics import first_hit_rank
from pytest_audioretrieval.metrics.scores import CANDIDATE_BLOCK, QUERY_BLOCK, slices

QUERIES, DIMS = 5_000, 512
#: Clips, and takes of which the least counts.
SIZES = {1_000: 5, 10_000: 3, 100_000: 2, 1_000_000: 1}
STEP = 10_000
PAGE = ROOT / "docs/explanation/scale.md"

Vectors = npt.NDArray[np.float32]

HEAD = """# Costs at scale

Written by `OMP_NUM_THREADS=1 python -m bench.bench_scale` on {machine}: exact ranks (`metrics.first_hit_rank`) of
{queries:,} queries, {dims} dimensions, clips memory-mapped from a `.npy` of float32. Processor time; the ratio is to a
bare matrix product of the same blocks and threads, in the same run; memory is the most the process ever held, mapped
pages, interpreter and libraries included.

| clips | ranks | bare product | ratio | peak memory |
| ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True)
class Cost:
    clips: int
    seconds: float
    bare: float
    megabytes: float


def unit(rows: int, rng: np.random.Generator) -> Vectors:
    made = rng.standard_normal((rows, DIMS), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def write(path: Path) -> None:
    """The clips of the largest size; a smaller one is its first rows."""
    rng = np.random.default_rng(0)
    stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(max(SIZES), DIMS))
    for part in slices(len(stored), STEP):
        stored[part] = unit(part.stop - part.start, rng)
    stored.flush()


def queries(clips: Vectors) -> Vectors:
    """Each near one of the first clips, some found first and some far down."""
    asked = np.array(clips[: min(SIZES)])[np.arange(QUERIES) % min(SIZES)]
    asked += unit(QUERIES, np.random.default_rng(1)) * np.linspace(1, 8, QUERIES, dtype=np.float32)[:, np.newaxis]
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    return asked


def ours(asked: Vectors, clips: Vectors) -> None:
    first_hit_rank(asked, clips, [[row % min(SIZES)] for row in range(QUERIES)])


def bare(asked: Vectors, clips: Vectors) -> None:
    plain = clips.view(np.ndarray)
    for columns in slices(len(plain), CANDIDATE_BLOCK):
        right = plain[columns].T
        for rows in slices(QUERIES, QUERY_BLOCK):
            asked[rows] @ right


def one(kind: str, path: str, clips: int) -> None:
    """In a process of its own: print processor time and peak memory in MB."""
    mapped = np.load(path, mmap_mode="r")[:clips]
    asked, takes = queries(mapped), []
    for _ in range(SIZES[clips]):
        started = process_time()
        (ours if kind == "ours" else bare)(asked, mapped)
        takes.append(process_time() - started)
    print(json.dumps([min(takes), peak()]))


def peak() -> float:
    """The most memory this process ever held, in MB; ``getrusage`` would count what its parent held before it began."""
    status = Path("/proc/self/status").read_text()
    return float(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def measured() -> list[Cost]:
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clips.npy"
        write(path)
        for clips in SIZES:
            found = {}
            for kind in ("bare", "ours"):
                command = [sys.executable, "-m", "bench.bench_scale", kind, str(path), str(clips)]
                environment = {**os.environ, "PYTHONPATH": str(ROOT)}
                done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
                found[kind] = json.loads(done.stdout)
            costs.append(Cost(clips, found["ours"][0], found["bare"][0], found["ours"][1]))
            print(costs[-1], file=sys.stderr, flush=True)
    return costs


def exponent(costs: list[Cost], name: str) -> float:
    """b of the fit ``cost = a * clips ** b``, by least squares on logarithms."""
    logs = [np.log([getattr(cost, column) for cost in costs]) for column in ("clips", name)]
    return float(np.polyfit(*logs, 1)[0])


def page(costs: list[Cost]) -> str:
    lines = [
        f"| {c.clips:,} | {c.seconds:.2f} s | {c.bare:.2f} s | {c.seconds / c.bare:.2f} | {c.megabytes:,.0f} MB |\n"
        for c in costs
    ]
    time, large, memory = exponent(costs, "seconds"), exponent(costs[1:], "seconds"), exponent(costs, "megabytes")
    fit = (
        f"\nFitted exponent: time {time:.2f} over all sizes, {large:.2f} from {costs[1].clips:,} clips on (below, "
        f"what a query costs by itself weighs in); memory {memory:.2f}.\n"
    )
    return HEAD.format(machine=machine(), queries=QUERIES, dims=DIMS) + "".join(lines) + fit


def plot(costs: list[Cost], path: Path) -> None:
    """Time and memory over clips, both axes logarithmic, with the power that fits."""
    from matplotlib.figure import Figure  # type: ignore[import-not-found]

    figure = Figure(figsize=(9, 4))
    clips = np.array([cost.clips for cost in costs])
    for place, name, label in ((1, "seconds", "processor time, s"), (2, "megabytes", "peak memory, MB")):
        values, power = np.array([getattr(cost, name) for cost in costs]), exponent(costs, name)
        # The fit goes through the mean of the logarithms.
        fitted = clips**power * np.exp(np.log(values / clips**power).mean())
        axis = figure.add_subplot(1, 2, place)
        axis.loglog(clips, values, "o", label="measured")
        axis.loglog(clips, fitted, "--", label=f"clips ** {power:.2f}")
        axis.set(xlabel="clips", ylabel=label, ylim=(values.min() / 2, values.max() * 2))
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def table_rows(costs: list[Cost]) -> list[Row]:
    last = costs[-1]
    work = f"exact ranks, {QUERIES:,} x {last.clips:,}, D = {DIMS}, memory-mapped"
    return [
        Row(
            work, "bare product", last.seconds / last.bare, at_most=1.3, note=f"{last.seconds:.0f} s, {last.bare:.0f} s"
        ),
        Row(work, "2 GB", last.megabytes / 2000, at_most=1.0, note=f"peak {last.megabytes:,.0f} MB"),
        Row("  time by clips", "exponent", exponent(costs[1:], "seconds"), note=f"from {costs[1].clips:,} clips on"),
    ]


def rows() -> list[Row]:
    return table_rows(measured())


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in ("ours", "bare"):
        one(arguments[0], arguments[1], int(arguments[2]))
        return 0
    costs, shown = measured(), ""
    if arguments[:1] == ["--plot"]:
        picture = Path(arguments[1])
        plot(costs, picture)
        shown = f"\n![Time and memory over clips]({os.path.relpath(picture, PAGE.parent)})\n"
    PAGE.write_text(page(costs) + shown, encoding="utf-8")
    return show(table_rows(costs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
