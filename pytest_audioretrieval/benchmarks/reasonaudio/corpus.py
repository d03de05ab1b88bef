"""A corpus on disk: what its files are called, what they say, and whether they agree (ReasonAudio, 3.2).

corpus.json     what it is built from: seed, clips, seconds, sounds
clips/ID.flac   a clip, 48 kHz, mono, 16 bits; ``Composite.id`` is its name
clips/ID.json   its events and the sha256 of ID.flac; written after it, so that a clip without one is not done
clips.jsonl     the ID.json of all clips, one a line; written last, so that a corpus without one is not done
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pytest_audioretrieval.benchmarks.reasonaudio.events import Composite
from pytest_audioretrieval.data.lines import json_lines, read
from pytest_audioretrieval.errors import DataError

RECIPE, CLIPS, FOLDER = "corpus.json", "clips.jsonl", "clips"
#: Of the files; of the rules that plan and render clips.
SCHEMA, REVISION = 1, "2026-12-1"
_EXPECTED = "name the folder of a corpus, and build it to its end"


class Recipe(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``corpus.json``: two corpora of the same recipe have the same bytes.

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


class Heard(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """When a sound is heard, in milliseconds."""

    sound: str
    start_ms: int
    end_ms: int


class Entry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``ID.json``, and a line of ``clips.jsonl``; ``sha256`` is that of ``ID.flac``."""

    id: str
    sha256: str
    pattern: str
    events: tuple[Heard, ...]


def listed(path: Path) -> Iterator[tuple[str, Entry]]:
    """Where each line of ``clips.jsonl`` stands, and what it says; none where there is no such file."""
    if path.exists():
        for number, found in json_lines(read(path, remedy=_EXPECTED), path, Entry):
            yield f"{path}:{number}", found


def entry(composite: Composite, sha256: str) -> Entry:
    """What is written of a clip."""
    return Entry(composite.id, sha256, composite.pattern, tuple(Heard(*event) for event in composite.events))


def line(entry: Entry) -> bytes:
    """An entry as it is written, with the end of its line."""
    return msgspec.json.encode(entry) + b"\n"


def read_recipe(out: Path) -> Recipe:
    """``corpus.json``.

    Raises:
        DataError: missing, unreadable, damaged or of another schema.
    """
    path = out / RECIPE
    try:
        recipe = msgspec.json.decode(read(path, remedy=_EXPECTED), type=Recipe)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}: restore it or build into an empty folder") from None
    if recipe.schema != SCHEMA:
        raise DataError(f"{path}: schema {recipe.schema}, expected {SCHEMA}: build it again with this version")
    return recipe


def check_foreign(folder: Path, composites: list[Composite]) -> None:
    """Refuse a folder of clips with files that are not of these clips.

    Raises:
        DataError: one of them is named.
    """
    ours = {name for composite in composites for name in (f"{composite.id}.flac", f"{composite.id}.json")}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    if foreign:
        raise DataError(f"{folder / foreign[0]} is no file of this corpus ({len(foreign)} such): move it elsewhere")
