"""Checks of a model folder's settings, made after its files were hashed and before any library reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_audioretrieval.errors import ModelError

#: Settings in which a repository can name classes of its own code.
SETTINGS = ("config.json", "preprocessor_config.json", "processor_config.json", "tokenizer_config.json")
INDEX = ".index.json"
#: File that transformers reads if peft is installed; it may load the weights named there instead of the folder's.
ADAPTER = "adapter_config.json"


def refuse_unsafe(folder: Path, files: Iterable[str], name: str) -> None:
    """Refuse settings that ask for code of the repository, or for weights that were not hashed.

    Args:
        files: names of the files in ``folder`` that were hashed.
        name: name of the model, for errors.

    Raises:
        ModelError: names the file and what it asks for.
    """
    known = set(files)
    for file in sorted(known):
        if file in SETTINGS and "auto_map" in _object(folder / file):
            raise ModelError(
                f"{name}: {file} asks for code of its repository (auto_map), which is never run",
                remedy="name a checkpoint whose classes transformers has, or write a factory of your own "
                "(module:factory)",
            )
        if file == ADAPTER:
            raise ModelError(
                f"{name}: {file} names weights elsewhere, which nobody has hashed",
                remedy="merge the adapter into its model (merge_and_unload) and save that",
            )
        if file.endswith(INDEX):
            weights = _object(folder / file).get("weight_map", {})
            named = set(map(str, weights.values())) if isinstance(weights, dict) else set()
            if foreign := sorted(named - known):
                raise ModelError(
                    f"{name}: {file} names {foreign[0]!r}, which is not among the files beside it",
                    remedy="restore the folder or download it again",
                )


def _object(path: Path) -> dict[str, Any]:
    """Return a file's JSON object, or an empty one: the library that reads a damaged file reports it."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
