"""``from pytest_audioretrieval import ...`` means the same whatever was imported before."""

from __future__ import annotations

from pathlib import Path
from pkgutil import iter_modules

import pytest_audioretrieval


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """An imported submodule becomes an attribute of its package, and hides what is looked up there."""
    modules = {module.name for module in iter_modules([str(Path(pytest_audioretrieval.__file__).parent)])}
    assert not modules & set(pytest_audioretrieval.__all__)


def test_evaluate_is_a_function_after_its_first_use() -> None:
    from pytest_audioretrieval import api
    from pytest_audioretrieval.runs import measure

    assert pytest_audioretrieval.evaluate is api.evaluate
    assert callable(measure.measure)
