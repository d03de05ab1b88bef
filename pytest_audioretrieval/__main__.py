"""``python -m pytest_audioretrieval COMMAND``: what is asked of models outside of pytest."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pytest_audioretrieval import pins_command as pins
from pytest_audioretrieval.binding import command as binding
from pytest_audioretrieval.cora import command as cora
from pytest_audioretrieval.data.masb import command as masb
from pytest_audioretrieval.doctor import command as doctor
from pytest_audioretrieval.embedding import command as store
from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.reasoning import command as reasonaudio

#: A module each; ``register(commands)`` sets a default ``run``, from the parsed arguments to the exit code.
COMMANDS = (binding, cora, doctor, masb, pins, reasonaudio, store)
#: Exit code of an error that is told in one line.
WRONG = 2
#: As the shell says it of a process that the signal of a broken pipe has ended.
UNREAD = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 2 after an error, which is one line on stderr."""
    parser = _Parser(prog="python -m pytest_audioretrieval", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.register(commands)
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except RetrievalError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return WRONG


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
