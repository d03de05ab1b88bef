"""Models by their specs: identity (hashed without torch), and loading.

Third parties register ``BACKEND = "module:factory"`` as an entry point (``base.registered.MODELS``); it is called
``factory(name, device=device)`` with the name after the colon. A spec ``module:factory`` needs no registration and is
called ``factory(device=device)``. Both return a ``Retriever`` or a ``PairScorer``.

A factory states its weights by an attribute ``weights_sha256``, a function that takes what the factory takes except the
device, and returns 64 hex digits, or ``""`` if the weights are unknown. It gets the user's values of ``offline``,
``allow_unpinned`` and ``pins`` if it has parameters of these names; a factory gets ``offline`` and ``pins`` likewise.
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

#: Attribute of a factory that states its weights.
STATED = "weights_sha256"
#: Endings of the files that decide a vector: weights, settings, vocabulary, chat template.
DECIDING = (".safetensors", ".json", ".txt", ".model", ".jinja")
#: Files of a model folder with such an ending that decide no vector.
RECORDS = ("training.json",)


def describe(spec: ModelSpec, *, offline: bool, allow_unpinned: bool, pins: Path = OWN) -> ModelIdentity:
    """Find a model's files, check them against PINS.json and return its identity; torch is not imported.

    Args:
        pins: a project's own PINS.json, if there is one.

    Raises:
        PinError: the model is not pinned, or a file differs from its pin.
        ModelError: the files are not to be had, or are no model's.
    """
    if spec.kind in ("backend", "factory"):
        return ModelIdentity(
            spec.id, None, stated_digest(spec, offline=offline, allow_unpinned=allow_unpinned, pins=pins)
        )
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
        raise ModelError(f"{spec.id} has no pin in the package's PINS.json", remedy="reinstall the package")
    refuse_unsafe(folder, files, name)
    digest = hashlib.sha256("".join(f"{name}\0{found}\n" for name, found in sorted(files.items())).encode())
    return ModelIdentity(spec.id, revision, digest.hexdigest(), folder)


def deciding_files(folder: Path, name: str | None = None) -> dict[str, str]:
    """Return the sha256, by name, of the files in ``folder`` that decide a vector.

    Args:
        name: name of the model, for errors; default: the folder.

    Raises:
        ModelError: the folder holds no config.json, or no weights but pickles.
    """
    found = deciding_paths(folder)
    if "config.json" not in found:
        raise ModelError(f"{name or folder} holds no config.json", remedy="give a folder written by save_pretrained")
    if not any(name.endswith(".safetensors") for name in found):
        raise ModelError(
            f"{name or folder} holds no .safetensors weights",
            remedy="save it anew with save_pretrained, pickles are not opened",
        )
    return {name: sha256_of(path) for name, path in found.items()}


def deciding_paths(folder: Path) -> dict[str, Path]:
    """Return the paths, by name, of the files in ``folder`` that decide a vector; none if there is no such folder."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else ()
    return {p.name: p for p in paths if p.is_file() and p.suffix in DECIDING and p.name not in RECORDS}


def load(spec: ModelSpec, identity: ModelIdentity, *, device: str, offline: bool = False, pins: Path = OWN) -> Model:
    """Load the model that ``describe`` found onto ``device``; imports torch."""
    if spec.kind in ("backend", "factory"):
        return _model(built(spec, device=device, offline=offline, pins=pins), spec)
    if identity.folder is None:
        raise ModelError(f"{spec.id} has no files to load", remedy="name a model whose files lie in a folder")
    with frameworks():
        from pytest_audioretrieval.models.clap import Clap
    return Clap(identity.folder, device=device)


def retriever(model: Model, name: str) -> Retriever:
    """Return ``model`` itself; ``SpecError`` if it makes no vectors."""
    if is_retriever(model):
        return model
    raise SpecError(
        f"{name} scores one pair at a time and embeds nothing",
        remedy="ask in direction choice, e.g. --retrieval-suite binding -k choice",
    )


def _factory(spec: ModelSpec) -> tuple[Any, list[str]]:
    """Return the factory of a model, and its arguments besides the device."""
    if spec.kind == "factory":
        return _imported(spec), []
    backend, _, name = spec.text.partition(":")
    return _backend(specs.backends()[backend]), [name]


def stated_digest(spec: ModelSpec, *, offline: bool, allow_unpinned: bool, pins: Path = OWN) -> str:
    """Return the digest of the weights as the factory of a backend or module states it: 64 hex digits, or ``""``."""
    factory, arguments = _factory(spec)
    state = getattr(factory, STATED, "")
    found = state
    if callable(state):
        options = _accepted(state, offline=offline, allow_unpinned=allow_unpinned, pins=pins)
        call = f"{STATED}({', '.join(arguments)})"
        try:
            remedy = "let it take what the factory takes, except the device"
            found = _called(spec, STATED, call, remedy, state, *arguments, **options)
        except OSError as error:
            raise ModelError(
                f"model {spec.text!r}: {one_line(error)}", remedy="mend the name, or restore the file"
            ) from None
    elif not state:
        return ""
    if not (callable(state) and isinstance(found, str) and re.fullmatch("([0-9a-f]{64})?", found)):
        raise ModelError(
            f"model {spec.text!r} states {STATED} {found!r}",
            expected="a function that returns 64 hex digits, over all that decides its answers",
            remedy="correct the factory",
        )
    return found


def _accepted(function: Any, **options: Any) -> dict[str, Any]:
    """Return those of ``options`` that a function has parameters for."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # ``_called`` reports a function without a signature
        return {}
    return {name: value for name, value in options.items() if name in parameters}


def _backend(point: EntryPoint) -> Any:
    try:
        return imported(f"{point.module}:{point.attr}")
    except (ImportError, AttributeError) as error:
        raise ModelError(
            f"backend {point.name!r} ({point.value}) cannot be imported: {one_line(error)}",
            remedy="install what it needs",
        ) from None


def _imported(spec: ModelSpec) -> Any:
    try:
        return imported(spec.text)
    except (ImportError, AttributeError) as error:
        module = spec.text.partition(":")[0]
        known = ", ".join(sorted(specs.backends())) or "none"
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0] and beside(error.name):
            raise ModelError(
                f"model {spec.text!r}: {one_line(error)}, which is here, but not where modules are looked for",
                remedy=BESIDE,
            ) from None
        raise ModelError(
            f"model {spec.text!r}: {one_line(error)}: {module!r} is no registered backend (there are: {known}) "
            "and no importable module with that factory",
            remedy="install what provides it, or correct the name",
        ) from None


def built(spec: ModelSpec, *, device: str, offline: bool = False, pins: Path = OWN) -> Any:
    """Return the object that the factory of a backend or module builds."""
    factory, arguments = _factory(spec)
    if not callable(factory):
        raise ModelError(
            f"model {spec.text!r} is {type(factory).__name__}",
            expected="a function that returns a model",
            remedy="correct the name",
        )
    options = {"device": device, **_accepted(factory, offline=offline, pins=pins)}
    call = f"factory({', '.join([*arguments, 'device=...'])})"
    return _called(spec, "factory", call, "let it take the device that the user chose", factory, *arguments, **options)


def _called(
    spec: ModelSpec, what: str, call: str, remedy: str, function: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """Call a model's function; errors show the call as ``call`` and its ``remedy``."""
    try:
        inspect.signature(function).bind(*arguments, **options)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"model {spec.text!r}: its {what} cannot be called as {call} ({error})", remedy=remedy
        ) from None
    try:
        return function(*arguments, **options)
    except SystemExit as error:  # pytest would end with it without a word
        raise ModelError(
            f"model {spec.text!r}: its {what} ended the process (exit {one_line(error)})",
            remedy="let it raise an error instead",
        ) from None


def _model(found: Any, spec: ModelSpec) -> Model:
    if isinstance(found, type):
        raise ModelError(
            f"model {spec.text!r}: its factory returned the class {found.__name__}", remedy="return an instance"
        )
    if is_retriever(found) or is_pair_scorer(found):
        if not isinstance(found.device, str):
            raise ModelError(
                f"model {spec.text!r}: its device is {type(found.device).__name__} {str(found.device)!r}",
                expected="a string, as torch writes it, such as 'cpu'",
                remedy="return str(device)",
            )
        return found
    needed, kind = (PAIR_SCORER, "PairScorer") if hasattr(found, "score") else (RETRIEVER, "Retriever or PairScorer")
    missing = next(name for name in needed if not hasattr(found, name))
    raise ModelError(
        f"model {spec.text!r}: its factory returned {type(found).__name__} without {missing!r}", remedy=f"see {kind}"
    )
