"""Writer and loader of a ReasonAudio folder: queries, relevance and choices beside a folder of clips.

    OUT/dataset.toml      name, licence, layout = "reasonaudio"
    OUT/clips/            sounds; their names hold their events
    OUT/clips.jsonl       events and sha256 of each clip, where the corpus was built by this package
    OUT/queries.jsonl     id, task, text, constraints
    OUT/qrels.tsv         query-id, clip-id, score (1)
    OUT/choices.jsonl     id, task, text, constraints, right, wrong

A release without constraints and choices is read as well, also with ``queries.csv`` and ``qrels.csv``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from pytest_audioretrieval.base.files import write_atomically
from pytest_audioretrieval.benchmarks.reasonaudio.corpus import layout
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite
from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import ReasonChoice
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import violations
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import ReasonQuery
from pytest_audioretrieval.benchmarks.reasonaudio.release.reader import Release, read_release
from pytest_audioretrieval.benchmarks.reasonaudio.release.tables import (
    CHOICES,
    QRELS,
    QUERIES,
    RELEVANCE,
    ChoiceLine,
    QueryLine,
    one_of,
)
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.lines import read
from pytest_audioretrieval.data.manifest import SETTINGS, read_settings, verify
from pytest_audioretrieval.data.sound_files import clip_of
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Explain, Option, Query
from pytest_audioretrieval.errors import DataError

#: Shows the progress of work over the clips.
Progress = Callable[[Sequence[tuple[str, Path]]], Iterable[tuple[str, Path]]]


def write_queries(
    out: Path, queries: Sequence[ReasonQuery], choices: Sequence[ReasonChoice], *, name: str, licence: str
) -> None:
    """Write all files but the clips, each atomically.

    ``dataset.toml``, without which no reader starts, comes last.

    Raises:
        OSError: a file cannot be written.
    """
    pairs = ((query.id, clip, "1") for query in queries for clip in query.clips)
    relevance = "".join("\t".join(cells) + "\n" for cells in (RELEVANCE, *pairs))
    asked = [QueryLine(q.id, q.task, q.text, q.constraints) for q in queries]
    chosen = [ChoiceLine(c.id, c.task, c.text, c.right, c.wrong, c.constraints) for c in choices]
    settings = {"name": name, "licence": licence, "layout": "reasonaudio"}
    write_atomically(out / QUERIES[0], _json_lines(asked))
    write_atomically(out / QRELS[0], relevance.encode())
    write_atomically(out / CHOICES, _json_lines(chosen))
    toml = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in settings.items())
    write_atomically(out / SETTINGS, toml.encode())


def load_reasonaudio(folder: Path, *, progress: Progress = iter) -> Dataset:
    """Load the dataset in ``folder``: queries over all clips, and choices between two of them.

    Choices that share a text are one cluster, together with the query of that text. Clips are hashed, none is decoded.

    Args:
        progress: wraps the clips while they are hashed.

    Raises:
        DataError: as ``read_release``; ``queries.jsonl`` does not have its pinned sha256.
    """
    settings = read_settings(folder)
    if settings.identical_captions != "separate":
        raise DataError(f"{folder / SETTINGS}: identical_captions is for layout 'captions'", remedy="remove it")
    if settings.sha256 is not None:
        path = one_of(folder, QUERIES)
        verify(hashlib.sha256(read(path, remedy="restore it")).hexdigest(), settings.sha256, str(path))
    release = read_release(folder)
    clips = tuple(_clip(name, path, release) for name, path in progress(list(release.clips.items())))
    queries, choices = tuple(queries_of(release.queries)), tuple(choices_of(release.choices, release.queries))
    items: list[ReasonQuery | ReasonChoice] = [*release.queries, *release.choices]
    return Dataset(
        name=settings.name,
        revision=None,
        clips=clips,
        captions=(),
        fingerprint=fingerprint(clips, stated=(*queries, *choices)),
        notes=_notes(release),
        queries=queries,
        choices=choices,
        explain=explain_by(items, release.composites) if release.composites else None,
        explain_command="reasonaudio show",
    )


def _json_lines(lines: Iterable[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def _clip(name: str, path: Path, release: Release) -> Clip:
    try:
        clip = clip_of(path, name)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", remedy="restore it") from None
    if clip.digest != release.digests.get(name, clip.digest):
        raise DataError(
            f"{path}: sha256 is {clip.digest}",
            expected=f"{release.digests[name]} as {layout.CLIPS} states",
            remedy="build the corpus again",
        )
    return clip


def queries_of(asked: Iterable[ReasonQuery]) -> Iterable[Query]:
    """Return queries as a dataset holds them; their task is their slice."""
    return (Query(query.id, query.text, query.clips, query.task) for query in asked)


def choices_of(chosen: Iterable[ReasonChoice], asked: Iterable[ReasonQuery]) -> Iterable[Choice]:
    """Yield two-option items as a dataset holds them; those of one text and its query are one cluster."""
    labels = {query.text: query.id for query in asked}
    for choice in chosen:
        cluster = labels.setdefault(choice.text, choice.id)
        right, wrong = Option(choice.text, choice.right), Option(choice.text, choice.wrong)
        yield Choice(choice.id, right, wrong, cluster, choice.task)


def explain_by(items: Iterable[ReasonQuery | ReasonChoice], composites: Mapping[str, Composite]) -> Explain:
    """Return a function that says which constraints of a query or two-option item a clip violates, and why."""
    asked = {item.id: item.constraints for item in items}
    return lambda item, clip: violations(asked[item], composites[clip])


def _notes(release: Release) -> Mapping[str, int]:
    """Return notes about what a folder may state and this one does not."""
    lacks = {
        f"two-option items ({CHOICES})": not release.choices,
        "queries with constraints, which would tell why a clip is wrong": not release.composites,
    }
    return {what: 0 for what, is_so in lacks.items() if is_so}
