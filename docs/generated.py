"""Parts of the reference that are made from the code: options, commands, suites and the fields of a protocol."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pytest_audioretrieval.__main__ import command_line
from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol
from pytest_audioretrieval.plugin.settings import OPTIONS, Option


def write(folder: Path) -> None:
    """Write every generated part into ``folder``, which the pages include."""
    folder.mkdir(exist_ok=True)
    parts = {"options": options(), "commands": commands(), "suites": suites(), "protocols": protocols()}
    for name, part in parts.items():
        (folder / f"{name}.md").write_text(part, encoding="utf-8")


def options() -> str:
    """Return a table of all options with their twins in the ini file."""
    rows = ((f"`{_usage(one)}`", f"`{one.dest}`", f"`{_default(one)}`", _text(one.help)) for one in OPTIONS)
    return _table(("option", "in the ini file", "default", "does"), rows)


def _usage(option: Option) -> str:
    return option.switch if option.flag else f"{option.switch} {option.metavar}"


def _default(option: Option) -> str:
    if option.flag:
        return "false"
    if option.default in (None, ()):
        return "none"
    return " ".join(option.default) if isinstance(option.default, tuple) else str(option.default)


def commands() -> str:
    """Return the help of each command and of its tasks, as ``--help`` prints it at a width of 100 characters."""
    return "\n".join(_helps(command_line()))


def _helps(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                below.formatter_class = _Wide
                if not _has_tasks(below):
                    title = below.prog.removeprefix("python -m pytest_audioretrieval ")
                    yield f"### {title}\n\n```text\n{below.format_help().strip()}\n```\n"
                yield from _helps(below)


def _has_tasks(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)


class _Wide(argparse.HelpFormatter):
    """Help of the same width whatever terminal the site is built in."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{**settings, "width": 100})


def suites() -> str:
    """Return a table of the packaged suites and the first sentence of each."""
    rows = []
    for path in sorted(shipped("suites").glob("[!_]*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        rows.append((f"`{path.stem}`", _text(said.partition("\n\n")[0])))
    return _table(("suite", "asks"), rows)


def protocols() -> str:
    """Return a table of the fields of a protocol, with a column for each named one."""
    rows = ((f"`{one.name}`", *(f"`{getattr(each, one.name)}`" for each in NAMED.values())) for one in fields(Protocol))
    return _table(("field", *NAMED), (row for row in rows if row[0] != "`name`"))


def _table(head: Sequence[str], rows: Any) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _text(said: str) -> str:
    """Return prose as one line of a table."""
    return " ".join(said.replace("|", "\\|").replace("``", "`").split())
