"""Backend ``mteb:NAME``: any audio-text model of mteb's registry, loaded by mteb's own wrapper."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

from pytest_audioretrieval.base.importing import imported, remedy
from pytest_audioretrieval.errors import ModelError, PinError, SpecError, one_line
from pytest_audioretrieval.models.bridges.files import digest, holds_file
from pytest_audioretrieval.models.hub import absent, snapshots
from pytest_audioretrieval.pinning.pins import PICKLES
from pytest_audioretrieval.pinning.spec import COMMIT

if TYPE_CHECKING:
    from pytest_audioretrieval.models.types import Retriever


def load(name: str, *, device: str, offline: bool = False) -> Retriever:
    """Load the model that mteb's registry calls ``name``; see ``mteb_retriever``.

    Raises:
        SpecError: the registry has no audio-text model of that name.
        ModelError: a package is missing, or the model cannot be loaded.
    """
    from pytest_audioretrieval.models.bridges.mteb_retriever import MtebRetriever

    return MtebRetriever(_meta(name), device=device, offline=offline)


def weights_sha256(name: str, *, offline: bool = False, allow_unpinned: bool = False) -> str:
    """Return a digest over the model's files in the hub's cache, its revision and mteb's version.

    The digest is ``""`` if the files are not there yet, or lie in more than one folder; vectors are then not stored.

    Raises:
        PinError: mteb names no commit.
        ModelError: the files are not in the cache, and ``offline`` forbids the network.
    """
    meta = _meta(name)
    if not COMMIT.fullmatch(meta.revision or "") and not allow_unpinned:
        raise PinError(
            f"mteb:{name}: mteb {metadata.version('mteb')} pins revision {meta.revision!r}",
            expected="a commit",
            remedy="pass --retrieval-allow-unpinned to judge what it loads all the same",
        )
    folder = snapshots(meta.name).get(meta.revision)
    if folder is None and offline:
        raise absent(meta.name, meta.revision).about(f"mteb:{name}")
    # The model below an adapter lies elsewhere, at a revision that the wrapper does not tell.
    if folder is None or not holds_file(folder, ".safetensors", *PICKLES) or (folder / "adapter_config.json").is_file():
        return ""
    return digest(folder, meta.name, str(meta.revision), repr(meta.loader_kwargs), f"mteb {metadata.version('mteb')}")


load.weights_sha256 = weights_sha256  # type: ignore[attr-defined]


def _meta(name: str) -> Any:
    try:
        mteb = imported("mteb")
    except ImportError as error:
        raise ModelError(f"mteb:{name} needs mteb: {one_line(error)}", remedy=remedy(error, "mteb")) from None
    try:
        meta = mteb.get_model_meta(name)
    except KeyError as error:
        found = str(error.args[0]).rstrip().removesuffix(".")
        raise SpecError(f"mteb:{name}: {found}", remedy="see mteb.get_model_metas") from None
    if not {"audio", "text"} <= set(meta.modalities) or meta.loader is None:
        what = ", ".join(meta.modalities) if meta.loader else "nothing that mteb can load"
        raise SpecError(f"mteb:{name} reads {what}", expected="audio and text", remedy="see mteb.get_model_metas")
    return meta
