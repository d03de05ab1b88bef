"""Files of a corpus: their names, their content, and the checks that they agree (ReasonAudio, 3.2).

corpus.json     the recipe: seed, clips, seconds, sounds
clips/ID.flac   a clip, 48 kHz, mono, 16 bits; ``Composite.id`` is its name
clips/ID.json   its events and the sha256 of ID.flac; written after it, so that a clip without one is not done
clips.jsonl     the ID.json of all clips, one a line; written last, so that a corpus without one is not done
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite
from pytest_audioretrieval.data.lines import json_lines, read
from pytest_audioretrieval.errors import DataError

RECIPE, CLIPS, FOLDER = "corpus.json", "clips.jsonl", "clips"
#: Version of the files, and of the rules that plan and render clips.
SCHEMA, REVISION = 1, "2026-12-1"
_REMEDY = "name the folder of a corpus, and build it to its end"


class Recipe(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Content of ``corpus.json``; two corpora of the same recipe have the same bytes.

    Attributes:
        encoder: version of libsndfile, which decides the bytes of a FLAC file of given samples.
        sounds: sha256 of each sound's file, by label.
        samples: sha256 over all sounds as they were decoded, resampled and levelled.
    """

    schema: int
    revision: str
    encoder: str
    seed: int
    clips: int
    seconds: int
    sounds: dict[str, str]
    samples: str


class EventRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The time of a sound in a clip, in milliseconds."""

    sound: str
    start_ms: int
    end_ms: int


class ClipRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Content of ``ID.json`` and of a line of ``clips.jsonl``; ``sha256`` is that of ``ID.flac``."""

    id: str
    sha256: str
    pattern: str
    events: tuple[EventRecord, ...]


def read_records(path: Path) -> Iterator[tuple[str, ClipRecord]]:
    """Yield place and record of each line of ``clips.jsonl``; nothing where there is no such file."""
    if path.exists():
        for number, found in json_lines(read(path, remedy=_REMEDY), path, ClipRecord):
            yield f"{path}:{number}", found


def record(composite: Composite, sha256: str) -> ClipRecord:
    """Return the record of a clip."""
    return ClipRecord(composite.id, sha256, composite.pattern, tuple(EventRecord(*event) for event in composite.events))


def encoded(record: ClipRecord) -> bytes:
    """Return a record as a line of its file."""
    return msgspec.json.encode(record) + b"\n"


def read_recipe(out: Path) -> Recipe:
    """Read ``corpus.json``.

    Raises:
        DataError: the file is missing, unreadable, damaged or of another schema.
    """
    path = out / RECIPE
    try:
        recipe = msgspec.json.decode(read(path, remedy=_REMEDY), type=Recipe)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}", remedy="restore it or build into an empty folder") from None
    if recipe.schema != SCHEMA:
        raise DataError(
            f"{path}: schema is {recipe.schema}", expected=str(SCHEMA), remedy="build it again with this version"
        )
    return recipe


def check_foreign(folder: Path, composites: list[Composite]) -> None:
    """Refuse a folder that holds files of other clips.

    Raises:
        DataError: there is such a file; names one.
    """
    ours = {name for composite in composites for name in (f"{composite.id}.flac", f"{composite.id}.json")}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    if foreign:
        raise DataError(
            f"{folder / foreign[0]} is no file of this corpus ({len(foreign)} such)", remedy="move it elsewhere"
        )
