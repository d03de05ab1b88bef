"""Files of a hub dataset at a commit, through huggingface_hub; hashed before anything opens them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import msgspec

from pytest_audioretrieval.data.hub.sets import Subsets, subsets_of
from pytest_audioretrieval.errors import DataError, PinError
from pytest_audioretrieval.models.hub import absent, download, snapshots
from pytest_audioretrieval.pins import ADD, DATASETS, Pin, leaves_folder, project_pins, sha256_of, verify
from pytest_audioretrieval.shipped import OWN

_SHARD = re.compile(r"-\d{5}-of-(\d{5})\.parquet\Z")


class Part(NamedTuple):
    """One file: its path in the repository, which errors show, and where it lies."""

    name: str
    path: Path


def pinned(hub: str, asked: str | None, subsets: Subsets, *, allow_unpinned: bool, pins: Path = OWN) -> Pin:
    """The pin of a repository at the commit to read; of a commit that is not pinned nothing but that is known.

    Args:
        asked: the commit that the user names, 40 hex digits, or None for the pinned one.
        subsets: which of its files are read, for the command that pins them.
        pins: a project's own PINS.json, where there is one.

    Raises:
        PinError: PINS.json does not pin it, or at another commit than asked for.
    """
    pin = project_pins(pins).datasets.get(hub)
    commit = asked or (pin.revision if pin else None)
    if commit is None:
        note = f" ({pin.note})" if pin and pin.note else ""
        raise PinError(f"dataset {hub} is not pinned{note}: {_adding(hub, '<40 hex digits>', subsets)}")
    found = pin.at(commit) if pin else None
    if found is not None or allow_unpinned:
        return found or Pin(revision=commit)
    known = [one for one in pin.commits() if one] if pin else []
    stated = f"PINS.json pins {' and '.join(known)}" if known else "PINS.json does not pin it"
    raise PinError(
        f"dataset {hub}@{commit}: {stated}: pass --retrieval-allow-unpinned to measure this commit all the same, or "
        f"pin it: {_adding(hub, commit, subsets)}"
    )


def _adding(hub: str, commit: str, subsets: Subsets) -> str:
    """The command that pins a repository."""
    files = "" if subsets == subsets_of(hub) else f" --files {shlex.quote(subsets[0][0])}"
    return f"{ADD} {DATASETS}{hub}@{commit}{files}"


def fetch(hub: str, pin: Pin, subsets: Subsets, *, offline: bool) -> list[list[Part]]:
    """The files of each subset, downloaded where they are not cached, each with the hash that ``pin`` has for it.

    Raises:
        DataError: the hub, or with ``offline`` the cache, does not have them all; a pattern leaves the repository.
        PinError: a file is not the pinned one.
    """
    what, commit = f"dataset {hub}@{pin.revision}", pin.revision or ""
    patterns = [pattern for subset in subsets for pattern in subset]
    outside = next((pattern for pattern in patterns if leaves_folder(pattern)), None)
    if outside is not None:
        raise DataError(f"{what}: files {outside!r}: expected a pattern of paths inside the repository")
    folder = download(hub, commit, offline=offline, wanted=patterns, ignore=(), kind="dataset")
    found = [_parts(folder, subset, what, offline=offline) for subset in subsets]
    _verify([part for parts in found for part in parts], pin, patterns, what)
    return found


def cached(hub: str, commit: str) -> Path:
    """The folder of all that the hub's cache has of a commit, for a library that knows which files it needs.

    Raises:
        DataError: nothing, or not all of its numbered parquet files.
    """
    folder = snapshots(hub, "dataset").get(commit)
    if folder is None:
        raise absent(hub, commit, "dataset")
    shards = Counter[tuple[Path, str]]()
    for path in folder.rglob("*.parquet"):
        shard = _SHARD.search(path.name)
        if shard:
            shards[path.parent / path.name[: shard.start()], shard[1]] += 1
    for (name, total), found in shards.items():
        if found != int(total):
            what = f"{found} of the {int(total)} files {name.relative_to(folder).as_posix()}-*.parquet are"
            raise _absent(f"dataset {hub}@{commit}", what, True)
    return folder


def _absent(what: str, found: str, offline: bool) -> DataError:
    why = "--retrieval-offline forbids the network" if offline else "the network or the hub failed"
    return DataError(f"{what}: {found} in the local cache, and {why}: download it once with a network connection")


def _parts(folder: Path, patterns: Sequence[str], what: str, *, offline: bool) -> list[Part]:
    """The files of one subset; the name of each says how many there are."""
    for pattern in patterns:
        paths = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not paths:
            continue
        # A pattern may match several splits, each of so many files as their names say.
        shards = ((path, shard) for path in paths if (shard := _SHARD.search(path.name)))
        splits = Counter((path.with_name(path.name[: shard.start()]), int(shard[1])) for path, shard in shards)
        for (split, count), here in splits.items():
            if here != count:
                raise _absent(
                    what, f"{here} of the {count} files {split.relative_to(folder).as_posix()}-* are", offline
                )
        return [Part(path.relative_to(folder).as_posix(), path) for path in paths]
    if offline:
        raise _absent(what, f"no file {patterns[-1]} is", offline)
    raise DataError(f"{what} has no file {' or '.join(patterns)}: it is not laid out as expected, name another commit")


def _verify(parts: Iterable[Part], pin: Pin, patterns: Sequence[str], what: str) -> None:
    """The pin may name files of other splits, which are not asked for."""
    named = {name: digest for name, digest in pin.files.items() if any(fnmatch(name, p) for p in patterns)}
    if not any(named.values()):
        return
    found = {part.name: sha256_of(part.path) for part in parts}
    strange = next((name for name in found if name not in named), None)
    if strange is not None:
        raise PinError(f"{what}: {strange} is not among the files PINS.json names: pin it, or name the pinned commit")
    verify(found, msgspec.structs.replace(pin, files=named), what)
