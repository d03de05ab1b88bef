"""A measured ratio, and the one table all of them are printed in."""

from __future__ import annotations

import json
import os
import platform
import resource
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from subprocess import run
from sys import executable
from time import process_time
from typing import Any

ROOT = Path(__file__).parents[1]
FAILED = "failed"


@dataclass(frozen=True)
class Row:
    """One line of the table: how ``work`` compares with what it is held ``against``, both taken in one run.

    Attributes:
        ratio: times faster where ``at_least`` or nothing is stated, cost over cost where ``at_most`` is; None where it
            was not measured, and ``note`` says why.
    """

    work: str
    against: str
    ratio: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def target(self) -> str:
        if self.at_least is not None:
            return f"at least {self.at_least:g}"
        return "" if self.at_most is None else f"at most {self.at_most:g}"

    @property
    def met(self) -> str:
        if self.ratio is None:
            return "not measured"
        if not self.target:
            return ""
        low = self.at_least is None or self.ratio >= self.at_least
        return "yes" if low and (self.at_most is None or self.ratio <= self.at_most) else "NO"


def show(rows: Iterable[Row]) -> int:
    """Print the table and the machine it was taken on; exit status 1 where a target is missed or a script failed."""
    from rich.console import Console
    from rich.table import Table

    table = Table("work", "against", "ratio", "target", "met", "note", title=machine())
    shown = list(rows)
    for row in shown:
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        table.add_row(row.work, row.against, ratio, row.target, row.met, row.note)
    console = Console()
    # Where the output is no terminal, a line holds what it has to.
    console.width = console.width if console.is_terminal else 180
    console.print(table)
    return int(any(row.met == "NO" or row.note.startswith(FAILED) for row in shown))


def failed(work: str, error: Exception) -> Row:
    """The row of a script that ended in ``error``."""
    return Row(work, "", note=f"{FAILED}: {type(error).__name__}: {error}")


def machine() -> str:
    """What the figures were taken on."""
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch", "transformers"))
    python = platform.python_version()
    return f"{platform.machine()}, {os.cpu_count()} cores, threads {threads}, Python {python}, {libraries}"


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Processor time, the least of several takes, because noise only ever adds."""
    takes = []
    for _ in range(repeats):
        started = process_time()
        work()
        takes.append(process_time() - started)
    return min(takes)


def processor_seconds(command: list[str], folder: Path, environment: Mapping[str, str]) -> float:
    """What a process takes of the processor: unlike the clock, the same on a busy machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-1500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def own_threads(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with as many threads as each library takes by itself."""
    return {name: value for name, value in environment.items() if name != "OMP_NUM_THREADS"}


def interpreter(module: str, target: str) -> str | None:
    """A Python that has ``module``: this one, or that of ``make TARGET`` (``BENCH_TARGET_PYTHON`` names another)."""
    if find_spec(module):
        return executable
    named = os.environ.get(f"BENCH_{target.upper()}_PYTHON")
    made = Path(named) if named else ROOT / f".venv-{target}" / "bin" / "python"
    return str(made) if made.is_file() else None


def elsewhere(python: str, module: str) -> list[Row]:
    """The rows that ``module`` measures in another environment."""
    done = run(
        [python, "-m", module, "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{module} in {python} failed:\n{done.stderr[-2000:]}")
    return [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]


def as_json(rows: Iterable[Row]) -> str:
    return json.dumps([asdict(row) for row in rows])
