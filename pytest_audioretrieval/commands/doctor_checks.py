"""Checks of the things a run needs, without the network and without importing torch."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.importing import BESIDE, beside
from pytest_audioretrieval.commands.doctor_run import NeedsByTarget, Row
from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.gate import throughput
from pytest_audioretrieval.models import laion
from pytest_audioretrieval.models.bridges.sentence_transformers import MINILM, find
from pytest_audioretrieval.models.bridges.two_stage import stages
from pytest_audioretrieval.models.laion import LAION_PYTHON
from pytest_audioretrieval.models.registry import deciding_files, describe
from pytest_audioretrieval.pinning.pins import ADD, Pin, project_pins
from pytest_audioretrieval.pinning.spec import backends
from pytest_audioretrieval.plugin.throughput_needs import GET_BENCHMARK
from pytest_audioretrieval.runs.baselines import protocols

if TYPE_CHECKING:
    from pytest_audioretrieval.pinning.spec import ModelSpec
    from pytest_audioretrieval.plugin.session import RetrievalSession
    from pytest_audioretrieval.plugin.targets import Target

#: Backends of ours -> the distribution that each needs besides this package.
NEEDED = {"mteb": "mteb", "st": "sentence-transformers"}
LAION, TWO_STAGE = "laion_clap", "two-stage"
MEGABYTE = 10**6


def check(session: RetrievalSession, asked: NeedsByTarget) -> list[Row]:
    """Return rows on models, data, stored runs and costs, packages, device and caches, in this order."""
    models = {model.id: model for target in asked for model in (target.model.parts or (target.model,))}
    sources = {target.source.name: target for target in asked}
    rows = [row for model in models.values() for row in _model(model, session)]
    rows += [_dataset(target, session) for target in sources.values()]
    rows += [_baseline(target, session) for target, needs in asked.items() if needs.run]
    timed = {target.model.id: target.model for target, needs in asked.items() if needs.costs}
    rows += [row for model in timed.values() for row in _costs(model, session)]
    rows += [*_packages(), *([_benchmark(session)] if timed else []), _device(session), _store(session)]
    if any(model.kind == "hub" for model in models.values()):
        rows.append(_hub_cache())
    return rows


def _wrong(what: str, name: str, error: RetrievalError) -> Row:
    # A row without a next step would read as ok.
    return Row(what, name, error.problem, error.remedy or (f"give {error.expected}" if error.expected else "mend it"))


def _model(model: ModelSpec, session: RetrievalSession) -> Iterator[Row]:
    if model.kind in ("backend", "factory"):
        try:
            yield from _code(model, session)
        except RetrievalError as error:
            yield _wrong("model", model.text, error)
        return
    name = f"{model.id}@{model.revision}" if model.revision else model.id
    try:
        if model.kind == "hub":
            from pytest_audioretrieval.models.hub import download, pinned_commit

            allow = session.settings["allow-unpinned"]
            commit = pinned_commit(model, project_pins(session.places.pins), allow_unpinned=allow)
            name = f"{model.id}@{commit}"
            try:
                download(model.id, commit, offline=True)
            except RetrievalError:
                yield Row("model", name, "not, or not whole, in the local cache", f"{ADD} {name}")
                return
        yield Row("model", name, _identified(model, session))
    except RetrievalError as error:
        yield _wrong("model", name, error)


def _identified(model: ModelSpec, session: RetrievalSession) -> str:
    """Return how many of a model's files are pinned; a file that differs from its pin raises."""
    settings = session.settings
    who = describe(model, offline=True, allow_unpinned=settings["allow-unpinned"], pins=session.places.pins)
    if model.kind == "folder" or who.folder is None:
        return f"{who.folder}: a folder, not pinned; weights {who.weights_sha256[:12]}"
    pin = project_pins(session.places.pins).model(model.id)
    known = ((pin.at(who.revision) if pin else None) or Pin(None)).files
    files = deciding_files(who.folder)
    equal = sum(known.get(file) is not None for file in files)
    rest = f"; no hash is pinned of {len(files) - equal} more ({ADD} completes them)" if equal < len(files) else ""
    return f"{equal} of {len(files)} files are as pinned{rest}"


def _code(model: ModelSpec, session: RetrievalSession) -> Iterator[Row]:
    """Yield rows on a backend or factory, which is looked for and not imported: it may import torch."""
    backend, _, name = model.text.partition(":")
    if model.kind == "factory":
        yield _module("model", model.text, backend, f"no backend is registered as {backend!r}, and ")
        return
    yield _module("model", model.text, backends()[backend].module, f"backend {backend!r} is registered, but ")
    if needed := MINILM if name == MINILM else NEEDED.get(backend):
        yield _package(needed)
    if backend == "st" and name != MINILM:
        yield _sentences(model.text, name, session)
    if backend == "mteb":
        yield _of_mteb(name)
    if backend == TWO_STAGE:
        for stage in stages(name):
            yield from _model(stage, session)
    if backend == LAION:
        python = Path(os.environ.get(LAION_PYTHON) or laion.DEFAULT)
        then = "" if python.is_file() else laion.REMEDY
        yield Row("environment", LAION, str(python) if not then else f"no Python at {python}", then)
        then = "" if Path(name).is_file() else "give the path of a checkpoint of laion_clap"
        yield Row("checkpoint", name, "here" if not then else "no such file", then)


def _sentences(text: str, name: str, session: RetrievalSession) -> Row:
    allow = session.settings["allow-unpinned"]
    try:
        return Row("files", text, str(find(name, offline=True, allow_unpinned=allow, pins=session.places.pins)))
    except RetrievalError as error:
        return _wrong("files", text, error)


def _of_mteb(name: str) -> Row:
    """Return the commits in the local cache; only mteb itself knows which one it asks for."""
    from pytest_audioretrieval.models.hub import snapshots

    commits = [commit[:12] for commit in snapshots(name)]
    if not commits:
        then = "run it once without --retrieval-offline: mteb downloads what it loads"
        return Row("files", f"mteb:{name}", "nothing in the local cache", then)
    return Row("files", f"mteb:{name}", f"of {', '.join(commits)} in the local cache; mteb says which it loads")


def _module(what: str, name: str, module: str, context: str) -> Row:
    # The packages above a module would be imported to look for it.
    top = module.partition(".")[0]
    if importlib.util.find_spec(top) is None:
        if beside(top):
            return Row(what, name, f"{context}`pytest` does not look for module {top!r} in this folder", BESIDE)
        return Row(what, name, f"{context}there is no module {top!r}", f"install what has {top!r}, or mend the name")
    return Row(what, name, f"module {module} is importable as far as can be seen without importing it")


def _dataset(target: Target, session: RetrievalSession) -> Row:
    name = target.source.name
    try:
        dataset = session.measurements.dataset(target)
    except RetrievalError as error:
        return _wrong("dataset", name, error)
    where = f"folder {target.source.folder}" if target.source.folder else f"revision {dataset.revision}"
    return Row("dataset", name, f"{len(dataset.clips)} clips, {len(dataset.captions)} captions; {where}")


def _baseline(target: Target, session: RetrievalSession) -> Row:
    wanted = session.stored.model(target)
    name = f"{wanted.id} on {target.source.name} {target.direction}"
    if session.settings["record"]:
        return Row("baseline", name, "written by this run")
    try:
        found = session.stored.find(target, wanted)
    except RetrievalError as error:
        return _wrong("baseline", name, error)
    if found is None:
        then = session.command(wanted.text, "--retrieval-record", "new")
        return Row("baseline", name, session.stored.missing(target, wanted).problem, then)
    run, path = found
    now = session.protocol.stated()
    if any(new != old for _, new, old in protocols(now, run.protocol)):
        then = f"--retrieval-protocol {run.protocol.get('name')}, or --retrieval-record changed"
        return Row("baseline", name, f"{path} is of another protocol ({run.protocol.get('name')})", then)
    return Row("baseline", name, path)


def _costs(model: ModelSpec, session: RetrievalSession) -> Iterator[Row]:
    """Yield rows on the stored costs of a model; only the test knows which of them it judges."""
    record, stored = session.settings["record"], throughput.stored_of(model.slug, session.places.shelf)
    if record and (record != "new" or not stored):
        yield Row("cost", model.id, "written by this run")
    elif not stored:
        yield Row("cost", model.id, "none is stored", session.command(model.text, "--retrieval-record", "new"))
    else:
        yield from (_cost(f"{what} of {model.id}", path, session) for what, path in stored.items())


def _cost(name: str, path: Path, session: RetrievalSession) -> Row:
    shown, device = session.places.shown(path), session.settings["device"].partition(":")[0]
    try:
        stored = throughput.read(path)
        # Which one "auto" is, torch says.
        device = stored.device if device == "auto" else device
        throughput.refuse_incomparable(stored, device, session.protocol.name, shown)
    except RetrievalError as error:
        return _wrong("cost", name, error)
    return Row("cost", name, shown)


def _benchmark(session: RetrievalSession) -> Row:
    """Return the row on pytest-benchmark, without which tests of throughput are skipped."""
    if session.config.pluginmanager.hasplugin("benchmark"):
        return _package("pytest-benchmark")
    return Row("package", "pytest-benchmark", "pytest does not load it", GET_BENCHMARK)


def _packages() -> Iterator[Row]:
    """Yield one row for all packages that are as required, and one for each that is not."""
    from packaging.requirements import Requirement

    needed = [Requirement(line) for line in metadata.requires("pytest-audioretrieval") or ()]
    rows = [_package(one.name, str(one.specifier)) for one in needed if one.marker is None or one.marker.evaluate()]
    there = ", ".join(f"{row.name} {row.found}" for row in rows if not row.next)
    yield Row("packages", "required", there)
    yield from (row for row in rows if row.next)


def _package(name: str, versions: str = "") -> Row:
    from packaging.specifiers import SpecifierSet

    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Row("package", name, "not installed", f"pip install '{name}{versions}'")
    fits = SpecifierSet(versions).contains(found, prereleases=True)
    return Row("package", name, found, "" if fits else f"pip install '{name}{versions}'")


def _device(session: RetrievalSession) -> Row:
    device = session.settings["device"]
    if importlib.util.find_spec("torch") is None:
        return Row("device", device, "torch is not installed", "pip install torch")
    if device in ("auto", "cpu"):
        return Row("device", device, "torch chooses when the run starts" if device == "auto" else "always there")
    from pytest_audioretrieval.models.device import choose

    try:
        return Row("device", device, choose(device))
    except RetrievalError as error:
        return _wrong("device", device, error)


def _store(session: RetrievalSession) -> Row:
    try:
        folder = session.places.cache
    except OSError as error:
        return Row(
            "cache", "vectors", f"{error.strerror}: {error.filename}", "--retrieval-cache DIR that can be written"
        )
    if folder is None:
        return Row("cache", "vectors", "none is kept, every clip is embedded anew")
    sizes = [path.stat().st_size for path in _files(folder)]
    found = f"{folder}: {sum(sizes) / MEGABYTE:.1f} MB in {len(sizes)} files"
    return Row("cache", "vectors", found, "" if _writable(folder) else "--retrieval-cache DIR that can be written")


def _hub_cache() -> Row:
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE).absolute()
    found = f"{folder}: {shutil.disk_usage(_existing(folder)).free / MEGABYTE:,.0f} MB free"
    return Row("cache", "hub", found, "" if _writable(folder) else "set HF_HOME to a folder that can be written")


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _writable(folder: Path) -> bool:
    """Return whether a file can be made, by trying: permissions say nothing of a read-only disk."""
    if folder.is_symlink() and not folder.exists():
        return False  # no folder is made where a link leads
    try:
        with tempfile.TemporaryFile(dir=_existing(folder)):
            return True
    except OSError:
        return False


def _existing(folder: Path) -> Path:
    """Return ``folder``, or the nearest one above it that exists, where it would be made."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
