"""Loading of a transformers model from its folder: all of its weights, and no code or pickle."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pytest_audioretrieval.errors import ModelError, one_line
from pytest_audioretrieval.models.inference import quiet_transformers

T = TypeVar("T")
#: Endings of buffers that some versions save and others compute (fault 72).
COMPUTED = ("position_ids", "token_type_ids", "relative_position_index", "num_batches_tracked")


def pretrained(folder: Path, model: Any, called: str, parts: Callable[[], T]) -> tuple[Any, T]:
    """Load a model in float32 and eval mode, and its other ``parts``: tokenizer, front-end.

    Args:
        folder: folder written by ``save_pretrained``, whose files have been hashed.
        model: class of transformers.
        called: name of the kind of model, for errors.
        parts: loads the other parts.

    Raises:
        ModelError: the folder holds another kind of model, cannot be loaded, or lacks weights.
    """
    kind = model.config_class.model_type
    try:
        with quiet_transformers():
            found = model.config_class.get_config_dict(folder, local_files_only=True)[0].get("model_type")
            if found != kind:
                raise ValueError(f"config.json says model_type {found!r}, expected {kind!r}")
            made, report = model.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # told by ``_check_weights``, by name
            )
            others = parts()
    except Exception as error:  # of json, safetensors, tokenizers, torch or transformers, by what is wrong
        raise ModelError(
            f"{folder} is no loadable {called}: {one_line(error)}", remedy="restore the folder or save it anew"
        ) from None
    _check_weights(folder, report)
    return made.float().eval(), others


def _check_weights(folder: Path, report: Any) -> None:
    lost = sorted({*report["missing_keys"], *(key for key, *_shapes in report["mismatched_keys"])})
    if lost:
        raise ModelError(
            f"{folder}: weights lack {len(lost)} tensors, first {lost[0]}: they belong to another config",
            remedy="save model and config together",
        )
    foreign = [key for key in report["unexpected_keys"] if not key.endswith(COMPUTED)]
    if foreign:
        warnings.warn(
            f"{folder}: {len(foreign)} tensors have no place in the model of its config and are not used, "
            f"first {min(foreign)}",
            stacklevel=5,
        )
