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

#: Exit code of an error that is told in one line.
WRONG = 2
#: As the shell says it of a process that the signal of a broken pipe has ended.
UNREAD = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 2 after an error, which is one line on stderr."""
    parser = command_line()
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except RetrievalError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return WRONG


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands, those of other packages included."""
    parser = _Parser(prog="python -m pytest_audioretrieval", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for _, register in sorted(_registered().items()):
        register(commands)
    return parser


def _registered() -> dict[str, Callable[[Commands], None]]:
    """Return, by name, the functions that add a command; each sets ``run``, from parsed arguments to the exit code."""
    own = {"doctor": doctor.register, "pins": pins.register, "store": store.register}
    others = registered(COMMANDS, frozenset(own))
    return {name: register for name, point in others.items() if (register := _loaded(point)) is not None} | own


def _loaded(point: EntryPoint) -> Callable[[Commands], None] | None:
    try:
        register: Callable[[Commands], None] = point.load()
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
