"""Run the calibration grid; write docs/explanation/calibration.csv and the generated part of calibration.md beside it.

    make calibrate

One core, about half an hour. Each cell is kept as it is done, under a name that changes with the method, the simulation
and the number of trials; a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from time import monotonic

import simulation
from calibration_report import HELD, beyond, tables
from simulation import Cell, Tally, grid, run

from pytest_audioretrieval.stats import bootstrap

ROOT = Path(__file__).resolve().parent.parent
CSV, PAGE = ROOT / "docs/explanation/calibration.csv", ROOT / "docs/explanation/calibration.md"
BEGIN, END = "<!-- made by `make calibrate`: begin -->", "<!-- made by `make calibrate`: end -->"
CELL = [f.name for f in fields(Cell) if f.name != "drop"]
TALLY = [f.name for f in fields(Tally)]


def main(command: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument("--work", type=Path, default=ROOT / ".work" / "calibration", help="keeps finished cells")
    arguments = parser.parse_args(command)
    arguments.work.mkdir(parents=True, exist_ok=True)
    kept = arguments.work / f"{_version(arguments.trials)}.csv"
    for cell in _missing(kept):
        _append(kept, cell, run(cell, arguments.trials))
    results = dict(_read(kept))
    _write(CSV, ((cell, results[cell]) for cell in grid()))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    made = tables({cell: results[cell] for cell in grid()}, arguments.trials)
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    broken = [c for c, tally in results.items() if c.outcome in HELD and beyond(c, tally, arguments.trials)]
    print(f"{len(results)} cells, {len(broken)} beyond their limits", *broken, sep="\n")
    return 1 if broken else 0


def _version(trials: int) -> str:
    sources = b"".join(Path(str(module.__file__)).read_bytes() for module in (bootstrap, simulation))
    return f"{trials}-{sha256(sources).hexdigest()[:12]}"


def _missing(kept: Path) -> Iterator[Cell]:
    done = dict(_read(kept)) if kept.exists() else {}
    missing = [cell for cell in grid() if cell not in done]
    said = started = monotonic()
    for count, cell in enumerate(missing):
        if monotonic() - said >= 60:
            said = monotonic()
            left = (said - started) / count * (len(missing) - count)
            print(f"{len(done) + count} of {len(done) + len(missing)} cells, {left / 60:.0f} minutes left", flush=True)
        yield cell


def _read(path: Path) -> Iterator[tuple[Cell, Tally]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            cell = Cell(
                row["outcome"],
                int(row["clusters"]),
                row["queries"],
                float(row["margin"]),
                float(row["gain"]),
                float(row["rho"]),
            )
            yield cell, Tally(*(float(row[name]) for name in TALLY))


def _append(path: Path, cell: Cell, tally: Tally) -> None:
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [*CELL, *TALLY], lineterminator="\n", extrasaction="ignore")
        if new:
            writer.writeheader()
        writer.writerow(_row(cell, tally))


def _write(path: Path, results: Iterator[tuple[Cell, Tally]]) -> None:
    path.unlink(missing_ok=True)
    for cell, tally in results:
        _append(path, cell, tally)


def _row(cell: Cell, tally: Tally) -> dict[str, object]:
    return asdict(cell) | {name: f"{value:g}" for name, value in asdict(tally).items()}


if __name__ == "__main__":
    sys.exit(main())
