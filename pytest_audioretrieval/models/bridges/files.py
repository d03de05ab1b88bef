"""Which files of a folder decide a vector, where another library loads it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pytest_audioretrieval.models.registry import DECIDING
from pytest_audioretrieval.pinning.pins import PICKLES, sha256_of


def digest(folder: Path, *told: str) -> str:
    """sha256 (hex) over paths and bytes of weights, settings, vocabulary and code below ``folder``, and ``told``.

    Pickles are among the weights: libraries of others still open them.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix in (*DECIDING, *PICKLES, ".py") and path.is_file())
    lines = [f"{path.relative_to(folder).as_posix()}\0{sha256_of(path)}" for path in files]
    return hashlib.sha256("\n".join([*lines, *told]).encode()).hexdigest()


def has(folder: Path, *endings: str) -> bool:
    """Whether a file below ``folder`` has one of these endings."""
    return any(path.suffix in endings for path in folder.rglob("*"))
