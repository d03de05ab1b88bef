"""Examples in docstrings: every public name has one, and each gives the output it shows."""

from __future__ import annotations

import doctest
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

PUBLIC = [
    "pytest_audioretrieval.api",
    "pytest_audioretrieval.errors",
    "pytest_audioretrieval.metrics",
    "pytest_audioretrieval.stats",
    "pytest_audioretrieval.testing",
    "pytest_audioretrieval.testing.strategies",
]
#: The package itself, whose other rooms are not public.
TOP = "pytest_audioretrieval"


def modules(package: str) -> list[str]:
    """Return the names of a package and of all modules in it."""
    path = getattr(import_module(package), "__path__", [])
    return [package, *(module.name for module in walk_packages(path, f"{package}."))]


def public_names(module: ModuleType) -> list[str]:
    """Return the names that a module exports."""
    defined = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return list(getattr(module, "__all__", defined))


@cache
def examples(module: str) -> dict[str, doctest.DocTest]:
    """Return the docstrings with examples of a module, by the full name of what they document.

    Examples run without the names of their module, because users copy them into a fresh session.
    """
    found = doctest.DocTestFinder().find(import_module(module), globs={})
    return {test.name: test for test in found if test.examples}


NAMES = [f"{package}:{name}" for package in (*PUBLIC, TOP) for name in public_names(import_module(package))]
HOMES = {getattr(import_module(TOP), name).__module__ for name in public_names(import_module(TOP))}
MODULES = sorted({name for package in PUBLIC for name in modules(package)} | HOMES)


@pytest.mark.slow
@pytest.mark.parametrize("module", [name for name in MODULES if examples(name)])
def test_examples_give_the_output_they_show(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    # On a machine that is busy the first draw of an example may take seconds.
    before, patient = settings.default, settings(suppress_health_check=list(HealthCheck), deadline=None)
    settings.register_profile("patient", patient)
    settings.load_profile("patient")
    runner = doctest.DocTestRunner(verbose=False)
    try:
        for test in examples(module).values():
            runner.run(test, clear_globs=False)
    finally:
        settings.register_profile("before", before)
        settings.load_profile("before")
    assert runner.failures == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name: str) -> None:
    package, _, attribute = name.partition(":")
    documented = getattr(import_module(package), attribute)
    assert f"{documented.__module__}.{documented.__name__}" in examples(documented.__module__)
