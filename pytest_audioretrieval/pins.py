"""PINS.json: which revision and which bytes a model or dataset is."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from pytest_audioretrieval.errors import PinError, one_line
from pytest_audioretrieval.shipped import shipped

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pin; what is not known is null, never invented.

    Attributes:
        revision: 40 hex digits of a commit, or null; for built-in data the version of their recipe.
        files: path -> sha256.
        fingerprint: of a dataset, see ``data.fingerprint``.
        note: where the pin comes from, or what is missing.
    """

    revision: str | None
    files: dict[str, str | None] = {}
    fingerprint: str | None = None
    note: str | None = None


class Pins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    models: dict[str, Pin]
    datasets: dict[str, Pin]

    def model(self, name: str) -> Pin | None:
        """The pin of a model, or None."""
        return self.models.get(name)

    def nearest(self, name: str) -> list[str]:
        """Pinned models whose names look like ``name``."""
        return get_close_matches(name, self.models, n=3)

    def dataset_fingerprint(self, name: str) -> str:
        """The fingerprint of a pinned dataset; a missing one is a ``PinError``."""
        pin = self.datasets.get(name)
        if pin is None or pin.fingerprint is None:
            raise PinError(f"PINS.json holds no fingerprint of dataset {name!r}: the package is damaged, reinstall it")
        return pin.fingerprint


@cache
def load_pins(path: Path | None = None) -> Pins:
    """Read PINS.json strictly: unknown or repeated keys, short hashes and anything but the schema are errors."""
    path = path or shipped("PINS.json")
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text, object_pairs_hook=_unique)
        pins = msgspec.json.decode(text, type=Pins)
    except (OSError, ValueError, msgspec.DecodeError) as error:
        raise PinError(
            f"{path}: no readable pins: {one_line(error)}: restore the file or reinstall the package"
        ) from None
    for name, pin in (*pins.models.items(), *pins.datasets.items()):
        if not name.startswith("builtin/") and pin.revision is not None and not _COMMIT.fullmatch(pin.revision):
            raise PinError(f"{path}: revision of {name!r} is {pin.revision!r}, expected 40 hex digits or null")
        for file, digest in pin.files.items():
            if digest is not None and not _SHA256.fullmatch(digest):
                raise PinError(f"{path}: sha256 of {name!r} {file!r} is {digest!r}, expected 64 hex digits or null")
    return pins


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(n for n in names if names.count(n) > 1)!r} stands twice")
    return found


def sha256_of(path: Path) -> str:
    """sha256 (hex) of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify(found: Mapping[str, str], pin: Pin, name: str) -> None:
    """Refuse files that are missing or differ from their pin, and weights that it does not name.

    Args:
        found: path -> sha256 of the files at hand, hashed before any is opened.
    """
    for file, expected in pin.files.items():
        if file not in found:
            raise PinError(f"{name}: {file} is missing, PINS.json expects it: restore the folder or download it again")
        if expected is not None and found[file] != expected:
            raise PinError(
                f"{name}: sha256 of {file} is {found[file]}, PINS.json expects {expected}: "
                "it is not the pinned checkpoint; restore it, or name the new one and pin it"
            )
    for file in found if pin.files else ():
        if file.endswith(".safetensors") and file not in pin.files:
            raise PinError(f"{name}: {file} is not among the files PINS.json names: remove it or restore the folder")
