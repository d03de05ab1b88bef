"""Paired, clustered comparisons on arrays; names are looked up when used, so that importing this imports no numpy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audioretrieval.stats.multiplicity import holm
    from pytest_audioretrieval.stats.paired import Endpoint, compare, compare_jointly
    from pytest_audioretrieval.stats.verdict import Comparison, Verdict

__all__ = ["Comparison", "Endpoint", "Verdict", "compare", "compare_jointly", "holm"]

_HOME = {"Comparison": "verdict", "Verdict": "verdict", "holm": "multiplicity"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'paired')}"), name)


def __dir__() -> list[str]:
    return __all__
