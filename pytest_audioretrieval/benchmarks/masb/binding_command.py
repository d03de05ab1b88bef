"""The command ``python -m pytest_audioretrieval binding``: MASB's Experiments 1 to 4."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.commands.common import add_options, command_context, described, identified, provenance

if TYPE_CHECKING:
    from pytest_audioretrieval.commands.common import Commands
    from pytest_audioretrieval.data.types import Dataset

SCHEMA = "pytest-audioretrieval/binding/1"


def register(commands: Commands) -> None:
    """Add ``binding`` to the commands of ``python -m pytest_audioretrieval``."""
    parser = commands.add_parser(
        "binding",
        help="test whether models bind properties to sounds, or guess from the texts (MASB)",
        description="Let models choose between captions of the same words, and print MASB's Experiments 1 to 4.",
    )
    add_options(parser)
    add = parser.add_argument
    add("--dataset", default="binding", metavar="NAME_OR_FOLDER", help="dataset of the choices (default: binding)")
    add("--prior", metavar="SPEC", help="pair scorer that gives the text-only prior of all models")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure the models and print the tables; return 0 once all is written.

    Raises:
        RetrievalError: something cannot be read, measured or written.
    """
    from pytest_audioretrieval.benchmarks.masb.analyses.analyse import analyse, models_to_judge, prior_model
    from pytest_audioretrieval.data.registry import source

    with command_context(arguments) as context:
        found = source(arguments.dataset, Path())
        named = [*arguments.models, *([] if arguments.prior is None else [arguments.prior])]
        answerers = context.answerers(named)
        models = models_to_judge(answerers[: len(arguments.models)])
        prior = None if arguments.prior is None else prior_model(answerers[-1])
        dataset = context.resources.load(found)
        for line in _heading(dataset):
            context.say(line)
        tables = analyse(models, dataset, prior)
        counts = {"choices": len(dataset.choices), "rewordings": len(dataset.rewordings), "notes": dict(dataset.notes)}
        about = provenance(models, [described(dataset, **counts)])
        context.publish(SCHEMA, tables, {"prior": prior and identified(prior), **about})
    return 0


def _heading(dataset: Dataset) -> Iterator[str]:
    slices = Counter(choice.slice for choice in dataset.choices)
    parts = f" ({', '.join(f'{count} {name}' for name, count in slices.items())})" if slices else ""
    counts = [f"{len(dataset.clips)} clips", f"{len(dataset.choices)} choices{parts}"]
    counts += [f"{len(dataset.rewordings)} rewordings", *(f"{count} {what}" for what, count in dataset.notes.items())]
    yield f"{dataset.name}: {', '.join(counts)}"
    published = shipped("baselines") / "published" / "masb.json"
    if published.is_file():
        yield f"published figures: {published}; they hold for MASB's own recordings, its overall figures in rows 'all'"
