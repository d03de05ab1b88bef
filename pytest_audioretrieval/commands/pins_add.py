"""Command ``python -m pytest_audioretrieval pins add``: add a pin to a project's own PINS.json."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_audioretrieval.data.hub.sets import Subsets, subsets_of
from pytest_audioretrieval.errors import PinError, SpecError
from pytest_audioretrieval.pinning import spec
from pytest_audioretrieval.pinning.pins import ADD, DATASETS, Pin, Pins, project_pins, sha256_of

if TYPE_CHECKING:
    import argparse

#: A folder, and the sha256 of its files by path.
Found = tuple[Path, dict[str, str]]
_DATASET = re.compile(r"([\w.-]+/[\w.-]+)@([0-9a-f]{40})", re.ASCII)


class Wanted(NamedTuple):
    """Commit of the hub that the user named; ``subsets`` are the files of a dataset, and None for a model."""

    text: str
    id: str
    commit: str
    subsets: Subsets | None = None

    @property
    def group(self) -> str:
        """Part of PINS.json that it belongs to."""
        return "models" if self.subsets is None else "datasets"

    def known(self, pins: Pins) -> Pin | None:
        """Return the pin of its id, or None."""
        pin: Pin | None = getattr(pins, self.group).get(self.id)
        return pin


def run_add(arguments: argparse.Namespace) -> int:
    """Download, check and hash the files, and write the pin; a known digest is never changed.

    Raises:
        RetrievalError: the reason why the pin is not added.
    """
    path, offline = arguments.pins, arguments.offline
    wanted = _wanted(arguments.what, arguments.files, path)
    pin = wanted.known(project_pins(path))
    before = pin.at(wanted.commit) if pin else None
    found = _found(wanted, before or Pin(wanted.commit), path, offline=offline)
    known = before.files if before else {}
    for file, digest in found.items():
        print(f"{'as pinned' if known.get(file) else 'added':<10} {file}  {digest}")
    if before is not None and found.items() <= known.items():
        print(f"{wanted.text} is pinned already, all its files are known")
        return 0
    _write(path, wanted, found)
    unasked = "; the hub was not asked whether these are its bytes" if offline else ""
    print(f"pinned {wanted.text} in {path}{unasked}: look at the difference and commit it")
    return 0


def _wanted(text: str, files: str | None, path: Path) -> Wanted:
    if text.startswith(DATASETS):
        named = _DATASET.fullmatch(text.removeprefix(DATASETS))
        if named is None:
            raise SpecError(
                f"{text!r} names no commit of a dataset",
                expected=f"{DATASETS}OWNER/NAME@<40 hex digits>",
                remedy="give the full commit, no branch, tag or short hash",
            )
        return Wanted(text, named[1], named[2], subsets_of(named[1]) if files is None else [(files,)])
    if files is not None:
        raise SpecError(
            f"--files chooses files of a dataset, and {text!r} is none",
            expected=f"{DATASETS}OWNER/NAME@COMMIT",
            remedy=f"put {DATASETS} before the id, or leave --files out",
        )
    model = spec.parse(text)
    if model.kind != "hub":
        raise SpecError(
            f"{text!r} is no model of a hub",
            expected="ID@COMMIT",
            remedy="leave it unpinned: folders and built-in models need no pin",
        )
    pins = project_pins(path)
    if pins.model(model.id) is None and model.id in pins.datasets:
        raise SpecError(f"{model.id} is a dataset", remedy=f"{ADD} {DATASETS}{text}")
    if model.revision is None:
        pin = pins.model(model.id)
        hint = f", such as the pinned {model.id}@{pin.revision}" if pin and pin.revision else ""
        raise SpecError(
            f"{text!r} names no commit", expected=f"{model.id}@<40 hex digits>{hint}", remedy="give all 40 digits"
        )
    return Wanted(text, model.id, model.revision)


def _found(wanted: Wanted, pin: Pin, path: Path, *, offline: bool) -> dict[str, str]:
    """Return the sha256 of the files that are read, by path, checked against the pin and the hub's listing."""
    from pytest_audioretrieval.models.hub import check_announced

    if wanted.subsets is None:
        folder, found = _model(wanted, path, offline=offline)
    else:
        folder, found = _dataset(wanted, wanted.subsets, pin, offline=offline)
    if not offline:
        kind = "model" if wanted.subsets is None else "dataset"
        check_announced(wanted.id, wanted.commit, folder, found, kind)  # type: ignore[arg-type]
    return found


def _model(wanted: Wanted, path: Path, *, offline: bool) -> Found:
    """Return the folder of a model, and the sha256 of the files that decide its vectors."""
    from pytest_audioretrieval.models.registry import deciding_files, describe

    folder = describe(spec.parse(wanted.text), offline=offline, allow_unpinned=True, pins=path).folder
    assert folder is not None
    return folder, deciding_files(folder)


def _dataset(wanted: Wanted, subsets: Subsets, pin: Pin, *, offline: bool) -> Found:
    """Return the folder of a dataset, and the sha256 of the files that are read."""
    from pytest_audioretrieval.data.hub.download import fetch

    parts = [part for found in fetch(wanted.id, pin, subsets, offline=offline) for part in found]
    folder = parts[0].path.parents[parts[0].name.count("/")]
    return folder, {part.name: sha256_of(part.path) for part in parts}


def _write(path: Path, wanted: Wanted, found: dict[str, str]) -> None:
    """Add digests to a project's own file; the bare id still means the same commit afterwards."""
    from msgspec.structs import replace

    from pytest_audioretrieval.base.files import write_atomically
    from pytest_audioretrieval.pinning.pins import Revision, read_pins

    pins = read_pins(path) if path.is_file() else Pins({}, {})
    own = wanted.known(pins) or Pin(None)
    known, commit = wanted.known(project_pins(path)), wanted.commit
    if known is None or known.revision in (None, commit):
        made = Pin(commit, {**own.files, **found}, own.fingerprint, own.note, own.other_revisions)
    else:
        other = own.other_revisions.get(commit, Revision())
        others = {**own.other_revisions, commit: Revision({**other.files, **found}, other.note)}
        made = Pin(own.revision, own.files, own.fingerprint, own.note, others)
    group = {**getattr(pins, wanted.group), wanted.id: made}
    try:
        write_atomically(path, replace(pins, **{wanted.group: group}).text().encode())
    except OSError as error:
        raise PinError(
            f"{path} was not written ({error.strerror})", remedy="allow writing there, then add again"
        ) from None
