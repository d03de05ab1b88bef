"""Wording of the command that a user runs next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.importing import beside
from pytest_audioretrieval.plugin.bare_model import BARE, BARE_TAKEN
from pytest_audioretrieval.plugin.settings import OPTIONS
from pytest_audioretrieval.plugin.suites import is_suite

if TYPE_CHECKING:
    import pytest

    from pytest_audioretrieval.plugin.settings import Settings


class NextCommand:
    """Writes command lines that ask for the same tests, data and protocol."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config, self._settings = config, settings

    def __call__(self, model: str, *more: str) -> str:
        """Return the command line for ``model``, with ``more`` arguments."""
        words = [*self._program(model), *self._option(self._model_switch, model)]
        dropped = "baseline" if "--retrieval-record" in more else None
        for option in OPTIONS:
            if option.kept and option.name in self._settings.explicit and option.name != dropped:
                value = self._settings[option.name]
                values = value if option.repeatable else [value]
                typed = [word for one in values for word in self._option(option.switch, str(one))]
                words += [option.switch] if option.flag else typed
        return shlex.join([*words, *self._paths(), *more])

    @property
    def _model_switch(self) -> str:
        """The switch ``--model``, unless another plugin or conftest.py has it."""
        return "--retrieval-model" if self._config.stash.get(BARE_TAKEN, False) else BARE

    def _program(self, model: str) -> list[str]:
        """Return ``python -m pytest`` for a factory in the current folder, unless an ini file says to look there."""
        module, colon, _ = model.partition(":")
        here = colon and not self._config.getini("pythonpath") and beside(module.partition(".")[0])
        return ["python", "-m", "pytest"] if here else ["pytest"]

    def _option(self, switch: str, value: str) -> list[str]:
        """Write ``=`` before a path above or beside this folder: after a space, pytest would look there for its ini."""
        here = self._settings.invocation_dir
        elsewhere = (here / value).exists() and not (here / value).resolve().is_relative_to(here.resolve())
        return [f"{switch}={value}"] if elsewhere else [switch, value]

    def _paths(self) -> list[str]:
        """Return the paths that were collected besides packaged suites, as one would type them."""
        base = self._settings.invocation_dir
        paths = [Path(arg) for arg in self._config.args if not is_suite(Path(arg))]
        return [path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path) for path in paths]
