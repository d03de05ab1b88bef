"""The command line ``python -m pytest_audioretrieval COMMAND``: tables and checks outside of pytest."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from pytest_audioretrieval.base.registered import COMMANDS, registered
from pytest_audioretrieval.commands import doctor, pins, store
from pytest_audioretrieval.errors import RetrievalError, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_audioretrieval.commands.common import Commands

    Register = Callable[[Commands], None]

PROGRAM = "python -m pytest_audioretrieval"
#: Exit code of an error that is told in one line.
WRONG = 2
#: As the shell says it of a process that the signal of a broken pipe has ended.
UNREAD = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 2 after an error, which is one line on stderr."""
    typed = sys.argv[1:] if arguments is None else arguments
    try:
        parser = command_line(next(iter(typed), ""))
        parsed = parser.parse_args(typed)
        return int(parsed.run(parsed))
    except RetrievalError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return WRONG


def command_line(wanted: str = "") -> argparse.ArgumentParser:
    """Return the parser of ``wanted`` where it is a command of this package, else of all commands, others' included."""
    own = {"doctor": doctor.register, "pins": pins.register, "store": store.register}
    found = {wanted: own[wanted]} if wanted in own else {**_others(frozenset(own)), **own}
    parser = _Parser(prog=PROGRAM, description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for _, register in sorted(found.items()):
        register(commands)
    return parser


def _others(own: frozenset[str]) -> dict[str, Register]:
    """Return, by name, the functions that add a registered command; each sets ``run``, from arguments to exit code."""
    found = {name: _loaded(point) for name, point in registered(COMMANDS, own).items()}
    return {name: register for name, register in found.items() if register is not None}


def _loaded(point: EntryPoint) -> Register | None:
    try:
        register: Register = point.load()
    except Exception as error:  # of another package: our commands work without it
        print(f"warning: command {point.name!r} ({point.value}) cannot be loaded: {one_line(error)}", file=sys.stderr)
        return None
    return register


def _alone() -> int:
    """``main`` in a process of its own, which ends without a word where nobody reads on, as in ``| head``."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Python writes out what is left once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    return code


if __name__ == "__main__":
    raise SystemExit(_alone())
