"""Download of a hub dataset's files at a commit, through huggingface_hub; files are hashed before they are opened."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import msgspec

from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.data.hub.sets import Subsets, subsets_of
from pytest_audioretrieval.errors import DataError, PinError
from pytest_audioretrieval.models.hub import absent, download, snapshots
from pytest_audioretrieval.pinning.pins import (
    ADD,
    DATASETS,
    Pin,
    at_commit,
    leaves_folder,
    project_pins,
    sha256_of,
    verify,
)

_SHARD = re.compile(r"-\d{5}-of-(\d{5})\.parquet\Z")


class Part(NamedTuple):
    """One file: its path in the repository, which errors show, and its path on disk."""

    name: str
    path: Path


def pinned(hub: str, asked: str | None, subsets: Subsets, *, allow_unpinned: bool, pins: Path = OWN) -> Pin:
    """Return the pin of a repository at the commit to read; an unpinned commit has a pin without hashes.

    Args:
        asked: the commit that the user names, 40 hex digits, or None for the pinned one.
        subsets: which of its files are read, for the command that pins them.
        pins: a project's own PINS.json, where there is one.

    Raises:
        PinError: PINS.json does not pin it, or pins another commit than asked for.
    """
    pin = project_pins(pins).datasets.get(hub)
    commit = asked or (pin.revision if pin else None)
    if commit is None:
        note = f" ({pin.note})" if pin and pin.note else ""
        raise PinError(f"dataset {hub} is not pinned{note}", remedy=_adding(hub, "<40 hex digits>", subsets))
    adding = _adding(hub, commit, subsets)
    return at_commit(pin, commit, f"dataset {hub}", adding, allow_unpinned=allow_unpinned)


def _adding(hub: str, commit: str, subsets: Subsets) -> str:
    """Return the command that pins a repository."""
    files = "" if subsets == subsets_of(hub) else f" --files {shlex.quote(subsets[0][0])}"
    return f"{ADD} {DATASETS}{hub}@{commit}{files}"


def fetch(hub: str, pin: Pin, subsets: Subsets, *, offline: bool) -> list[list[Part]]:
    """Download the files of each subset that are not cached, and check each against its hash in ``pin``.

    Raises:
        DataError: the hub, or with ``offline`` the cache, does not have them all; a pattern leaves the repository.
        PinError: a file is not the pinned one.
    """
    what, commit = f"dataset {hub}@{pin.revision}", pin.revision or ""
    patterns = [pattern for subset in subsets for pattern in subset]
    outside = next((pattern for pattern in patterns if leaves_folder(pattern)), None)
    if outside is not None:
        raise DataError(
            f"{what}: files is {outside!r}", expected="a pattern of paths inside the repository", remedy="correct it"
        )
    folder = download(hub, commit, offline=offline, wanted=patterns, ignore=(), kind="dataset")
    found = [_parts(folder, subset, what, offline=offline) for subset in subsets]
    _verify([part for parts in found for part in parts], pin, patterns, what)
    return found


def cached(hub: str, commit: str) -> Path:
    """Return the folder of all files that the hub's cache has of a commit, for a library that chooses among them.

    Raises:
        DataError: nothing, or not all of its numbered parquet files.
    """
    folder = snapshots(hub, "dataset").get(commit)
    if folder is None:
        raise absent(hub, commit, "dataset")
    _refuse_gaps(folder, folder.rglob("*.parquet"), f"dataset {hub}@{commit}", offline=True)
    return folder


def _absent(what: str, found: str, offline: bool) -> DataError:
    why = "--retrieval-offline forbids the network" if offline else "the network or the hub failed"
    return DataError(
        f"{what}: {found} in the local cache, and {why}", remedy="download it once with a network connection"
    )


def _refuse_gaps(folder: Path, paths: Iterable[Path], what: str, *, offline: bool) -> None:
    """Refuse a split that lacks numbered files: each name says how many there are."""
    shards = ((path, shard) for path in paths if (shard := _SHARD.search(path.name)))
    splits = Counter((path.with_name(path.name[: shard.start()]), int(shard[1])) for path, shard in shards)
    for (split, count), here in splits.items():
        if here != count:
            name = split.relative_to(folder).as_posix()
            raise _absent(what, f"{here} of the {count} files {name}-*.parquet are", offline)


def _parts(folder: Path, patterns: Sequence[str], what: str, *, offline: bool) -> list[Part]:
    """Return the files of one subset, by the first pattern that matches; it may match several splits."""
    for pattern in patterns:
        paths = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not paths:
            continue
        _refuse_gaps(folder, paths, what, offline=offline)
        return [Part(path.relative_to(folder).as_posix(), path) for path in paths]
    if offline:
        raise _absent(what, f"no file {patterns[-1]} is", offline)
    raise DataError(f"{what} has no file {' or '.join(patterns)}", remedy="name a commit that is laid out so")


def _verify(parts: Iterable[Part], pin: Pin, patterns: Sequence[str], what: str) -> None:
    """Check the hashes of ``parts``; files of other splits that the pin names are left out."""
    named = {name: digest for name, digest in pin.files.items() if any(fnmatch(name, p) for p in patterns)}
    if not any(named.values()):
        return
    found = {part.name: sha256_of(part.path) for part in parts}
    strange = next((name for name in found if name not in named), None)
    if strange is not None:
        raise PinError(
            f"{what}: {strange} is not among the files that PINS.json names", remedy="pin it, or name the pinned commit"
        )
    verify(found, msgspec.structs.replace(pin, files=named), what)
