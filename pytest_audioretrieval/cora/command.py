"""``python -m pytest_audioretrieval cora``: CORA's analyses from the command line."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.errors import SpecError

if TYPE_CHECKING:
    from pytest_audioretrieval.cora.pools import Asked
    from pytest_audioretrieval.embedding.embedder import Embedder
    from pytest_audioretrieval.embedding.fused import Fused

    Commands = argparse._SubParsersAction[Any]

#: Wide enough for every table; a terminal that is not wraps the lines.
_WIDTH = 200


def register(commands: Commands) -> None:
    """Add ``cora`` to the commands of ``python -m pytest_audioretrieval``."""
    parser = commands.add_parser(
        "cora",
        help="how robust models are to reformulated queries, and why (CORA)",
        description="Ask every caption in five forms for the same clip, and print CORA's tables (docs/cora.md).",
    )
    add = parser.add_argument
    add("models", nargs="+", metavar="SPEC", help="model to ask, as for pytest's --model")
    add("--dataset", action="append", metavar="NAME_OR_FOLDER", help="what to ask about (repeatable; default: sounds)")
    add(
        "--queries",
        type=Path,
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
    add("--json", type=Path, metavar="PATH", help="write the tables to a file as well")
    add("--cache", type=Path, metavar="DIR", help="keep vectors here (default: for this run alone)")
    add("--offline", action="store_true", help="never touch the network")
    add("--allow-unpinned", action="store_true", help="accept a model that PINS.json does not pin")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 0 once all is written.

    Raises:
        RetrievalError: what cannot be read, measured or written.
    """
    from rich.console import Console

    from pytest_audioretrieval.cora.analyse import analyse
    from pytest_audioretrieval.cora.diversity import diversity_table
    from pytest_audioretrieval.cora.preprocessing import canonicalizer
    from pytest_audioretrieval.cora.printing import render, show
    from pytest_audioretrieval.cora.saliency import saliency_tables

    if arguments.json is not None:
        _check_target(arguments.json)
    rewrites = {text: canonicalizer(text) for text in arguments.canonicalizer}
    console = Console(highlight=False, soft_wrap=True, width=max(_WIDTH, shutil.get_terminal_size().columns))
    with _cache(arguments.cache) as cache, _warnings_in_one_line():
        embedders, given = _embedders(arguments, cache), _asked(arguments, cache)
        for line in _heading(given, pooled=arguments.pooled):
            console.print(line, markup=False)
        tables = [
            *analyse(embedders, given, pooled=arguments.pooled, canonicalizers=rewrites),
            diversity_table(given),
            *saliency_tables(embedders, given),
        ]
        show(console, tables)
        if arguments.json is not None:
            _write(arguments.json, render(tables, _subject(embedders, given, pooled=arguments.pooled)))
    return 0


def _embedders(arguments: argparse.Namespace, cache: Path) -> list[Embedder | Fused]:
    from pytest_audioretrieval import spec
    from pytest_audioretrieval.embedding.embedder import Means
    from pytest_audioretrieval.embedding.fused import embedder
    from pytest_audioretrieval.embedding.store import Store, place
    from pytest_audioretrieval.progress import Tracker
    from pytest_audioretrieval.protocol import Protocol

    means = Means(
        Protocol(),
        Store(place(cache, Means.device)),
        Tracker(),
        offline=arguments.offline,
        allow_unpinned=arguments.allow_unpinned,
    )
    made: dict[str, Embedder | Fused] = {}
    return [embedder(spec.parse(text), means, made) for text in arguments.models]


def _asked(arguments: argparse.Namespace, cache: Path) -> list[Asked]:
    from pytest_audioretrieval.cora.pools import Asked, asked
    from pytest_audioretrieval.data.cora import load_cora
    from pytest_audioretrieval.data.registry import source
    from pytest_audioretrieval.progress import Tracker

    # All names first: a wrong one is said before a large dataset is read.
    sources = [source(text, Path()) for text in arguments.dataset or ["sounds"]]
    if arguments.queries is None:
        return [asked(found.load(cache, Tracker())) for found in sources]
    if len(sources) != 1:
        raise SpecError(f"--queries with {len(sources)} datasets: expected the one dataset whose clips they ask for")
    queries = load_cora(arguments.queries)
    return [Asked(found.load(cache, Tracker()), queries) for found in sources]


def _heading(given: Sequence[Asked], *, pooled: bool) -> Iterator[str]:
    yield "candidates: " + ("the clips of all datasets together" if pooled else "the clips of each dataset by itself")
    for dataset, queries in ((one.dataset, one.queries) for one in given):
        counts = [f"{len(dataset.clips)} clips", f"{len(queries.items)} source queries in {len(queries.forms)} forms"]
        notes = [f"{count} {what}" for what, count in {**dataset.notes, **queries.notes}.items()]
        yield f"{dataset.name}: {', '.join([*counts, *notes])}"


def _subject(embedders: Sequence[Embedder | Fused], given: Sequence[Asked], *, pooled: bool) -> dict[str, Any]:
    """Which models, data and protocol the tables are about."""
    from pytest_audioretrieval.measure import environment

    protocol, identities = embedders[0].means.protocol, [embedder.identity for embedder in embedders]
    return {
        "candidates": "pooled" if pooled else "per-dataset",
        "models": [
            {"id": who.id, "revision": who.revision, "weights_sha256": who.weights_sha256} for who in identities
        ],
        "datasets": [
            {
                "name": one.dataset.name,
                "revision": one.dataset.revision,
                "fingerprint": one.dataset.fingerprint,
                "clips": len(one.dataset.clips),
                "items": len(one.queries.items),
                "forms": one.queries.forms,
                "notes": {**one.dataset.notes, **one.queries.notes},
            }
            for one in given
        ],
        "protocol": {"name": protocol.name, **protocol.settings(), "fingerprint": protocol.fingerprint},
        "environment": environment(embedders[0].device),
    }


@contextmanager
def _cache(folder: Path | None) -> Iterator[Path]:
    """``folder``, or one that lasts for this run: the controls ask many texts again."""
    if folder is not None:
        yield folder.expanduser()
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
    """Say before the work, not after it, that its tables cannot be written; nothing is left behind."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        path.open("a").close()
        if new:
            path.unlink()


def _write(path: Path, content: str) -> None:
    with _told(path):
        path.write_text(content, encoding="utf-8")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SpecError(
            f"--json {path} was not written ({error.strerror}): name a file in a folder that can be written"
        ) from None
