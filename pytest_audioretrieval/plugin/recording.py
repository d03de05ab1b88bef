"""The decision whether a run is recorded, as ``--retrieval-record`` asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import stamp
from pytest_audioretrieval.errors import BaselineError

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.places import Places
    from pytest_audioretrieval.plugin.settings import Settings
    from pytest_audioretrieval.plugin.stored_runs import StoredRuns
    from pytest_audioretrieval.plugin.targets import Target
    from pytest_audioretrieval.runs.run import Run


class Recorder:
    """Knows which baselines were there when the run began, and which are to be written."""

    def __init__(self, settings: Settings, places: Places, stored: StoredRuns) -> None:
        self.mode: str | None = settings["record"]
        self._stored = stored
        paths = places.shelf.own.glob("*/*/*.json") if self.mode else ()
        self._at_start = {path: stamp(path) for path in paths if path.is_file()}

    def written_now(self, path: Path) -> bool:
        """Return whether ``path`` was written since this run began, here or by another xdist worker."""
        return path.is_file() and self._at_start.get(path) != stamp(path)

    def wants(self, target: Target, run: Run, path: Path) -> bool:
        """Return whether a run is to be written to ``path``.

        A run that an earlier test recorded must not be judged against itself by the next one. That is looked up last,
        because another xdist worker's run may be written between the two looks.

        Raises:
            BaselineError: ``new`` finds a baseline that is damaged.
        """
        return self._asked_for(target, run) or self.written_now(path)

    def _asked_for(self, target: Target, run: Run) -> bool:
        from pytest_audioretrieval.runs.baselines import refuse_incomparable
        from pytest_audioretrieval.runs.run import same_outcomes

        if self.mode == "all":
            return True
        try:
            found = self._stored.find(target, target.model)
            if found is None:
                return True
            if self.mode == "new":
                return False
            refuse_incomparable(run, *found)
            return not same_outcomes(run, found[0])
        except BaselineError:
            if self.mode == "new":
                raise
            return True
