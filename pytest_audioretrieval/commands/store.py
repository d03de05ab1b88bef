"""Command ``python -m pytest_audioretrieval store``: list, verify and prune the embedding store."""

from __future__ import annotations

import argparse
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.errors import SpecError

if TYPE_CHECKING:
    from pytest_audioretrieval.commands.common import Commands
    from pytest_audioretrieval.embedding.inventory import Space

#: Name of pytest's cache folder, below the rootdir.
PYTEST = ".pytest_cache"
HEADINGS = ("model", "weights", "protocol", "kind", "made on", "vectors", "MB", "last used")
#: Digits of a digest that are printed, enough to tell models apart.
DIGITS = 8


def register(commands: Commands) -> None:
    """Add ``store`` to the commands of ``python -m pytest_audioretrieval``."""
    text = "what the embedding store holds, whether it is whole, and how to make it smaller"
    parser = commands.add_parser("store", help=text, description=f"{text.capitalize()} (docs/reference/store.md).")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for name, run, said in (
        ("info", info, "one line for each model, protocol and kind of vector"),
        ("verify", verify, "read every byte; list what is damaged, and exit with 1 if anything is"),
        ("prune", prune, "remove what stopped processes left and what the libraries installed here cannot use"),
    ):
        action = actions.add_parser(name, help=said, description=f"{said.capitalize()}.")
        action.add_argument(
            "--cache",
            type=_store,
            default=PYTEST,
            metavar="DIR",
            help="as given to --retrieval-cache, or pytest's cache folder (default: %(default)s)",
        )
        action.set_defaults(run=run)
        if name == "verify":
            action.add_argument("--fix", action="store_true", help="remove what is damaged: the next run makes it anew")
        if name == "prune":
            action.add_argument("--older-than", type=float, metavar="DAYS", help="also what was not used for DAYS")
            action.add_argument(
                "--keep-bytes", type=int, metavar="N", help="also what was not used for longest, until N bytes are left"
            )


def _store(text: str) -> Path:
    """Return the store's folder for a ``--cache``: the folder itself, or the plugin's part of pytest's cache folder."""
    from pytest_audioretrieval.embedding.store import EMBEDDINGS
    from pytest_audioretrieval.plugin.places import WITHIN

    folder = expanded(text)
    with suppress(PermissionError):  # reported when the folder is read
        return folder / WITHIN if (folder / WITHIN).is_dir() and not (folder / EMBEDDINGS).is_dir() else folder
    return folder


def info(arguments: argparse.Namespace) -> int:
    """Print one line for each space; return 0."""
    from pytest_audioretrieval.embedding.inventory import spaces
    from pytest_audioretrieval.report.tables.plain import lines

    # A space without vectors belongs to a run that was stopped, or that is at work.
    found = [space for space in spaces(arguments.cache) if space.shards]
    print(*lines(HEADINGS, map(_row, found)), sep="\n")
    print(f"{len(found)} in {arguments.cache}, {_megabytes(sum(space.size for space in found))} MB")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Print damaged shards and, with ``--fix``, remove those that can be read; return 1 if one is left."""
    from pytest_audioretrieval.embedding.inventory import remove, spaces

    found = spaces(arguments.cache)
    damaged = [row for space in found for row in space.damaged()]
    left = 0
    for one in damaged:
        goes = arguments.fix and not one.whole
        left += not goes
        if goes:
            remove(one.path)
        print(f"{one.path}: {one.why}{': removed' if goes else ''}")
    print(f"{len(damaged)} of {sum(len(space.shards) for space in found)} shards damaged")
    return int(left > 0)


def prune(arguments: argparse.Namespace) -> int:
    """Remove unusable and unused spaces, print each with the reason; return 0."""
    from pytest_audioretrieval.embedding import inventory

    for name, value in (("--older-than", arguments.older_than), ("--keep-bytes", arguments.keep_bytes)):
        if value is not None and not value >= 0:
            raise SpecError(f"{name} is {value}", expected="0 or more", remedy="correct it")
    size = 0
    for one in inventory.prune(arguments.cache, older_than=arguments.older_than, keep_bytes=arguments.keep_bytes):
        print(f"{one.path}: {one.why}: removed, {_megabytes(one.size)} MB")
        size += one.size
    print(f"{_megabytes(size)} MB removed")
    return 0


def _row(space: Space) -> tuple[str, ...]:
    info = space.info
    return (
        info.model,
        info.weights_sha256[:DIGITS],
        info.protocol,
        space.folder.name.partition("-")[0],
        space.made_on,
        str(space.vectors),
        _megabytes(space.size),
        datetime.fromtimestamp(space.used, UTC).strftime("%Y-%m-%d"),
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f}"
