"""State of one pytest run: a part each for what was asked for, measured, stored and recorded."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.pinning import protocol
from pytest_audioretrieval.plugin import settings
from pytest_audioretrieval.plugin.collector import ReportWriter
from pytest_audioretrieval.plugin.measurements import Measurements
from pytest_audioretrieval.plugin.next_command import NextCommand
from pytest_audioretrieval.plugin.places import Places
from pytest_audioretrieval.plugin.recording import Recorder
from pytest_audioretrieval.plugin.stored_runs import StoredRuns
from pytest_audioretrieval.plugin.targets import Targets

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.gate.findings import Level

SESSION: pytest.StashKey[RetrievalSession] = pytest.StashKey()


def session_of(config: pytest.Config) -> RetrievalSession:
    """Return the state of this run, made on first use: a run without retrieval tests pays nothing for it.

    Raises:
        SpecError: a wrong option.
    """
    if SESSION not in config.stash:
        made = config.stash[SESSION] = RetrievalSession(config)
        if not hasattr(config, "workerinput"):
            collector = ReportWriter(config, made.settings, made.places)
            config.pluginmanager.register(collector, "audioretrieval-reports")
    return config.stash[SESSION]


class RetrievalSession:
    """Parts that the hooks and fixtures of one pytest run share.

    Attributes:
        settings: the options, resolved.
        protocol: how sound and text become vectors.
        places: folders and files.
        targets: models, datasets and directions of a test.
        command: wording of the command to run next.
        stored: runs to judge against.
        recorder: decides what is recorded.
        measurements: datasets, models and runs.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = settings.resolve(config)
        self.protocol = protocol.named(self.settings["protocol"], protocol.parse_custom(self.settings.protocol_lines))
        self.places = Places(config, self.settings)
        self.targets = Targets(self.settings)
        self.command = NextCommand(config, self.settings)
        self.stored = StoredRuns(self.places, self.command)
        if self.settings["baseline"]:
            self.stored.named(self.settings["baseline"])  # a wrong name ends pytest before anything is collected
        self.recorder = Recorder(self.settings, self.places, self.stored)
        self.measurements = Measurements(lambda: self.resources)
        if self.settings["laion-python"]:
            from pytest_audioretrieval.models.laion import LAION_PYTHON

            # Backends are called with a name and a device alone, here as in xdist's workers and without pytest.
            os.environ[LAION_PYTHON] = str(self.settings.path("laion-python"))

    @cached_property
    def resources(self) -> Resources:
        """Settings that models and datasets are loaded with."""
        from pytest_audioretrieval.embedding.resources import Resources

        capture, is_worker = self.config.pluginmanager.getplugin("capturemanager"), hasattr(self.config, "workerinput")
        return Resources(
            self.protocol,
            self.places.cache,
            Tracker(capture, silent=is_worker),
            self.settings["device"],
            offline=self.settings["offline"],
            allow_unpinned=self.settings["allow-unpinned"],
            pins=self.places.pins,
        )

    @cached_property
    def level(self) -> Level:
        """Confidence of the verdicts of this run."""
        from pytest_audioretrieval.gate.findings import Level

        return Level(self.settings["confidence"], self.settings["resamples"], self.settings["seed"])
