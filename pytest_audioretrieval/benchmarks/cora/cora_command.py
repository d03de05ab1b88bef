"""The command ``python -m pytest_audioretrieval cora``: CORA's analyses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.commands.common import add_options, command_context, described, provenance
from pytest_audioretrieval.errors import SpecError

if TYPE_CHECKING:
    from pytest_audioretrieval.benchmarks.cora.analyses.pools import QueriedDataset
    from pytest_audioretrieval.commands.common import Commands
    from pytest_audioretrieval.embedding.resources import Resources

SCHEMA = "pytest-audioretrieval/cora/1"


def register(commands: Commands) -> None:
    """Add ``cora`` to the commands of ``python -m pytest_audioretrieval``."""
    parser = commands.add_parser(
        "cora",
        help="measure how robust models are to reformulated queries, and why (CORA)",
        description="Ask every caption in five forms for the same clip, and print CORA's tables "
        "(docs/explanation/cora.md).",
    )
    add_options(parser)
    add = parser.add_argument
    add(
        "--dataset",
        action="append",
        metavar="NAME_OR_FOLDER",
        help="dataset to ask about (repeatable; default: sounds)",
    )
    add(
        "--queries",
        type=expanded,
        metavar="FILE",
        help="ask with the queries of this .jsonl or .csv in CORA's columns instead of the dataset's own",
    )
    add("--pooled", action="store_true", help="rank the clips of all datasets together, not each dataset's own")
    add(
        "--canonicalizer",
        action="append",
        default=[],
        metavar="MODULE:CALLABLE",
        help="rewrites each reformulated query before it is asked: (text) or (text, form) to text (repeatable)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure the models and print the tables; return 0 once all is written.

    Raises:
        RetrievalError: something cannot be read, measured or written.
    """
    from pytest_audioretrieval.benchmarks.cora.analyses.analyse import analyse
    from pytest_audioretrieval.benchmarks.cora.analyses.diversity import diversity_table
    from pytest_audioretrieval.benchmarks.cora.analyses.preprocessing import canonicalizer
    from pytest_audioretrieval.benchmarks.cora.analyses.saliency import saliency_tables

    with command_context(arguments) as context:
        rewrites = {text: canonicalizer(text) for text in arguments.canonicalizer}
        answerers, given = context.answerers(arguments.models), _asked(arguments, context.resources)
        for line in _heading(given, pooled=arguments.pooled):
            context.say(line)
        tables = [
            *analyse(answerers, given, pooled=arguments.pooled, canonicalizers=rewrites),
            diversity_table(given),
            *saliency_tables(answerers, given),
        ]
        candidates = "pooled" if arguments.pooled else "per-dataset"
        about = provenance(answerers, [_described(one) for one in given])
        context.publish(SCHEMA, tables, {"candidates": candidates, **about})
    return 0


def _asked(arguments: argparse.Namespace, resources: Resources) -> list[QueriedDataset]:
    from pytest_audioretrieval.benchmarks.cora.analyses.pools import QueriedDataset, with_queries
    from pytest_audioretrieval.benchmarks.cora.release.query_file import load_cora
    from pytest_audioretrieval.data.registry import source

    # All names first, so that a wrong one is refused before a large dataset is read.
    sources = [source(text, Path()) for text in arguments.dataset or ["sounds"]]
    if arguments.queries is None:
        return [with_queries(resources.load(found)) for found in sources]
    if len(sources) != 1:
        raise SpecError(
            f"--queries is given with {len(sources)} datasets",
            expected="the one dataset whose clips they ask for",
            remedy="name one --dataset",
        )
    queries = load_cora(arguments.queries)
    return [QueriedDataset(resources.load(found), queries) for found in sources]


def _heading(given: Sequence[QueriedDataset], *, pooled: bool) -> Iterator[str]:
    yield "candidates: " + ("the clips of all datasets together" if pooled else "the clips of each dataset by itself")
    for dataset, queries in ((one.dataset, one.queries) for one in given):
        counts = [f"{len(dataset.clips)} clips", f"{len(queries.items)} source queries in {len(queries.forms)} forms"]
        notes = [f"{count} {what}" for what, count in {**dataset.notes, **queries.notes}.items()]
        yield f"{dataset.name}: {', '.join([*counts, *notes])}"


def _described(one: QueriedDataset) -> dict[str, Any]:
    notes = {**one.dataset.notes, **one.queries.notes}
    return described(one.dataset, items=len(one.queries.items), forms=one.queries.forms, notes=notes)
