"""What settings of a model folder may not ask for; read after all files were hashed, before any library reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_audioretrieval.errors import ModelError

#: Settings in which a repository can name classes of its own code.
SETTINGS = ("config.json", "preprocessor_config.json", "processor_config.json", "tokenizer_config.json")
INDEX = ".index.json"
#: Where peft is installed, transformers reads it and may load the weights that it names instead of the folder's.
ADAPTER = "adapter_config.json"


def refuse_unsafe(folder: Path, files: Iterable[str], name: str) -> None:
    """Refuse code of the repository, and an index that names weights which were not hashed.

    Args:
        files: of ``folder``, those that were hashed.
        name: how the model is called in the error.

    Raises:
        ModelError: says which file asks for what.
    """
    known = set(files)
    for file in sorted(known):
        if file in SETTINGS and "auto_map" in _object(folder / file):
            raise ModelError(
                f"{name}: {file} asks for code of its repository (auto_map), which is never run: name a checkpoint "
                "whose classes transformers has, or write a factory of your own (module:factory)"
            )
        if file == ADAPTER:
            raise ModelError(
                f"{name}: {file} names weights elsewhere, which nobody has hashed: merge the adapter into its model "
                "(merge_and_unload) and save that"
            )
        if file.endswith(INDEX):
            weights = _object(folder / file).get("weight_map", {})
            named = set(map(str, weights.values())) if isinstance(weights, dict) else set()
            if foreign := sorted(named - known):
                raise ModelError(
                    f"{name}: {file} names {foreign[0]!r}, which is not among the files beside it: "
                    "restore the folder or download it again"
                )


def _object(path: Path) -> dict[str, Any]:
    """A JSON object; what is none is for the library that reads it to say."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
