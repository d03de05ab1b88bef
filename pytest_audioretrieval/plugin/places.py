"""Folders and files of one pytest run: baselines, pins and the cache, and how a user reads their paths."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.base.shipped import OWN, shipped

if TYPE_CHECKING:
    import pytest

    from pytest_audioretrieval.plugin.settings import Settings
    from pytest_audioretrieval.runs.baselines import Shelf

#: Where pytest's cache folder holds what this plugin keeps.
WITHIN = "d/audioretrieval"


class Places:
    """Folders that the settings name, made on first use."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config, self._settings = config, settings

    @cached_property
    def shelf(self) -> Shelf:
        """The user's baselines in front of those of the package."""
        from pytest_audioretrieval.runs.baselines import Shelf

        own = Path(os.path.normpath(self._settings.path("baselines")))
        return Shelf(own=own, shipped=shipped("baselines"))

    @property
    def pins(self) -> Path:
        """A project's own PINS.json, if it has any."""
        return self._settings.rootpath / OWN

    @cached_property
    def cache(self) -> Path | None:
        """Folder of the embedding store and the index of sounds, or None with ``--retrieval-no-cache``."""
        settings = self._settings
        if settings["no-cache"]:
            return None
        if settings["cache"]:
            return settings.path("cache")
        pytest_cache = getattr(self._config, "cache", None)
        if pytest_cache is None:
            return None
        folder = settings.rootpath / expanded(self._config.getini("cache_dir"))
        with suppress(OSError):  # what cannot be kept there is told by what keeps it
            if settings.rootpath == self._config.rootpath:
                return Path(pytest_cache.mkdir("audioretrieval"))
            # A folder in the command line moved the rootdir: what belongs to this project stays with it.
            new = not folder.exists()
            (folder / WITHIN).mkdir(parents=True, exist_ok=True)
            if new:  # in another one the user may have one
                (folder / ".gitignore").write_text("*\n")
        return folder / WITHIN

    def shown(self, path: Path) -> str:
        """Return a path as a user reads it: relative to the rootdir, or to what travels with the package."""
        root, packaged = self._settings.rootpath, self.shelf.shipped
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
        if path.is_relative_to(packaged):
            return f"packaged {path.relative_to(packaged.parent).as_posix()}"
        return str(path)
