"""ReasonAudio on disk: queries, relevance and choices written beside a folder of clips, and read as a dataset.

    OUT/dataset.toml      name, licence, layout = "reasonaudio"
    OUT/clips/            sounds; what sounds when stands in their names
    OUT/clips.jsonl       the same and the sha256 of each, where the corpus was built by us
    OUT/queries.jsonl     id, task, text, constraints
    OUT/qrels.tsv         query-id, clip-id, score (1)
    OUT/choices.jsonl     id, task, text, constraints, right, wrong

A release without constraints and choices is read as well, be it with ``queries.csv`` and ``qrels.csv``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from pytest_audioretrieval.base.files import write_atomically
from pytest_audioretrieval.benchmarks.reasonaudio import corpus
from pytest_audioretrieval.benchmarks.reasonaudio.choices import ReasonChoice
from pytest_audioretrieval.benchmarks.reasonaudio.constraints import broken
from pytest_audioretrieval.benchmarks.reasonaudio.events import Composite
from pytest_audioretrieval.benchmarks.reasonaudio.queries import ReasonQuery
from pytest_audioretrieval.benchmarks.reasonaudio.release import Release, read_release
from pytest_audioretrieval.benchmarks.reasonaudio.tables import (
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
    """Write all but the clips, each file whole or not at all; ``dataset.toml``, without which nobody reads, last.

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
    """The dataset in ``folder``: its queries are asked of its clips, its choices between two of them.

    Choices that share a text are one cluster, together with the query of that text. Every clip is hashed, none decoded.

    Args:
        progress: wraps the clips while they are hashed.

    Raises:
        DataError: as ``read_release``; ``queries.jsonl`` does not have the sha256 that pins it.
    """
    settings = read_settings(folder)
    if settings.identical_captions != "separate":
        raise DataError(f"{folder / SETTINGS}: identical_captions is for layout 'captions': remove it")
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
    )


def _json_lines(lines: Iterable[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def _clip(name: str, path: Path, release: Release) -> Clip:
    try:
        clip = clip_of(path, name)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    if clip.digest != release.digests.get(name, clip.digest):
        raise DataError(
            f"{path}: sha256 is {clip.digest}, {corpus.CLIPS} says {release.digests[name]}: build the corpus again"
        )
    return clip


def queries_of(asked: Iterable[ReasonQuery]) -> Iterable[Query]:
    """Queries as a dataset holds them; their task is their slice."""
    return (Query(query.id, query.text, query.clips, query.task) for query in asked)


def choices_of(chosen: Iterable[ReasonChoice], asked: Iterable[ReasonQuery]) -> Iterable[Choice]:
    """Two-option items as a dataset holds them; those of one text are one cluster, with the query of that text."""
    labels = {query.text: query.id for query in asked}
    for choice in chosen:
        cluster = labels.setdefault(choice.text, choice.id)
        right, wrong = Option(choice.text, choice.right), Option(choice.text, choice.wrong)
        yield Choice(choice.id, right, wrong, cluster, choice.task)


def explain_by(items: Iterable[ReasonQuery | ReasonChoice], composites: Mapping[str, Composite]) -> Explain:
    """Tells of a query or a two-option item, by id, which of its constraints a clip breaks, and why."""
    asked = {item.id: item.constraints for item in items}
    return lambda item, clip: broken(asked[item], composites[clip])


def _notes(release: Release) -> Mapping[str, int]:
    """What a folder could state and does not."""
    lacks = {
        f"two-option items ({CHOICES})": not release.choices,
        "queries with constraints, which would tell why a clip is wrong": not release.composites,
    }
    return {what: 0 for what, is_so in lacks.items() if is_so}
