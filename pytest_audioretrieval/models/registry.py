"""From a spec to a model: who it is (hashed, no torch), and the thing itself.

Third parties register ``BACKEND = "module:factory"`` as an entry point (``base.registered.MODELS``); it is called
``factory(name, device=device)`` with the name after the colon. A spec ``module:factory`` needs no registration and is
called ``factory(device=device)``. Both return a ``Retriever`` or a ``PairScorer``; ``weights_sha256``, an attribute of
the factory that is called alike but without the device, states the weights, or ``""`` where it cannot. Where it has
parameters ``offline``, ``allow_unpinned`` or ``pins`` it gets what the user said, and so does a factory with
``offline`` or ``pins``.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.base.importing import BESIDE, beside, imported
from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.errors import ModelError, SpecError, one_line
from pytest_audioretrieval.models.imports import frameworks
from pytest_audioretrieval.models.safety import refuse_unsafe
from pytest_audioretrieval.models.types import PAIR_SCORER, RETRIEVER, ModelIdentity, is_pair_scorer, is_retriever
from pytest_audioretrieval.pinning import spec as specs
from pytest_audioretrieval.pinning.pins import project_pins, sha256_of, verify

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_audioretrieval.models.types import Model, Retriever
    from pytest_audioretrieval.pinning.spec import ModelSpec

#: Attribute of a factory.
STATED = "weights_sha256"
#: Endings of the files that decide a vector: weights, settings, vocabulary, chat template.
DECIDING = (".safetensors", ".json", ".txt", ".model", ".jinja")
#: Files in a model folder that decide nothing.
RECORDS = ("training.json",)


def describe(spec: ModelSpec, *, offline: bool, allow_unpinned: bool, pins: Path = OWN) -> ModelIdentity:
    """Find a model's files, check them against PINS.json, and say who it is, without importing torch.

    Args:
        pins: a project's own PINS.json, where there is one.
    """
    if spec.kind in ("backend", "factory"):
        return ModelIdentity(spec.id, None, stated(spec, offline=offline, allow_unpinned=allow_unpinned, pins=pins))
    known = project_pins(pins)
    if spec.kind == "hub":
        from pytest_audioretrieval.models.hub import fetch

        folder, revision = fetch(spec, known, offline=offline, allow_unpinned=allow_unpinned)
        name = f"{spec.id}@{revision}"
    else:
        folder, revision = spec.path or Path(), None
        name = str(folder)
    files = deciding_files(folder, name)
    pin = None if spec.kind == "folder" else known.model(spec.id)
    pin = pin.at(revision) if pin else None
    if pin is not None:
        verify(files, pin, spec.id)
    elif spec.kind == "builtin":
        raise ModelError(f"{spec.id} has no pin: PINS.json is damaged, reinstall the package")
    refuse_unsafe(folder, files, name)
    digest = hashlib.sha256("".join(f"{name}\0{found}\n" for name, found in sorted(files.items())).encode())
    return ModelIdentity(spec.id, revision, digest.hexdigest(), folder)


def deciding_files(folder: Path, name: str | None = None) -> dict[str, str]:
    """Path -> sha256 of the files in ``folder`` that decide a vector.

    Args:
        name: how the model is called in an error; default: as its folder.

    Raises:
        ModelError: no model folder: no config.json, or weights only as a pickle.
    """
    found = deciding_paths(folder)
    if "config.json" not in found:
        raise ModelError(f"{name or folder} holds no config.json: give a folder written by save_pretrained")
    if not any(name.endswith(".safetensors") for name in found):
        raise ModelError(
            f"{name or folder} holds no .safetensors weights: save it anew with save_pretrained, pickles are not opened"
        )
    return {name: sha256_of(path) for name, path in found.items()}


def deciding_paths(folder: Path) -> dict[str, Path]:
    """Name -> path of the files in ``folder`` that decide a vector, if it is one."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else ()
    return {p.name: p for p in paths if p.is_file() and p.suffix in DECIDING and p.name not in RECORDS}


def load(spec: ModelSpec, identity: ModelIdentity, *, device: str, offline: bool = False, pins: Path = OWN) -> Model:
    """Load the model that ``describe`` found onto ``device``; imports torch."""
    if spec.kind in ("backend", "factory"):
        return _model(made(spec, device=device, offline=offline, pins=pins), spec)
    if identity.folder is None:
        raise ModelError(f"{spec.id} has no files to load")
    with frameworks():
        from pytest_audioretrieval.models.clap import Clap
    return Clap(identity.folder, device=device)


def retriever(model: Model, name: str) -> Retriever:
    """``model`` itself; ``SpecError`` where it has no vectors."""
    if is_retriever(model):
        return model
    raise SpecError(
        f"{name} scores one pair at a time and embeds nothing: ask in direction choice, e.g. "
        "--retrieval-suite binding -k choice"
    )


def _factory(spec: ModelSpec) -> tuple[Any, list[str]]:
    """What makes the model, and what it is called with besides the device."""
    if spec.kind == "factory":
        return _imported(spec), []
    backend, _, name = spec.text.partition(":")
    return _backend(specs.backends()[backend]), [name]


def stated(spec: ModelSpec, *, offline: bool, allow_unpinned: bool, pins: Path = OWN) -> str:
    """What the factory of a backend or module says its weights are: 64 hex digits, or ``""``."""
    factory, arguments = _factory(spec)
    state = getattr(factory, STATED, "")
    found = state
    if callable(state):
        said = _taken(state, offline=offline, allow_unpinned=allow_unpinned, pins=pins)
        call = f"{STATED}({', '.join(arguments)})"
        try:
            found = _answered(
                spec, STATED, call, "what the factory takes, without the device", state, *arguments, **said
            )
        except OSError as error:
            raise ModelError(f"model {spec.text!r}: {one_line(error)}: mend the name, or restore the file") from None
    elif not state:
        return ""
    if not (callable(state) and isinstance(found, str) and re.fullmatch("([0-9a-f]{64})?", found)):
        raise ModelError(
            f"model {spec.text!r} states {STATED} {found!r}: expected a function that returns 64 hex digits, "
            "over all that decides its answers"
        )
    return found


def _taken(function: Any, **said: Any) -> dict[str, Any]:
    """What of ``said`` a function has parameters for."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # what has none is told so as it is called
        return {}
    return {name: value for name, value in said.items() if name in parameters}


def _backend(point: EntryPoint) -> Any:
    try:
        return imported(f"{point.module}:{point.attr}")
    except (ImportError, AttributeError) as error:
        raise ModelError(
            f"backend {point.name!r} ({point.value}) cannot be imported: {one_line(error)}: install what it needs"
        ) from None


def _imported(spec: ModelSpec) -> Any:
    try:
        return imported(spec.text)
    except (ImportError, AttributeError) as error:
        module = spec.text.partition(":")[0]
        known = ", ".join(sorted(specs.backends())) or "none"
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0] and beside(error.name):
            raise ModelError(
                f"model {spec.text!r}: {one_line(error)}, which is here, but not where modules are looked for: {BESIDE}"
            ) from None
        raise ModelError(
            f"model {spec.text!r}: {one_line(error)}: {module!r} is no registered backend (there are: {known}) "
            "and no importable module with that factory"
        ) from None


def made(spec: ModelSpec, *, device: str, offline: bool = False, pins: Path = OWN) -> Any:
    """What the factory of a backend or module returns."""
    factory, arguments = _factory(spec)
    if not callable(factory):
        raise ModelError(f"model {spec.text!r} is {type(factory).__name__}, expected a function that returns a model")
    said = {"device": device, **_taken(factory, offline=offline, pins=pins)}
    call = f"factory({', '.join([*arguments, 'device=...'])})"
    return _answered(spec, "factory", call, "the device that the user chose", factory, *arguments, **said)


def _answered(
    spec: ModelSpec, what: str, call: str, takes: str, ask: Callable[..., Any], *arguments: Any, **said: Any
) -> Any:
    try:
        inspect.signature(ask).bind(*arguments, **said)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"model {spec.text!r}: its {what} cannot be called as {call} ({error}): it takes {takes}"
        ) from None
    try:
        return ask(*arguments, **said)
    except SystemExit as error:  # pytest would end with it, and say nothing
        raise ModelError(f"model {spec.text!r}: its {what} ended the process (exit {error.code})") from None


def _model(found: Any, spec: ModelSpec) -> Model:
    if isinstance(found, type):
        raise ModelError(f"model {spec.text!r}: its factory returned the class {found.__name__}: return an instance")
    if is_retriever(found) or is_pair_scorer(found):
        if not isinstance(found.device, str):
            raise ModelError(
                f"model {spec.text!r}: its device is {type(found.device).__name__} {str(found.device)!r}: "
                "expected a string, as torch writes it, such as 'cpu'"
            )
        return found
    needed, kind = (PAIR_SCORER, "PairScorer") if hasattr(found, "score") else (RETRIEVER, "Retriever or PairScorer")
    missing = next(name for name in needed if not hasattr(found, name))
    raise ModelError(
        f"model {spec.text!r}: its factory returned {type(found).__name__} without {missing!r}: see {kind}"
    )
