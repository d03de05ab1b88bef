"""What a hub holds at a pinned commit, through huggingface_hub: checkpoints, and for ``data/hub`` datasets."""

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

#: No pickle is ever downloaded.
WANTED = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
#: Other formats of the same weights lie in folders of their own.
NESTED = ["*/*"]

Kind = Literal["model", "dataset"]
#: Why nothing is downloaded; of no interest to the doctor, who never downloads.
FORBIDDEN = " and --retrieval-offline or HF_HUB_OFFLINE forbids the network"
_ABSENT = f"it is not, or not whole, in the local cache{FORBIDDEN}: download it once with a network connection"

#: What the disk says, not the network.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)

_STATUS = {
    401: "the hub lets nobody in without a login (401): check the id, accept its terms on its page, set HF_TOKEN",
    403: "your token may not read it (403): check the id, accept its terms on its page, or use another token",
    404: "the hub has no such id or commit (404): check both, and set HF_TOKEN if it is private",
}


def fetch(
    spec: ModelSpec, pins: Pins, *, offline: bool, allow_unpinned: bool, ignore: Sequence[str] = NESTED
) -> tuple[Path, str]:
    """The folder of a hub model at its commit, downloaded where it is not cached, and the commit.

    Args:
        ignore: patterns of files that are left where they are.

    Raises:
        PinError: neither PINS.json pins the model at the commit asked for.
        ModelError: the hub, or with ``offline`` the cache, does not have it.
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
    """The cached folder of ``name`` at ``commit``; what is missing of it is downloaded unless ``offline``.

    Args:
        wanted: patterns of the files that are needed.
        ignore: patterns of those among them that are not.

    Raises:
        ModelError, DataError: the hub, or with ``offline`` the cache, does not have it; says what to do.
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
    """Commit -> folder of what the cache has of ``name``, whole or not: others download the files that they need."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"{kind}s--{name.replace('/', '--')}" / "snapshots"
    return {path.name: path for path in sorted(folder.iterdir())} if folder.is_dir() else {}


def absent(name: str, commit: str, kind: Kind = "model") -> RetrievalError:
    """The error of ``download`` where the cache has nothing and the network is forbidden."""
    return _error(name, commit, kind, _ABSENT)


def check_announced(name: str, commit: str, folder: Path, found: Mapping[str, str], kind: Kind = "model") -> None:
    """Compare files with what the hub's listing of the commit says of their bytes; the client compares sizes only.

    Args:
        found: path -> sha256 of the files in ``folder``.

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
            raise _error(
                name,
                commit,
                kind,
                f"{entry.path} is {here}, the hub's listing says {there}: "
                f"its transfer went wrong, delete {folder / entry.path} with what it links to and run again",
            )


def _error(name: str, commit: str, kind: Kind, why: str) -> RetrievalError:
    if kind == "dataset":
        return DataError(f"dataset {name}@{commit}: {why}")
    return ModelError(f"{name}@{commit}: {why}")


def _blob(path: Path) -> str:
    """The id that git gives to a file's bytes: how a listing names what is no large file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the client's log of its retries, and without bars where nobody sees them move."""
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


def _why(error: Exception, *, offline: bool) -> str:
    """What stopped the client, and what to do, without its own advice of several lines."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    response = _response(error)
    status: int | None = getattr(response, "status_code", None)
    if status in _STATUS:
        return _STATUS[status]
    if status == 429:
        wait = response.headers.get("Retry-After")  # type: ignore[attr-defined]
        then = f"wait {wait} seconds" if wait else "wait some minutes"
        return f"the hub had too many requests (429): {then} and run again, or set HF_TOKEN for a higher limit"
    if status is not None and status >= 500:
        return f"the hub is out of order ({status}): run again later; what is cached already needs no hub"
    if isinstance(error, LocalEntryNotFoundError):
        return _ABSENT if offline else "the hub was not reached: run this again with a network connection"
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        return (
            f"the local cache cannot be written: {one_line(error)}: make room there, or set HF_HOME to another folder"
        )
    return f"could not be downloaded: {one_line(error)}: check the id, the commit and your connection, then run again"


def _response(error: BaseException | None) -> object | None:
    """The hub's answer, where the error or one that led to it has one."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None:
            return response  # type: ignore[no-any-return]
        error = error.__cause__
    return None


def pinned_commit(spec: ModelSpec, pins: Pins, *, allow_unpinned: bool) -> str:
    """The commit a spec means.

    Raises:
        PinError: it names none and none is pinned, or another than those pinned.
    """
    pin = pins.model(spec.id)
    commit = spec.revision or (pin.revision if pin else None)
    if commit is None:
        if Path(spec.id).is_dir():
            raise PinError(f"{spec.id} is no pinned hub id: if the folder of that name is meant, write ./{spec.id}")
        near = pins.nearest(spec.id)
        hint = f" (pinned are {', '.join(near)})" if near else ""
        raise PinError(
            f"{spec.id} is not pinned{hint}: name a commit and pass --retrieval-allow-unpinned, or run "
            f"{ADD} {spec.id}@<40 hex digits>"
        )
    at_commit(pin, commit, spec.id, f"{ADD} {spec.id}@{commit}", allow_unpinned=allow_unpinned)
    return commit
