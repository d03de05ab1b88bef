"""``python -m bench``: what every ``bench_*.py`` beside this file measures, in one table.

A script of which nothing is a ratio (``bench_uiq``: ranks) has no ``rows`` and is left out. Each runs alone as well:
``python -m bench.bench_metrics``. Names given run only those: ``python -m bench metrics decode``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from bench.table import Row, failed, show


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def measured(name: str) -> list[Row]:
    """What a script measures; one that fails is a row, because it must not hide what the others measured."""
    print(f"== {name}", file=sys.stderr, flush=True)
    try:
        module = import_module(f"bench.bench_{name}")
        found: list[Row] = module.rows() if hasattr(module, "rows") else []
    except Exception as error:
        found = [failed(name, error)]
    return found


def main(asked: Sequence[str]) -> int:
    return show([row for name in asked or names() for row in measured(name)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
