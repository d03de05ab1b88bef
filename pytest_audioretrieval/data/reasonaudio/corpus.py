"""A corpus on disk: what its files are called, what they say, and whether they agree (ReasonAudio, 3.2).

corpus.json     what it is built from: seed, clips, seconds, sounds
clips/ID.flac   a clip, 48 kHz, mono, 16 bits; ``Composite.id`` is its name
clips/ID.json   its events and the sha256 of ID.flac; written after it, so that a clip without one is not done
clips.jsonl     the ID.json of all clips, one a line; written last, so that a corpus without one is not done
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from pytest_audioretrieval.data.lines import json_lines, read
from pytest_audioretrieval.data.reasonaudio.events import Composite, parse
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
        recipe = msgspec.json.decode(read(path, expected=_EXPECTED), type=Recipe)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}: restore it or build into an empty folder") from None
    if recipe.schema != SCHEMA:
        raise DataError(f"{path}: schema {recipe.schema}, expected {SCHEMA}: build it again with this version")
    return recipe


def read_corpus(out: Path) -> tuple[list[Composite], dict[str, str]]:
    """The clips of a finished corpus, and the sha256 of each file by id; every clip is hashed, none is decoded.

    Raises:
        DataError: a corpus that is not finished; a clip whose name, metadata and audio contradict each other, or that
            is missing or listed nowhere; the file is named.
    """
    recipe, path = read_recipe(out), out / CLIPS
    composites: list[Composite] = []
    digests: dict[str, str] = {}
    for number, listed in json_lines(read(path, expected=_EXPECTED), path, Entry):
        composite = _agreed(parse(listed.id, f"{path}:{number}"), listed, f"{path}:{number}")
        if composite.number != len(composites):
            raise DataError(f"{path}:{number}: clip {composite.number}, expected {len(composites)}: restore the file")
        _check_clip(out / FOLDER, composite, listed, recipe.seconds)
        composites.append(composite)
        digests[listed.id] = listed.sha256
    if len(composites) != recipe.clips:
        raise DataError(f"{path}: clips found {len(composites)}, expected {recipe.clips}: build again to restore it")
    check_foreign(out / FOLDER, composites)
    return composites, digests


def check_foreign(folder: Path, composites: list[Composite]) -> None:
    """Refuse a folder of clips with files that are not of these clips.

    Raises:
        DataError: one of them is named.
    """
    ours = {name for composite in composites for name in (f"{composite.id}.flac", f"{composite.id}.json")}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    if foreign:
        raise DataError(f"{folder / foreign[0]} is no file of this corpus ({len(foreign)} such): move it elsewhere")


def _check_clip(folder: Path, composite: Composite, listed: Entry, seconds: int) -> None:
    beside, audio = folder / f"{listed.id}.json", folder / f"{listed.id}.flac"
    try:
        told = msgspec.json.decode(read(beside, expected="build again to restore it"), type=Entry)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{beside}: {error}: build again to restore it") from None
    _agreed(composite, told, str(beside))
    content = read(audio, expected="build again to restore it")
    found = hashlib.sha256(content).hexdigest()
    if told.sha256 != listed.sha256:
        raise DataError(f"{beside}: sha256 of the clip is {told.sha256}, {CLIPS} says {listed.sha256}: build again")
    if found != listed.sha256:
        raise DataError(
            f"{audio}: {_length(audio)}, sha256 {found}; expected {seconds} s, {listed.sha256}: build again"
        )


def _agreed(composite: Composite, told: Entry, where: str) -> Composite:
    """The composite of a clip's name, if its metadata tell of the same."""
    if told != entry(composite, told.sha256):
        raise DataError(f"{where}: tells of other events than the clip's name {composite.id}: build again")
    return composite


def _length(audio: Path) -> str:
    import soundfile

    try:
        return f"{soundfile.info(str(audio)).duration:g} s"
    except soundfile.SoundFileError:
        return "unreadable"
