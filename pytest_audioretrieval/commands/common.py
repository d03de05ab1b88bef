"""Options, resources and output that the commands about models share."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_audioretrieval.base.devices import checked_device
from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.answerer import Answerer
    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.report.tables.table import Table

    Commands: TypeAlias = argparse._SubParsersAction[Any]

#: Wide enough for every table, so that no cell is cut; a terminal that is not wraps the lines.
_WIDTH = 1_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the models, and the options that every command about models has."""
    add = parser.add_argument
    add("models", nargs="+", metavar="SPEC", help="model to ask, as for pytest's --model")
    add("--json", type=expanded, metavar="PATH", help="write the tables to a file as well")
    add("--cache", type=expanded, metavar="DIR", help="keep vectors here (default: for this run alone)")
    add("--device", type=_device, default="auto", metavar="D", help="where models run: auto, cpu, cuda[:N] or mps")
    add("--offline", action="store_true", help="never touch the network")
    add("--allow-unpinned", action="store_true", help="accept a model or dataset that PINS.json does not pin")


def _device(text: str) -> str:
    try:
        return checked_device(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {error}") from None


@dataclass(frozen=True)
class CommandContext:
    """Resources of one command, and where its tables go.

    Attributes:
        options: those of ``add_options``, parsed.
        resources: what models and datasets are loaded with.
        console: prints to standard output.
    """

    options: argparse.Namespace
    resources: Resources
    console: Console

    def answerers(self, specs: Sequence[str]) -> list[Answerer]:
        """Return one a spec; specs of the same model share theirs."""
        from pytest_audioretrieval.embedding.assembly import Answerers

        return Answerers(self.resources).named(specs)

    def say(self, line: str) -> None:
        """Print a line as it is."""
        self.console.print(line, markup=False)

    def publish(self, schema: str, tables: Sequence[Table], about: dict[str, Any]) -> None:
        """Print the tables; with ``--json`` write them too, under ``schema`` and what they are ``about``."""
        from pytest_audioretrieval.report.tables.printing import render, show

        show(self.console, tables)
        if self.options.json is not None:
            with _told(self.options.json):
                self.options.json.write_text(render(schema, tables, about), encoding="utf-8")


@contextmanager
def command_context(options: argparse.Namespace) -> Iterator[CommandContext]:
    """Begin a command; until it ends, a warning is one line on stderr.

    Raises:
        SpecError: ``--json`` names a file that cannot be written; said before the work, not after it.
    """
    from rich.console import Console

    from pytest_audioretrieval.base.progress import Tracker
    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.pinning.protocol import Protocol

    if options.json is not None:
        _check_target(options.json)
    console = Console(highlight=False, soft_wrap=True, width=max(_WIDTH, shutil.get_terminal_size().columns))
    allowed = {"offline": options.offline, "allow_unpinned": options.allow_unpinned}
    with _cache(options.cache) as cache, _warnings_in_one_line():
        yield CommandContext(options, Resources(Protocol(), cache, Tracker(), options.device, **allowed), console)


def provenance(answerers: Sequence[Answerer], datasets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the models, data and protocol that tables are about; ``datasets`` as ``described``."""
    from pytest_audioretrieval.runs.measure import environment

    return {
        "models": [identified(answerer) for answerer in answerers],
        "datasets": list(datasets),
        "protocol": answerers[0].resources.protocol.stated(),
        "environment": environment(answerers[0].device),
    }


def identified(answerer: Answerer) -> dict[str, Any]:
    """Return the id and the weights of a model."""
    who = answerer.identity
    return {"id": who.id, "revision": who.revision, "weights_sha256": who.weights_sha256}


def described(dataset: Dataset, **counts: Any) -> dict[str, Any]:
    """Return the identity of a dataset, and what a command counted of it."""
    return {
        "name": dataset.name,
        "revision": dataset.revision,
        "fingerprint": dataset.fingerprint,
        "clips": len(dataset.clips),
        **counts,
    }


@contextmanager
def _cache(folder: Path | None) -> Iterator[Path]:
    """Yield ``folder``, or one that lasts for this run: analyses ask many texts again."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="audioretrieval-") as made:
        yield Path(made)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    def say(message: Warning | str, *_: object, **__: object) -> None:
        print(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = say
        yield


def _check_target(path: Path) -> None:
    """Refuse a file that cannot be written; an empty one that is made on the way is removed."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        path.open("a").close()
        if new:
            path.unlink()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SpecError(
            f"--json {path} was not written ({error.strerror})", remedy="name a file in a folder that can be written"
        ) from None
