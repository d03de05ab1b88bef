"""Retrieval benchmarks for text-to-audio models as pytest cases with statistical verdicts.

The names below are a run without pytest; they are imported when first used, because pytest imports this package
at every start.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audioretrieval.api import evaluate, load_dataset, load_retriever
    from pytest_audioretrieval.pinning.protocol import Protocol
    from pytest_audioretrieval.pinning.spec import ModelSpec

__all__ = ["ModelSpec", "Protocol", "evaluate", "load_dataset", "load_retriever"]

_HOMES = {
    "ModelSpec": "pinning.spec",
    "Protocol": "pinning.protocol",
    "evaluate": "api",
    "load_dataset": "api",
    "load_retriever": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
