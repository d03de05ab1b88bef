"""The command ``doctor [pytest arguments]``: says offline what a run would still need."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.network import no_network

if TYPE_CHECKING:
    from pytest_audioretrieval.commands.common import Commands

#: No argument of pytest begins with it, so that all of them are left to pytest.
_NO_PREFIX = "\0"


def register(commands: Commands) -> None:
    """Add ``doctor`` to the commands of ``python -m pytest_audioretrieval``."""
    parser = commands.add_parser(
        "doctor",
        help="say, offline, what a command line of pytest would still need; exits with 1 where that is something",
        usage="%(prog)s [pytest | python -m pytest] [the arguments you would give to pytest]",
        description="Collects what `pytest ARGUMENTS` (or `python -m pytest ARGUMENTS`, which finds modules of the "
        "current folder as well) would run, and runs none of it.",
        prefix_chars=_NO_PREFIX,
        add_help=False,
    )
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT")
    parser.set_defaults(run=run, help_text=parser.format_help)


def run(arguments: argparse.Namespace) -> int:
    """Print one table of what is here and what is not, then a line about each that is not: what to do.

    Raises:
        SpecError: pytest does not start with these arguments, or they ask for nothing of ours.
    """
    if {"-h", "--help"} & set(arguments.arguments):
        print(arguments.help_text())
        return 0
    from pytest_audioretrieval.commands.doctor_checks import check
    from pytest_audioretrieval.commands.doctor_run import examine
    from pytest_audioretrieval.report.tables.plain import lines

    with no_network():
        rows = examine(arguments.arguments, check)
    missing = [row for row in rows if row.next]
    cells = ((row.what, row.name, "missing" if row.next else "ok", row.found) for row in rows)
    print(*lines(("what", "name", "state", "found"), cells), sep="\n")
    for row in missing:
        print(f"next, {row.what} {row.name}: {row.next}")
    print(f"{len(missing)} of {len(rows)} missing" if missing else "nothing is missing")
    return int(bool(missing))
