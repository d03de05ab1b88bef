"""What the commands that print tables about models share: options, where vectors are kept, where tables go."""

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

from pytest_audioretrieval.base.devices import DEVICE
from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.embedder import Embedder
    from pytest_audioretrieval.embedding.fused import Fused
    from pytest_audioretrieval.report.tables.table import Table

    Commands: TypeAlias = argparse._SubParsersAction[Any]

#: Wide enough for every table, so that no cell is cut; a terminal that is not wraps the lines.
_WIDTH = 1_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """The models, and the options that every command about models has."""
    add = parser.add_argument
    add("models", nargs="+", metavar="SPEC", help="model to ask, as for pytest's --model")
    add("--json", type=expanded, metavar="PATH", help="write the tables to a file as well")
    add("--cache", type=expanded, metavar="DIR", help="keep vectors here (default: for this run alone)")
    add("--device", type=_device, default="auto", metavar="D", help="where models run: auto, cpu, cuda[:N] or mps")
    add("--offline", action="store_true", help="never touch the network")
    add("--allow-unpinned", action="store_true", help="accept a model or dataset that PINS.json does not pin")


def _device(text: str) -> str:
    if not DEVICE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: expected auto, cpu, cuda, cuda:N or mps")
    return text


@dataclass(frozen=True)
class Work:
    """One command at work.

    Attributes:
        options: those of ``add_options``, parsed.
        cache: folder of vectors and rendered sounds.
    """

    options: argparse.Namespace
    cache: Path
    console: Console

    def embedders(self, specs: Sequence[str]) -> list[Embedder | Fused]:
        """One a spec; specs of the same model share theirs."""
        from pytest_audioretrieval.base.progress import Tracker
        from pytest_audioretrieval.embedding.embedder import Means
        from pytest_audioretrieval.embedding.fused import embedder
        from pytest_audioretrieval.embedding.store import Store, place
        from pytest_audioretrieval.pinning import spec
        from pytest_audioretrieval.pinning.protocol import Protocol

        options = self.options
        store = Store(place(self.cache, options.device))
        means = Means(
            Protocol(), store, Tracker(), options.device, offline=options.offline, allow_unpinned=options.allow_unpinned
        )
        made: dict[str, Embedder | Fused] = {}
        return [embedder(spec.parse(text), means, made) for text in specs]

    @property
    def loading(self) -> Loading:
        """What datasets are loaded with."""
        from pytest_audioretrieval.base.progress import Tracker
        from pytest_audioretrieval.data.loading import Loading

        return Loading(self.cache, Tracker(), self.options.offline, self.options.allow_unpinned)

    def say(self, line: str) -> None:
        """Print a line as it is."""
        self.console.print(line, markup=False)

    def publish(self, schema: str, tables: Sequence[Table], subject: dict[str, Any]) -> None:
        """Print the tables; with ``--json`` write them too, under ``schema`` and ``subject``."""
        from pytest_audioretrieval.report.tables.printing import render, show

        show(self.console, tables)
        if self.options.json is not None:
            with _told(self.options.json):
                self.options.json.write_text(render(schema, tables, subject), encoding="utf-8")


@contextmanager
def work(options: argparse.Namespace) -> Iterator[Work]:
    """Begin; meanwhile a warning is one line on stderr.

    Raises:
        SpecError: ``--json`` names a file that cannot be written; said before the work, not after it.
    """
    from rich.console import Console

    if options.json is not None:
        _check_target(options.json)
    console = Console(highlight=False, soft_wrap=True, width=max(_WIDTH, shutil.get_terminal_size().columns))
    with _cache(options.cache) as cache, _warnings_in_one_line():
        yield Work(options, cache, console)


def subject(embedders: Sequence[Embedder | Fused], datasets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Which models, data and protocol tables are about; ``datasets`` as ``described``."""
    from pytest_audioretrieval.runs.measure import environment

    protocol = embedders[0].means.protocol
    return {
        "models": [identified(embedder) for embedder in embedders],
        "datasets": list(datasets),
        "protocol": {"name": protocol.name, **protocol.settings(), "fingerprint": protocol.fingerprint},
        "environment": environment(embedders[0].device),
    }


def identified(embedder: Embedder | Fused) -> dict[str, Any]:
    """Which weights a model is."""
    who = embedder.identity
    return {"id": who.id, "revision": who.revision, "weights_sha256": who.weights_sha256}


def described(dataset: Dataset, **counts: Any) -> dict[str, Any]:
    """Which data a dataset holds, and what a command counted of it."""
    return {
        "name": dataset.name,
        "revision": dataset.revision,
        "fingerprint": dataset.fingerprint,
        "clips": len(dataset.clips),
        **counts,
    }


@contextmanager
def _cache(folder: Path | None) -> Iterator[Path]:
    """``folder``, or one that lasts for this run: analyses ask many texts again."""
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
    """Nothing is left behind."""
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
            f"--json {path} was not written ({error.strerror}): name a file in a folder that can be written"
        ) from None
