"""Backend ``qwen2-audio:NAME``: transformers' Qwen2-Audio as a pair scorer (MASB, Exp. 1 and 2) and a captioner."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.models.bridges.qwen2_audio_prompts import (
    DESCRIBE,
    LABELS,
    LIKELIER,
    LONGEST_CAPTION,
    MATCHES,
    YES_NO,
)
from pytest_audioretrieval.models.registry import describe
from pytest_audioretrieval.pinning.spec import parse

if TYPE_CHECKING:
    from pytest_audioretrieval.models.bridges.qwen2_audio_scorer import Qwen2Audio
    from pytest_audioretrieval.models.types import ModelIdentity


def load(name: str, *, device: str, pins: Path = OWN) -> Qwen2Audio:
    """Load the model ``name``: a hub id, with or without ``@COMMIT``, or a folder.

    Raises:
        SpecError: ``name`` is neither a hub id nor a folder.
        ModelError: the model cannot be loaded.
    """
    # ``weights_sha256`` has checked the pins, and has downloaded missing files.
    folder = _described(name, offline=True, allow_unpinned=True, pins=pins).folder
    from pytest_audioretrieval.models.bridges.qwen2_audio_scorer import Qwen2Audio

    assert folder is not None
    return Qwen2Audio(f"qwen2-audio:{name}", folder, device=device)


def weights_sha256(name: str, *, offline: bool = False, allow_unpinned: bool = False, pins: Path = OWN) -> str:
    """Return a digest over the model's files and its prompts; download missing files."""
    files = _described(name, offline=offline, allow_unpinned=allow_unpinned, pins=pins).weights_sha256
    asked = repr((MATCHES, LIKELIER, DESCRIBE, YES_NO, LABELS, LONGEST_CAPTION))
    return hashlib.sha256(f"{files}\n{asked}".encode()).hexdigest()


load.weights_sha256 = weights_sha256  # type: ignore[attr-defined]


def _described(name: str, *, offline: bool, allow_unpinned: bool, pins: Path) -> ModelIdentity:
    spec = parse(name)
    if spec.kind not in ("hub", "folder"):
        raise SpecError(
            f"qwen2-audio:{name} names no model",
            expected="a hub id (owner/name) or a folder",
            remedy="name one of these",
        )
    return describe(spec, offline=offline, allow_unpinned=allow_unpinned, pins=pins)
