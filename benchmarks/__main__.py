"""``python -m benchmarks``: what every ``bench_*.py`` beside this file measures, in one table.

A script of which nothing is a ratio (``bench_uiq``: ranks) has no ``rows`` and is left out. Each runs alone as well:
``python -m benchmarks.bench_metrics``. Names given run only those: ``python -m benchmarks metrics decode``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.table import Row, show

found: list[Row] = []
for name in sys.argv[1:] or sorted(
    path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")
):
    module = import_module(f"benchmarks.bench_{name}")
    if hasattr(module, "rows"):
        print(f"== {name}", file=sys.stderr, flush=True)
        try:
            found += module.rows()
        except Exception as error:  # one that fails must not hide what the others measured
            found.append(Row(name, "", note=f"failed: {type(error).__name__}: {error}"))
show(found)
sys.exit(any(row.met == "NO" or row.note.startswith("failed") for row in found))
