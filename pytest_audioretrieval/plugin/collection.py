"""Test cases: one per model x dataset x direction for each test that asks for a target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_audioretrieval.errors import RetrievalError, SpecError
from pytest_audioretrieval.plugin.settings import DEFAULT_MODEL
from pytest_audioretrieval.plugin.suites import is_suite

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.session import RetrievalSession


class CollectionRefused(pytest.Collector.CollectError):
    """One of our errors while tests are collected; unlike a ``UsageError`` it ends in one line, without a traceback."""

    def __init__(self, error: RetrievalError, nodeid: str = "") -> None:
        super().__init__(f"{nodeid}: {error}" if nodeid else str(error))
        self.error = error


def rests_on_target(metafunc: pytest.Metafunc) -> bool:
    """Return whether a test asks for a target, by itself or through a fixture.

    Names such as ``dataset`` are common: what another ``pytest_generate_tests`` gives values to is no fixture of ours,
    and pytest drops what that fixture would have asked for only after all hooks have run.
    """
    if "retrieval_target" not in metafunc.fixturenames:
        return False
    known = metafunc.definition._fixtureinfo
    left = replace(known, names_closure=list(known.names_closure))
    left.prune_dependency_tree()
    return "retrieval_target" in left.names_closure


def parametrize(metafunc: pytest.Metafunc, session: RetrievalSession) -> None:
    """Give a test that asks for a target one case per model x dataset x direction.

    A packaged suite runs on a built-in checkpoint where no model is named; a user's own test fails then, because
    a forgotten model must not pass.
    """
    marker: dict[str, Any] = {}
    for mark in reversed(list(metafunc.definition.iter_markers("retrieval"))):
        if mark.args:
            found = f"marker retrieval takes keywords only, found {mark.args!r}"
            raise SpecError(found, remedy="write datasets=[...]")
        marker |= mark.kwargs
    if is_suite(metafunc.definition.path):
        marker.setdefault("models", session.settings["model"] or (DEFAULT_MODEL,))
    grouped = metafunc.config.pluginmanager.hasplugin("xdist")
    cases = [
        pytest.param(target, id=target.id, marks=[pytest.mark.xdist_group(target.group)] if grouped else [])
        for target in session.targets.of(marker)
    ]
    nobody = [pytest.param(None, id="no-model")]
    metafunc.parametrize("retrieval_target", cases or nobody, indirect=True, scope="session")
