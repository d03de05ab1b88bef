"""PINS.json: the revision and the sha256 of every file of a pinned model or dataset."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import msgspec

from pytest_audioretrieval.base.files import stamp
from pytest_audioretrieval.base.shipped import OWN, shipped
from pytest_audioretrieval.errors import PinError, one_line
from pytest_audioretrieval.pinning.spec import COMMIT

#: Command that pins what follows it, ``ID@COMMIT``; errors name it.
ADD = "python -m pytest_audioretrieval pins add"
#: Prefix of the id of a dataset, as in its address on the hub.
DATASETS = "datasets/"

_SHA256 = re.compile(r"[0-9a-f]{64}")
#: Endings of weights that run code when they are opened.
PICKLES = (".bin", ".ckpt", ".pkl", ".pickle", ".pt", ".pth")

Files = dict[str, str | None]
T = TypeVar("T")


class Revision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Files and note of a further commit of a pinned model or dataset; fields as in ``Pin``."""

    files: Files = {}
    note: str | None = None


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Pin of one model or dataset; a field is null if its value is not known.

    Attributes:
        revision: 40 hex digits of a commit, or null; for built-in data the version of their recipe.
        files: sha256 of each file by path.
        fingerprint: digest of a dataset, see ``data.fingerprint``.
        note: origin of the pin, or what is missing.
        other_revisions: further commits that users can name, ``ID@COMMIT``.
    """

    revision: str | None
    files: Files = {}
    fingerprint: str | None = None
    note: str | None = None
    other_revisions: dict[str, Revision] = {}

    def at(self, commit: str | None) -> Pin | None:
        """Return the pin of one commit, or None if that commit is not pinned."""
        if commit == self.revision:
            return self
        other = self.other_revisions.get(commit or "")
        return Pin(commit, other.files, note=other.note) if other else None

    def commits(self) -> Iterator[str | None]:
        """Yield every pinned commit, first the one that the bare id means."""
        yield self.revision
        yield from self.other_revisions


class Pins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a PINS.json."""

    models: dict[str, Pin]
    datasets: dict[str, Pin]

    def model(self, name: str) -> Pin | None:
        """Return the pin of a model, or None."""
        return self.models.get(name)

    def nearest(self, name: str) -> list[str]:
        """Return the pinned models whose names look like ``name``."""
        return get_close_matches(name, self.models, n=3)

    def dataset_fingerprint(self, name: str) -> str:
        """Return the fingerprint of a pinned dataset; a missing one is a ``PinError``."""
        pin = self.datasets.get(name)
        if pin is None or pin.fingerprint is None:
            raise PinError(f"PINS.json holds no fingerprint of dataset {name!r}", remedy="reinstall the package")
        return pin.fingerprint

    def text(self) -> str:
        """Return the file's text: sorted and one value a line, so that a diff shows which pin changed."""
        return json.dumps(msgspec.to_builtins(self), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@cache
def load_pins() -> Pins:
    """Return the shipped pins; see ``read_pins``."""
    return read_pins(shipped("PINS.json"))


def read_pins(path: Path) -> Pins:
    """Read a PINS.json strictly: unknown or repeated keys, short hashes and anything outside the schema are errors."""
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text, object_pairs_hook=_unique)
        pins = msgspec.json.decode(text, type=Pins)
    except (OSError, ValueError, RecursionError) as error:  # of the last kind where brackets are too deep
        remedy = "reinstall the package" if path == shipped("PINS.json") else "mend it, or move it out of this folder"
        raise PinError(f"{path} holds no readable pins ({one_line(error)})", remedy=remedy) from None
    for name, pin in (*pins.models.items(), *pins.datasets.items()):
        _check(pin, name, path)
    return pins


def _check(pin: Pin, name: str, path: Path) -> None:
    commits = [commit for commit in pin.commits() if commit is not None]
    for commit in commits:
        if not name.startswith("builtin/") and not COMMIT.fullmatch(commit):
            raise PinError(
                f"{path}: revision of {name!r} is {commit!r}", expected="40 hex digits or null", remedy="correct it"
            )
    if len(set(commits)) < len(commits):
        raise PinError(
            f"{path}: revision {pin.revision} of {name!r} stands among its other_revisions too", remedy="keep one"
        )
    for files in (pin.files, *(other.files for other in pin.other_revisions.values())):
        for file, digest in files.items():
            _check_file(file, digest, name, path)


def _check_file(file: str, digest: str | None, name: str, path: Path) -> None:
    if digest is not None and not _SHA256.fullmatch(digest):
        raise PinError(
            f"{path}: sha256 of {name!r} {file!r} is {digest!r}", expected="64 hex digits or null", remedy="correct it"
        )
    if leaves_folder(file):
        raise PinError(
            f"{path}: {name!r} names {file!r}", expected="a path inside the model's folder", remedy="remove it"
        )
    if file.endswith(PICKLES) and ":" not in name:
        raise PinError(
            f"{path}: {name!r} names the pickle {file!r}, which is never opened", remedy="pin .safetensors instead"
        )


def leaves_folder(file: str) -> bool:
    """Return whether a listed path could lead outside the folder that it is listed for."""
    path = PurePosixPath(file)
    return not file or "\\" in file or ":" in file or path.is_absolute() or ".." in path.parts


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(n for n in names if names.count(n) > 1)!r} stands twice")
    return found


def project_pins(own: Path = OWN) -> Pins:
    """Return the shipped pins together with those of a project's own file.

    An entry of the project may be new, or fill in what the shipped one leaves open.

    Raises:
        PinError: the project's file breaks a rule of ``read_pins``, or contradicts a shipped pin.
    """
    known = load_pins()
    if not os.path.lexists(own) or os.path.realpath(own) == os.path.realpath(shipped("PINS.json")):
        return known
    added = read_pins(own)
    return Pins(
        models=_merged(added.models, known.models, own),
        datasets=_merged(added.datasets, known.datasets, own),
    )


def _merged(added: dict[str, Pin], known: dict[str, Pin], path: Path) -> dict[str, Pin]:
    both = {name: _over(pin, known[name], f"{path}: {name!r}") for name, pin in added.items() if name in known}
    return {**known, **added, **both}


def _over(own: Pin, known: Pin, where: str) -> Pin:
    revision = _agreed(own.revision, known.revision, f"{where}: revision", "move it under other_revisions")
    files = _files(own.files, known.files, where)
    others: dict[str, Revision] = {}
    for commit in (*known.other_revisions, *own.other_revisions):
        ours, theirs = (pin.other_revisions.get(commit, Revision()) for pin in (own, known))
        merged = _files(ours.files, theirs.files, f"{where}@{commit}")
        if commit == revision:
            files = _files(merged, files, f"{where}@{commit}")
        else:
            others[commit] = Revision(merged, ours.note or theirs.note)
    fingerprint = _agreed(own.fingerprint, known.fingerprint, f"{where}: fingerprint", "correct or remove it")
    return Pin(revision, files, fingerprint, own.note or known.note, others)


def _files(own: Files, known: Files, where: str) -> Files:
    return {
        file: _agreed(own.get(file), known.get(file), f"{where}: sha256 of {file}", "correct or remove it")
        for file in {**known, **own}
    }


def _agreed(own: T | None, known: T | None, what: str, then: str) -> T | None:
    if own is not None and known is not None and own != known:
        raise PinError(f"{what} is {own}, the package pins {known}", remedy=then)
    return known if own is None else own


def sha256_of(path: Path) -> str:
    """Return the sha256 (hex) of a file's bytes.

    A process reads the file once, and again if the file system says that it changed.

    Raises:
        PinError: the file cannot be read.
    """
    try:
        return _sha256(path, stamp(path))
    except OSError as error:
        raise PinError(
            f"{path} cannot be hashed ({error.strerror})", remedy="allow reading it, or restore it"
        ) from None


@cache
def _sha256(path: Path, _stamp: tuple[int, ...]) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def at_commit(pin: Pin | None, commit: str, name: str, command: str, *, allow_unpinned: bool) -> Pin:
    """Return the pin of a commit; with ``allow_unpinned`` one without files if the commit is not pinned.

    Args:
        pin: the pin of ``name``, if there is one.
        command: command that pins the commit, for the error.

    Raises:
        PinError: the commit is not pinned.
    """
    found = pin.at(commit) if pin else None
    if found is not None or allow_unpinned:
        return found or Pin(commit)
    known = [one for one in pin.commits() if one] if pin else []
    stated = f"PINS.json pins {' and '.join(known)}" if known else "PINS.json does not pin it"
    raise PinError(
        f"{name}@{commit}: {stated}", expected="a pinned commit or --retrieval-allow-unpinned", remedy=command
    )


def verify(found: Mapping[str, str], pin: Pin, name: str) -> None:
    """Refuse files that are missing or differ from their pin, and weights that the pin does not name.

    Args:
        found: sha256 of the files at hand by path, hashed before any is opened.

    Raises:
        PinError: names the file.
    """
    for file, expected in pin.files.items():
        if file not in found:
            raise PinError(
                f"{name}: {file} is missing, PINS.json expects it", remedy="restore the folder or download it again"
            )
        if expected is not None and found[file] != expected:
            raise PinError(
                f"{name}: sha256 of {file} is {found[file]}, PINS.json expects {expected}: it is not the pinned "
                "checkpoint",
                remedy="restore it (a hub's: delete it from the cache), or name the new one and pin it",
            )
    for file in found if pin.files else ():
        if file.endswith(".safetensors") and file not in pin.files:
            raise PinError(
                f"{name}: {file} is not among the files that PINS.json names",
                remedy="remove it or restore the folder",
            )
