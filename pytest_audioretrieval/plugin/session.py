"""The state of one pytest run: what was asked for, and what was loaded or measured so far, each at most once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_audioretrieval.base.files import expanded, stamp
from pytest_audioretrieval.base.importing import beside
from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.base.shipped import OWN, shipped
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.queries import DIRECTIONS, USUAL, Direction
from pytest_audioretrieval.data.registry import Source, source
from pytest_audioretrieval.errors import BaselineError, SpecError
from pytest_audioretrieval.pinning import protocol, spec
from pytest_audioretrieval.pinning.spec import ModelSpec
from pytest_audioretrieval.plugin import collection, settings

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.embedding.embedder import Embedder, Means
    from pytest_audioretrieval.embedding.fused import Fused
    from pytest_audioretrieval.gate.judging import Finding, Level
    from pytest_audioretrieval.runs.baselines import Shelf
    from pytest_audioretrieval.runs.run import Run, Subject

SESSION: pytest.StashKey[RetrievalSession] = pytest.StashKey()

MARKER_KEYS = ("models", "datasets", "directions", "baseline")
DEFAULT_DATASETS = ("sounds",)
#: Names an error lists of models that have a baseline, the nearest first.
SHOWN = 3
#: Options without which the next command would not ask for the same.
KEPT = (
    "suite", "dataset", "baselines", "protocol", "device", "cache", "offline", "allow-unpinned",
    "confidence", "resamples", "seed", "on-inconclusive", "laion-python",
)  # fmt: skip


def session_of(config: pytest.Config) -> RetrievalSession:
    """The state of this run, made on first use: a run without retrieval tests pays nothing for it.

    Raises:
        SpecError: a wrong option.
    """
    if SESSION not in config.stash:
        from pytest_audioretrieval.plugin.collector import Collector

        config.stash[SESSION] = RetrievalSession(config)
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Collector(config.stash[SESSION]), "audioretrieval-reports")
    return config.stash[SESSION]


@dataclass(frozen=True)
class Target:
    """What one parametrized test is about."""

    model: ModelSpec
    source: Source
    direction: Direction
    baseline: str | None = None

    @property
    def id(self) -> str:
        return f"{self.model.id}-{self.source.name}-{self.direction}"

    @property
    def group(self) -> str:
        """Tests of one group want the same vectors, so one xdist worker should run them."""
        return f"{self.model.id}-{self.source.name}"


class RetrievalSession:
    """See the module. Hangs on ``config``; heavy things are made on first use."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = settings.resolve(config)
        self.protocol = protocol.named(self.settings["protocol"], protocol.parse_custom(self.settings.protocol_lines))
        self.track = Tracker(config.pluginmanager.getplugin("capturemanager"), silent=hasattr(config, "workerinput"))
        self.findings: list[Finding] = []
        #: Baselines written by this run, and whether they replaced one.
        self.recorded: dict[Path, bool] = {}
        #: What was counted in what they were measured on.
        self.record_notes: dict[Path, list[str]] = {}
        #: What tests that passed tell, a line each.
        self.said: list[str] = []
        self._names: dict[tuple[str, str], object] = {}
        self._datasets: dict[str, Dataset] = {}
        self._embedders: dict[str, Embedder | Fused] = {}
        self._subjects: dict[tuple[str, str, str], Subject] = {}
        #: What could not be loaded, which no later test tries again: a hub that is down costs its retries once.
        self._refused: dict[tuple[str, str], Exception] = {}
        self._check()
        if self.settings["laion-python"]:
            # Backends are called with a name and a device alone, here as in xdist's workers and without pytest.
            from pytest_audioretrieval.models.laion import LAION_PYTHON

            os.environ[LAION_PYTHON] = str(self.settings.path("laion-python"))
        self._at_start = self._stamps()

    def _check(self) -> None:
        """What is wrong on the command line or in the ini file ends pytest before anything is collected."""
        for text in self.settings["model"]:
            spec.parse(text)
        if self.settings["baseline"]:
            self._recorded(self.settings["baseline"])
        for name in self.settings["dataset"]:
            source(name, self.settings.base("dataset"))

    @cached_property
    def shelf(self) -> Shelf:
        from pytest_audioretrieval.runs.baselines import Shelf

        own = Path(os.path.normpath(self.settings.path("baselines")))
        return Shelf(own=own, shipped=shipped("baselines"))

    @property
    def pins(self) -> Path:
        """Where a project's own pins lie, if it has any."""
        return self.settings.rootpath / OWN

    @cached_property
    def cache(self) -> Path | None:
        """Folder of the embedding store and the index of sounds, or None with ``--retrieval-no-cache``."""
        if self.settings["no-cache"]:
            return None
        if self.settings["cache"]:
            return self.settings.path("cache")
        pytest_cache = getattr(self.config, "cache", None)
        if pytest_cache is None:
            return None
        folder = self.settings.rootpath / expanded(self.config.getini("cache_dir"))
        with suppress(OSError):  # what cannot be kept there is told by what keeps it
            if self.settings.rootpath == self.config.rootpath:
                return Path(pytest_cache.mkdir("audioretrieval"))
            # A folder in the command line moved the rootdir: what belongs to this project stays with it.
            new = not folder.exists()
            (folder / settings.WITHIN).mkdir(parents=True, exist_ok=True)
            if new:  # in another one the user may have one
                (folder / ".gitignore").write_text("*\n")
        return folder / settings.WITHIN

    def targets(self, marker: dict[str, Any]) -> list[Target]:
        """Model x dataset x direction for one test, in a fixed order, each once."""
        _check_marker(marker)
        models = [self._model(str(text)) for text in marker.get("models") or self.settings["model"]]
        # Datasets asked for restrict what a marker lists, or add to it: a packaged suite runs on a user's own clips.
        asked, base = self.settings["dataset"], self.settings.base("dataset")
        names = asked or marker.get("datasets") or DEFAULT_DATASETS
        sources = [self._source(str(name), base if asked else self.settings.rootpath) for name in names]
        directions = marker.get("directions") or USUAL
        baseline = marker.get("baseline") or self.settings["baseline"]
        return list(dict.fromkeys(Target(m, s, d, baseline) for m in models for s in sources for d in directions))

    def _model(self, text: str) -> ModelSpec:
        model = spec.parse(text)
        for one in (model, *model.parts):
            self._one_of_its_name("model", one.id, one.path or one.revision or "no revision")
        return model

    def _source(self, name: str, base: Path) -> Source:
        found = source(name, base)
        self._one_of_its_name("dataset", found.name, found.folder or found.commit or "built in")
        return found

    def _one_of_its_name(self, kind: str, name: str, where: object) -> None:
        """Ids, stored runs and loaded things go by name, so that in one run a name must stand for one thing."""
        other = self._names.setdefault((kind, name), where)
        if other != where:
            raise SpecError(f"two {kind}s are called {name!r} ({other} and {where}): rename one, or run them apart")

    def _stamps(self) -> dict[Path, tuple[int, ...]]:
        if not self.settings["record"]:
            return {}
        return {path: stamp(path) for path in self.shelf.own.glob("*/*/*.json") if path.is_file()}

    def recorded_now(self, path: Path) -> bool:
        """Whether ``path`` was written since this run began, here or by another xdist worker."""
        return path.is_file() and self._at_start.get(path) != stamp(path)

    def dataset(self, target: Target) -> Dataset:
        from pytest_audioretrieval.models.imports import short_waits

        name = target.source.name
        if name not in self._datasets:
            # A task of mteb imports torch.
            with self._tried_once("dataset", name), short_waits():
                self._datasets[name] = target.source.load(
                    Loading(
                        self.cache, self.track, self.settings["offline"], self.settings["allow-unpinned"], self.pins
                    )
                )
        return self._datasets[name]

    def heard(self, dataset: str, name: str) -> str:
        """Where a person can listen to a clip of a loaded dataset; what is no clip is a text, and told as it is."""
        from pytest_audioretrieval.report.listening import heard

        clip = next((clip for clip in self._datasets[dataset].clips if clip.id == name), None)
        return heard(clip, self.cache / "listen" / dataset if self.cache else None) if clip else name

    def named(self, dataset: str) -> str:
        """A dataset of this run as a command takes it: its folder, where it is a user's own, or its name."""
        where, base = self._names.get(("dataset", dataset)), self.settings.invocation_dir
        if not isinstance(where, Path):
            return dataset
        return shlex.quote(str(where.relative_to(base) if where.is_relative_to(base) else where))

    def embedder(self, model: ModelSpec) -> Embedder | Fused:
        """``model``, hashed and loaded when that is needed."""
        from pytest_audioretrieval.embedding.fused import embedder

        with self._tried_once("model", model.id):
            return embedder(model, self._means, self._embedders)

    @contextmanager
    def _tried_once(self, kind: str, name: str) -> Iterator[None]:
        """Around what may fail slowly: its error is raised again at once when it is asked for again."""
        if error := self._refused.get((kind, name)):
            raise error.with_traceback(None)
        try:
            yield
        except Exception as error:  # of a user's own factory, any
            self._refused[kind, name] = error
            raise

    @cached_property
    def _means(self) -> Means:
        from pytest_audioretrieval.embedding.embedder import Means
        from pytest_audioretrieval.embedding.store import Store, place

        device = self.settings["device"]
        return Means(
            self.protocol,
            Store(place(self.cache, device)),
            self.track,
            device=device,
            offline=self.settings["offline"],
            allow_unpinned=self.settings["allow-unpinned"],
            pins=self.pins,
        )

    @cached_property
    def level(self) -> Level:
        """How sure a verdict of this run is."""
        from pytest_audioretrieval.gate.judging import Level

        return Level(self.settings["confidence"], self.settings["resamples"], self.settings["seed"])

    def subject(self, target: Target) -> Subject:
        """The run of ``target``, measured on first use."""
        key = (target.model.id, target.source.name, target.direction)
        if key not in self._subjects:
            from pytest_audioretrieval.runs.measure import measure

            with self._tried_once("run", "-".join(key)):
                self._subjects[key] = measure(self.embedder(target.model), self.dataset(target), target.direction)
        return self._subjects[key]

    def baseline(self, target: Target, override: str | None = None) -> tuple[Run, str]:
        """The stored run to judge against and where it lies.

        Raises:
            BaselineError: there is none, or it is damaged.
        """
        found = self.stored(target, self.baseline_spec(target, override))
        if found is None:
            raise self._missing(target, override)
        return found

    def stored(self, target: Target, model: ModelSpec) -> tuple[Run, str] | None:
        """The stored run of ``model`` on a target's dataset and direction and where it lies, or None."""
        from pytest_audioretrieval.runs import baselines

        path = self.shelf.find(target.source.name, target.direction, model.slug)
        return (baselines.read(path), self.shown(path)) if path else None

    def baseline_spec(self, target: Target, override: str | None = None) -> ModelSpec:
        """The model whose stored run a target is judged against."""
        text = override or target.baseline
        return self._recorded(text) if text else target.model

    def _recorded(self, text: str) -> ModelSpec:
        """The model that ``text`` names, or named when its run was stored: its weights need not be here any more."""
        try:
            return spec.parse(text)
        except SpecError:
            gone = ModelSpec(text=text, kind="folder", id=Path(text).name)
            if gone.id and any(self.shelf.own.glob(f"*/*/{gone.slug}.json")):
                return gone
            raise

    def shown(self, path: Path) -> str:
        """A path as a user reads it: relative to the rootdir, or to what travels with the package."""
        root, shipped = self.settings.rootpath, self.shelf.shipped
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
        if path.is_relative_to(shipped):
            return f"packaged {path.relative_to(shipped.parent).as_posix()}"
        return str(path)

    def _missing(self, target: Target, override: str | None) -> BaselineError:
        """The error of a baseline that is not there: says how to record it, and what there is."""
        wanted = self.baseline_spec(target, override)
        known = self.shelf.known(target.source.name, target.direction)
        near = get_close_matches(wanted.id, known, n=SHOWN, cutoff=0)
        more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
        there = f"; there are {', '.join(near)}{more}" if near else ""
        return BaselineError(
            f"no baseline of {wanted.id} on {target.source.name} {target.direction} in "
            f"{self.shown(self.shelf.own)}{there}: record one with: "
            + self.command(wanted.text, "--retrieval-record", "new")
        )

    @property
    def model_switch(self) -> str:
        """``--model``, unless another plugin or conftest.py has it."""
        return "--retrieval-model" if self.config.stash.get(collection.BARE_TAKEN, False) else collection.BARE

    def command(self, model: str, *more: str) -> str:
        """The command line that asks for the same tests, data and protocol with ``model``."""
        words = [*self._program(model), *self._said(self.model_switch, model)]
        kept = KEPT if "--retrieval-record" in more else (*KEPT, "baseline")
        for option in settings.OPTIONS:
            if option.name in self.settings.explicit and option.name in kept:
                value = self.settings[option.name]
                values = value if option.repeatable else [value]
                said = [word for one in values for word in self._said(option.switch, str(one))]
                words += [option.switch] if option.flag else said
        return shlex.join([*words, *self._paths(), *more])

    def _program(self, model: str) -> list[str]:
        """``python -m pytest`` where the factory lies in the current folder, and no ini file says to look there."""
        module, colon, _ = model.partition(":")
        here = colon and not self.config.getini("pythonpath") and beside(module.partition(".")[0])
        return ["python", "-m", "pytest"] if here else ["pytest"]

    def _said(self, switch: str, value: str) -> list[str]:
        """With ``=`` where the value is a path above or beside: after a space, pytest would look there for its ini."""
        here = self.settings.invocation_dir
        beside = (here / value).exists() and not (here / value).resolve().is_relative_to(here.resolve())
        return [f"{switch}={value}"] if beside else [switch, value]

    def _paths(self) -> list[str]:
        """What was collected besides packaged suites, as one would type it."""
        base = self.settings.invocation_dir
        paths = [Path(arg) for arg in self.config.args if not collection.is_suite(Path(arg))]
        return [path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path) for path in paths]


def _check_marker(marker: dict[str, Any]) -> None:
    """Unknown keywords, lone strings where a list is due, and unknown directions are errors."""
    for key, value in marker.items():
        if key not in MARKER_KEYS:
            raise SpecError(f"marker retrieval: unknown keyword {key!r}: expected one of {', '.join(MARKER_KEYS)}")
        if key == "baseline":
            if not isinstance(value, str | None):
                raise SpecError(f"marker retrieval: {key}={value!r}: expected a string")
        elif isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise SpecError(f"marker retrieval: {key}={value!r}: expected a list that is not empty")
        elif not all(isinstance(one, str | Path) for one in value):
            raise SpecError(f"marker retrieval: {key}={value!r}: expected strings in the list")
    for direction in marker.get("directions", ()):
        if direction not in DIRECTIONS:
            raise SpecError(f"marker retrieval: direction {direction!r}: expected one of {', '.join(DIRECTIONS)}")
