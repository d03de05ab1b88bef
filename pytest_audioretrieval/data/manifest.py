"""Reader of a user's own dataset folder: ``dataset.toml``, ``captions.jsonl`` and sound files."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from pytest_audioretrieval.data.captions import clean
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.lines import json_lines, misshapen, read
from pytest_audioretrieval.data.sound_files import file_clip
from pytest_audioretrieval.data.texts import is_id, query_text, shows_nothing
from pytest_audioretrieval.data.types import Caption, Clip, Dataset
from pytest_audioretrieval.errors import DataError, did_you_mean

CAPTIONS = "captions.jsonl"
SETTINGS = "dataset.toml"
ADD_FILES = f"make a folder of {SETTINGS} (name, licence) and {CAPTIONS}"
#: Characters; a name becomes a folder of baselines.
LONGEST_NAME = 64


class Hub(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Table ``[hub]`` of ``dataset.toml``: a repository and the columns of its rows, as in ``hub.sets.CaptionRows``.

    Attributes:
        id: of the repository, ``owner/name``.
        files: pattern of the names of the parquet files, which also chooses the split.
        revision: 40 hex digits; by default the commit that PINS.json pins.
        clip_count, caption_count: the counts to check for.
    """

    id: str
    audio: str
    clip: str
    captions: list[str]
    files: str = "data/test-*.parquet"
    revision: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")] | None = None
    clip_count: int | None = None
    caption_count: int | None = None


class Settings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Content of ``dataset.toml``.

    Attributes:
        name: of the dataset in tests and baselines; no slash.
        licence: of the sounds; free text.
        sha256: of ``captions.jsonl`` (``queries.jsonl``), where the folder is pinned.
        identical_captions: ``"separate"`` keeps one query per caption; ``"merge"`` makes one query with
            several relevant clips of a text that several clips share (fault 65).
        layout: ``"captions"`` is ``captions.jsonl``; ``"hub"`` means rows of a hub's dataset, which ``hub`` names;
            benchmarks register further ones (``base.registered``).
    """

    name: str
    licence: str
    sha256: str | None = None
    identical_captions: Literal["separate", "merge"] = "separate"
    layout: str = "captions"
    hub: Hub | None = None


class Line(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One line of ``captions.jsonl``.

    Attributes:
        audio: path of the sound, inside the folder.
        captions: one or more.
        id: of the clip; by default ``audio``.
        sha256: of the sound, where it is pinned.
        forms: reformulations of the captions (CORA, Section 3.1): ``command``, ``question``, ``indirect``,
            ``key_phrase``, ``statement``, each with a list of one query per caption, in their order, or a string where
            there is one caption. A form that is left out, ``null`` or empty is missing: the query set counts it. The
            forms of a caption that is removed as a repeat are removed too.
    """

    audio: str
    captions: list[str]
    id: str | None = None
    sha256: str | None = None
    forms: dict[str, str | list[str | None] | None] | None = None


def load_folder(folder: Path) -> Dataset:
    """Read a dataset folder.

    Captions are cleaned as in the pinned protocol ("Fixtures and protocol"), but an empty one is refused. Every sound
    file is hashed, none is decoded.

    Raises:
        DataError: a file is not as described above; names file and line.
    """
    settings = read_settings(folder)
    text = _pinned(folder / CAPTIONS, settings)
    clips: list[Clip] = []
    stated: list[Caption] = []
    notes: Counter[str] = Counter()
    seen: dict[str, int] = {}
    empty = 0
    for number, line in json_lines(text, folder / CAPTIONS, Line):
        where = f"{folder / CAPTIONS}:{number}"
        clip = _clip(folder, line, where)
        _check_new(clip.id, line, seen, where)
        seen[clip.id] = number
        clips.append(clip)
        stated.extend(_captions(clip.id, line, where))
        empty += bool(line.forms)
    if not clips:
        raise DataError(
            f"{folder / CAPTIONS} holds no clips", remedy="write one JSON object a line with 'audio' and 'captions'"
        )
    captions = clean(stated, notes)
    if empty and not any(caption.forms for caption in captions):
        notes["clips whose forms are all empty: rules make the queries"] = empty
    merge = settings.identical_captions == "merge"
    return Dataset(
        name=settings.name,
        revision=None,
        clips=tuple(clips),
        captions=captions,
        fingerprint=fingerprint(clips, captions, merged=merge),
        merge_identical_captions=merge,
        notes={note: count for note, count in notes.items() if count},
    )


def _pinned(path: Path, settings: Settings) -> bytes:
    text = read(path, remedy=ADD_FILES)
    if settings.sha256 is not None:
        verify(hashlib.sha256(text).hexdigest(), settings.sha256, str(path))
    return text


def _check_new(clip: str, line: Line, seen: dict[str, int], where: str) -> None:
    if clip in seen:
        own = clip != line.audio
        what, then = (
            ("clip id", "give each clip its own id") if own else ("audio", "write all its captions on one line")
        )
        raise DataError(f"{where}: {what} {clip!r} stands on line {seen[clip]} already", remedy=then)


def read_settings(folder: Path) -> Settings:
    """Read ``dataset.toml`` of a dataset folder.

    Raises:
        DataError: the file is missing, or not as ``Settings`` describes it.
    """
    path = folder / SETTINGS
    text = read(path, remedy=ADD_FILES)
    try:
        settings = msgspec.toml.decode(text, type=Settings)
    except msgspec.ValidationError as error:
        raise misshapen(error, msgspec.toml.decode(text), Settings).about(str(path)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"{path}: {error}", remedy="correct it") from None
    name = settings.name
    if (
        not name.strip()
        or not name.isprintable()
        or set(name) & set("/\\")
        or name[0] == "."
        or len(name) > LONGEST_NAME
    ):
        raise DataError(
            f"{path}: name is {name!r}",
            expected=f"a word of at most {LONGEST_NAME} printable characters without slashes, not beginning with '.'",
            remedy="choose another",
        )
    if (settings.layout == "hub") != (settings.hub is not None):
        raise DataError(
            f"{path}: layout is {settings.layout!r}",
            expected='layout = "hub" and a table [hub] together',
            remedy="add or remove one",
        )
    return settings


def _clip(folder: Path, line: Line, where: str) -> Clip:
    clip = file_clip(folder, line.audio, line.id if line.id is not None else line.audio, where)
    if line.sha256 is not None:
        verify(clip.digest, line.sha256, f"{where}: {line.audio!r}")
    if not is_id(clip.id):
        raise DataError(
            f"{where}: clip id is {clip.id!r}", expected="printable characters", remedy="correct 'id' or leave it out"
        )
    return clip


def verify(found: str, expected: str, what: str) -> None:
    """Refuse a sha256 that is not the ``expected`` one."""
    if found != expected.lower():
        raise DataError(f"{what}: sha256 is {found}", expected=expected, remedy="restore the file or correct the pin")


def _captions(clip: str, line: Line, where: str) -> Iterator[Caption]:
    if not line.captions:
        raise DataError(f"{where}: clip {clip!r} has no captions", remedy="give at least one")
    forms = _forms(clip, line, where)
    for position, text in enumerate(line.captions):
        if shows_nothing(text):
            raise DataError(f"{where}: caption {position} of clip {clip!r} is empty", remedy="write it or remove it")
        yield Caption(id=f"{clip}#{position}", text=text, clip=clip, forms=forms[position])


def _forms(clip: str, line: Line, where: str) -> list[dict[str, str]]:
    """Return the forms of each caption; missing ones have no key."""
    given = line.forms or {}
    unknown = next((form for form in given if form not in FORMS), None)
    if unknown is not None:
        raise DataError(
            f"{where}: clip {clip!r} has the unknown form {unknown!r}",
            remedy=f"{did_you_mean(unknown, FORMS)}use {', '.join(FORMS)}",
        )
    made: list[dict[str, str]] = [{} for _ in line.captions]
    for form in FORMS:
        queries = given.get(form)
        if queries is None:
            continue
        each = [queries] if isinstance(queries, str) else queries
        if len(each) != len(made):
            raise DataError(
                f"{where}: form {form!r} of clip {clip!r} has {len(each)} queries",
                expected=str(len(made)),
                remedy="give one per caption, null where there is none",
            )
        for position, raw in enumerate(each):
            text = query_text(raw, f"{where}: form {form!r} of caption {position} of clip {clip!r}")
            if text:
                made[position][form] = text
    return made
