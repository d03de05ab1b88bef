"""Definitions that an implementation of ranks, metrics or reformulation measures must follow.

    pytest --retrieval-suite properties --retrieval-implementation module:object

Without the option the suite checks this package's own implementation. ``pytest_audioretrieval.testing.Implementation``
lists the functions of an implementation.
"""

from __future__ import annotations

import pytest

from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.plugin.collection import CollectionRefused
from pytest_audioretrieval.plugin.session import session_of


def pytest_generate_tests(metafunc):
    try:
        from pytest_audioretrieval.testing.implementation import load
        from pytest_audioretrieval.testing.properties import CATALOGUE

        implementation = load(session_of(metafunc.config).settings["implementation"])
    except RetrievalError as error:
        raise CollectionRefused(error) from None
    cases = []
    for stated in CATALOGUE:
        missing = stated.missing(implementation)
        marks = [pytest.mark.skip(reason=f"the implementation has no {', '.join(missing)}")] if missing else []
        cases.append(pytest.param(stated, implementation, id=stated.name, marks=marks))
    metafunc.parametrize(("stated", "implementation"), cases)


def test_property(stated, implementation):
    if broken := stated.counterexample(implementation):
        pytest.fail(str(broken), pytrace=False)
