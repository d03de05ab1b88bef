"""Checkpoints of a hub at a pinned commit, through huggingface_hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.errors import ModelError, PinError, one_line
from pytest_audioretrieval.pins import load_pins

if TYPE_CHECKING:
    from pytest_audioretrieval.spec import ModelSpec

#: No pickle is ever downloaded.
WANTED = ["*.json", "*.txt", "*.model", "*.safetensors"]
#: Other formats of the same weights lie in folders of their own.
NESTED = ["*/*"]


def fetch(spec: ModelSpec, *, offline: bool, allow_unpinned: bool, ignore: Sequence[str] = NESTED) -> tuple[Path, str]:
    """The folder of a hub model at its commit, downloaded where it is not cached, and the commit.

    Args:
        ignore: patterns of files that are left where they are.

    Raises:
        PinError: PINS.json does not pin the model, or at another commit than asked for.
        ModelError: the hub, or with ``offline`` the cache, does not have it.
    """
    commit = _commit(spec, allow_unpinned)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = snapshot_download(
            spec.id, revision=commit, allow_patterns=WANTED, ignore_patterns=list(ignore), local_files_only=offline
        )
    except LocalEntryNotFoundError:
        why = (
            "it is not in the local cache and --retrieval-offline forbids the network"
            if offline
            else "the hub was not reached"
        )
        raise ModelError(f"{spec.id}@{commit}: {why}: download it once with a network connection") from None
    except Exception as error:  # of requests, httpx or xet, by the client's version
        raise ModelError(
            f"{spec.id}@{commit} could not be downloaded: {one_line(error)}: check the id, the commit and your access"
        ) from None
    return Path(folder), commit


def _commit(spec: ModelSpec, allow_unpinned: bool) -> str:
    pins = load_pins()
    pin = pins.model(spec.id)
    commit = spec.revision or (pin.revision if pin else None)
    if pin is not None and pin.revision is not None and commit == pin.revision:
        return commit
    if commit is None:
        near = pins.nearest(spec.id)
        hint = f" (pinned are {', '.join(near)})" if near else ""
        raise PinError(
            f"{spec.id} is not pinned{hint}: name a commit, {spec.id}@<40 hex digits>, and --retrieval-allow-unpinned"
        )
    if not allow_unpinned:
        pinned = f"PINS.json pins {pin.revision}" if pin and pin.revision else "PINS.json does not pin it"
        raise PinError(
            f"{spec.id}@{commit}: {pinned}: pass --retrieval-allow-unpinned to judge this commit all the same"
        )
    return commit
