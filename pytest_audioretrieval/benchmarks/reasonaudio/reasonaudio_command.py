"""The command ``python -m pytest_audioretrieval reasonaudio``: build the benchmark, show it, score models."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.commands.common import add_options, command_context, described, provenance

if TYPE_CHECKING:
    from pytest_audioretrieval.commands.common import Commands

SCHEMA = "pytest-audioretrieval/reasonaudio/1"

#: Exit code after Ctrl-C, as shells have it.
_INTERRUPTED = 130


def register(commands: Commands) -> None:
    """Add ``reasonaudio`` to the commands of ``python -m pytest_audioretrieval``."""
    parser = commands.add_parser("reasonaudio", help="test whether models reason about sounds (ReasonAudio)")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _register_build(actions)
    _register_show(actions)
    _register_score(actions)


def _register_build(actions: Commands) -> None:
    parser = actions.add_parser(
        "build",
        help="build composite clips, queries and relevance from a folder of sounds",
        description="Build the benchmark; the same command goes on with one that was stopped and mends damaged clips.",
    )
    add = parser.add_argument
    add("sounds", type=expanded, metavar="SOUNDS", help="folder with a file for each sound, named after the sound")
    add("out", type=expanded, metavar="OUT", help="folder to build into")
    add("--clips", type=int, default=10_000, metavar="N", help="composite clips (default: %(default)s)")
    add("--queries", type=int, default=1000, metavar="N", help="queries of all five tasks (default: %(default)s)")
    add("--choices-per-task", type=int, default=120, metavar="N", help="two-option items a task (default: %(default)s)")
    add("--seed", type=int, default=SEED, metavar="N", help="of every draw (default: %(default)s)")
    add("--seconds", type=int, default=10, metavar="N", help="length of each clip (default: %(default)s)")
    add("--workers", type=int, metavar="N", help="processes (default: one for each core)")
    parser.set_defaults(run=run_build)


def run_build(arguments: argparse.Namespace) -> int:
    """Build the benchmark and print its size and hash; return 0 once all is written.

    Raises:
        RetrievalError: something cannot be read, made or written.
    """
    from pytest_audioretrieval.benchmarks.reasonaudio.release.build import build

    try:
        built = build(
            arguments.sounds,
            arguments.out,
            clips=arguments.clips,
            queries=arguments.queries,
            choices_per_task=arguments.choices_per_task,
            seed=arguments.seed,
            seconds=arguments.seconds,
            workers=arguments.workers,
        )
    except KeyboardInterrupt:
        print("stopped: the same command goes on from here", file=sys.stderr)
        return _INTERRUPTED
    print(f"{arguments.out}: {len(built.composites)} clips, corpus sha256 {built.sha256}")
    asked = f"--retrieval-suite reasoning --retrieval-dataset {shlex.quote(str(arguments.out))}"
    print(f"next: pytest --model MODEL {asked} --retrieval-record new, and to gate the same without --retrieval-record")
    return 0


def _register_show(actions: Commands) -> None:
    parser = actions.add_parser(
        "show",
        help="show a query beside timelines of clips, relevant or not and why",
        description="Print a query, and the times of all sounds in clips that meet it and in some that do not.",
    )
    add = parser.add_argument
    add(
        "out",
        type=expanded,
        metavar="OUT",
        help="folder of a corpus with its queries, or 'reasoning', the built-in one",
    )
    add("--query", required=True, metavar="ID", help="of a query or of a two-option item")
    add("--clip", metavar="ID", help="show this clip alone (its name, or its number)")
    parser.set_defaults(run=run_show)


def run_show(arguments: argparse.Namespace) -> int:
    """Print a query and timelines of clips; return 0.

    Raises:
        DataError: there is no such query or clip, or the folder cannot be read.
    """
    from rich.console import Console

    from pytest_audioretrieval.benchmarks.reasonaudio.analyses.timeline import show

    show(arguments.out, arguments.query, Console(highlight=False, soft_wrap=True), arguments.clip)
    return 0


def _register_score(actions: Commands) -> None:
    parser = actions.add_parser(
        "score",
        help="print the paper's table for models",
        description="Print ReasonAudio's Table 2, and the accuracy between two clips, for models.",
    )
    add_options(parser)
    parser.add_argument(
        "--dataset", default="reasoning", metavar="NAME_OR_FOLDER", help="dataset of the queries (default: %(default)s)"
    )
    parser.set_defaults(run=run_score)


def run_score(arguments: argparse.Namespace) -> int:
    """Measure the models and print the tables; return 0 once all is written.

    Raises:
        RetrievalError: something cannot be read, measured or written.
    """
    from pytest_audioretrieval.benchmarks.reasonaudio.analyses.scores import score_tables
    from pytest_audioretrieval.data.registry import source

    with command_context(arguments) as context:
        found = source(arguments.dataset, Path())
        answerers = context.answerers(arguments.models)
        dataset = context.resources.load(found)
        tables = score_tables(answerers, dataset)
        counts = {"queries": len(dataset.queries), "choices": len(dataset.choices)}
        context.publish(SCHEMA, tables, provenance(answerers, [described(dataset, **counts)]))
    return 0
