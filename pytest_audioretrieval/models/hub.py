"""Downloads of pinned commits from a hub, by huggingface_hub: checkpoints, and datasets for ``data/hub``."""

from __future__ import annotations

import errno
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_audioretrieval.errors import DataError, ModelError, PinError, RetrievalError, one_line
from pytest_audioretrieval.pinning.pins import ADD, at_commit

if TYPE_CHECKING:
    from pytest_audioretrieval.pinning.pins import Pins
    from pytest_audioretrieval.pinning.spec import ModelSpec

#: Files that are downloaded of a checkpoint; no pickle among them.
WANTED = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
#: Files in folders, where other formats of the same weights lie.
NESTED = ["*/*"]

Kind = Literal["model", "dataset"]
#: Cause and remedy of a failed download.
Reason = tuple[str, str]
_ABSENT = (
    "it is not, or not whole, in the local cache",
    "download it once with a network connection, without --retrieval-offline and HF_HUB_OFFLINE",
)

#: Errors of the disk, not of the network.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)

_STATUS = {
    401: (
        "the hub lets nobody in without a login (401)",
        "check the id, accept its terms on its page, set HF_TOKEN",
    ),
    403: (
        "your token may not read it (403)",
        "check the id, accept its terms on its page, or use another token",
    ),
    404: ("the hub has no such id or commit (404)", "check both, and set HF_TOKEN if it is private"),
}


def fetch(
    spec: ModelSpec, pins: Pins, *, offline: bool, allow_unpinned: bool, ignore: Sequence[str] = NESTED
) -> tuple[Path, str]:
    """Return the folder of a hub model at its commit, and the commit; download the files that are not cached.

    Args:
        ignore: patterns of files that are not downloaded.

    Raises:
        PinError: the commit that the spec names is not pinned.
        ModelError: the hub, or with ``offline`` the cache, does not have the model.
    """
    commit = pinned_commit(spec, pins, allow_unpinned=allow_unpinned)
    return download(spec.id, commit, offline=offline, ignore=ignore), commit


def download(
    name: str,
    commit: str,
    *,
    offline: bool,
    wanted: Sequence[str] = WANTED,
    ignore: Sequence[str] = NESTED,
    kind: Kind = "model",
) -> Path:
    """Return the cached folder of ``name`` at ``commit``; download missing files unless ``offline``.

    Args:
        wanted: patterns of the files that are needed.
        ignore: patterns of exceptions among them.

    Raises:
        ModelError, DataError: the hub, or with ``offline`` the cache, does not have it.
    """
    from huggingface_hub import constants, snapshot_download

    try:
        with _quiet():
            folder = snapshot_download(
                name,
                repo_type=kind,
                revision=commit,
                allow_patterns=list(wanted),
                ignore_patterns=list(ignore),
                local_files_only=offline,
            )
    except Exception as error:  # of requests, httpx or xet, by the client's version
        raise _error(name, commit, kind, _why(error, offline=offline or constants.HF_HUB_OFFLINE)) from None
    return Path(folder)


def snapshots(name: str, kind: Kind = "model") -> dict[str, Path]:
    """Return the cached folders of ``name`` by commit, complete or not: other libraries download parts as well."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"{kind}s--{name.replace('/', '--')}" / "snapshots"
    return {path.name: path for path in sorted(folder.iterdir())} if folder.is_dir() else {}


def absent(name: str, commit: str, kind: Kind = "model") -> RetrievalError:
    """Return the error of ``download`` for an empty cache and a forbidden network."""
    return _error(name, commit, kind, _ABSENT)


def check_announced(name: str, commit: str, folder: Path, found: Mapping[str, str], kind: Kind = "model") -> None:
    """Compare the files' digests with the hub's listing of the commit; the client itself compares sizes only.

    Args:
        found: sha256 of the files in ``folder`` by path.

    Raises:
        ModelError, DataError: a file differs, or the hub does not answer.
    """
    from huggingface_hub import HfApi

    deep = any("/" in path for path in found)
    try:
        with _quiet():
            tree = HfApi().list_repo_tree(name, revision=commit, recursive=deep, repo_type=kind)
            listed = [entry for entry in tree if entry.path in found]
    except Exception as error:  # as in ``download``
        raise _error(name, commit, kind, _why(error, offline=False)) from None
    for entry in listed:
        large = getattr(entry, "lfs", None)
        here, there = (found[entry.path], large.sha256) if large else (_blob(folder / entry.path), entry.blob_id)
        if here != there:
            remedy = f"its transfer went wrong, delete {folder / entry.path} with what it links to and run again"
            raise _error(name, commit, kind, (f"{entry.path} is {here}, the hub's listing says {there}", remedy))


def _error(name: str, commit: str, kind: Kind, reason: Reason) -> RetrievalError:
    found, remedy = reason
    if kind == "dataset":
        return DataError(f"dataset {name}@{commit}: {found}", remedy=remedy)
    return ModelError(f"{name}@{commit}: {found}", remedy=remedy)


def _blob(path: Path) -> str:
    """Return git's id of a file's bytes, by which a listing names a file that is not large."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the client's log of its retries, and its bars unless they are on a terminal."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars, logging

    before, bars = logging.get_verbosity(), not are_progress_bars_disabled()
    logging.set_verbosity_error()
    if bars and not sys.stderr.isatty():
        disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            enable_progress_bars()


def _why(error: Exception, *, offline: bool) -> Reason:
    """Return cause and remedy of a client's error, each in one line; the client's own advice has several."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    response = _response(error)
    status: int | None = getattr(response, "status_code", None)
    if status in _STATUS:
        return _STATUS[status]
    if status == 429:
        wait = response.headers.get("Retry-After")  # type: ignore[attr-defined]
        then = f"wait {wait} seconds" if wait else "wait some minutes"
        return "the hub had too many requests (429)", f"{then} and run again, or set HF_TOKEN for a higher limit"
    if status is not None and status >= 500:
        return f"the hub is out of order ({status})", "run again later; what is cached already needs no hub"
    if isinstance(error, LocalEntryNotFoundError):
        return _ABSENT if offline else ("the hub was not reached", "run this again with a network connection")
    why = one_line(error)
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        return f"the local cache cannot be written: {why}", "make room there, or set HF_HOME to another folder"
    return f"it could not be downloaded: {why}", "check the id, the commit and your connection, then run again"


def _response(error: BaseException | None) -> object | None:
    """Return the hub's answer, if the error or one of its causes carries it."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None:
            return response  # type: ignore[no-any-return]
        error = error.__cause__
    return None


def pinned_commit(spec: ModelSpec, pins: Pins, *, allow_unpinned: bool) -> str:
    """Return the commit that a spec means: the one it names, else the pinned one.

    Raises:
        PinError: the spec names no commit and none is pinned, or the one it names is not pinned.
    """
    pin = pins.model(spec.id)
    commit = spec.revision or (pin.revision if pin else None)
    if commit is None:
        if Path(spec.id).is_dir():
            raise PinError(
                f"{spec.id} is no pinned hub id", remedy=f"if the folder of that name is meant, write ./{spec.id}"
            )
        near = pins.nearest(spec.id)
        hint = f" (pinned are {', '.join(near)})" if near else ""
        raise PinError(
            f"{spec.id} is not pinned{hint}",
            remedy=f"name a commit and pass --retrieval-allow-unpinned, or run {ADD} {spec.id}@<40 hex digits>",
        )
    at_commit(pin, commit, spec.id, f"{ADD} {spec.id}@{commit}", allow_unpinned=allow_unpinned)
    return commit
