"""Digest of the files that decide a vector of a model which another library loads."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pytest_audioretrieval.models.registry import DECIDING
from pytest_audioretrieval.pinning.pins import PICKLES, sha256_of


def digest(folder: Path, *told: str) -> str:
    """Return the sha256 (hex) over weights, settings, vocabulary and code below ``folder``, and over ``told``.

    Paths and bytes count. Pickles count as weights, since other libraries still open them.

    Args:
        told: further texts that decide a vector, such as a library's version.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix in (*DECIDING, *PICKLES, ".py") and path.is_file())
    lines = [f"{path.relative_to(folder).as_posix()}\0{sha256_of(path)}" for path in files]
    return hashlib.sha256("\n".join([*lines, *told]).encode()).hexdigest()


def holds_file(folder: Path, *endings: str) -> bool:
    """Return whether a file below ``folder`` has one of ``endings``."""
    return any(path.suffix in endings for path in folder.rglob("*"))
