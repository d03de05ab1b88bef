"""``python -m pytest_audioretrieval pins``: what is pinned, whether what is here is it, and one pin more."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_audioretrieval import spec
from pytest_audioretrieval.errors import ModelError, PinError, SpecError, did_you_mean
from pytest_audioretrieval.pins import OWN, Pin, Pins, project_pins, sha256_of

if TYPE_CHECKING:
    from pytest_audioretrieval.spec import ModelSpec

    Commands = argparse._SubParsersAction[Any]


def register(commands: Commands) -> None:
    """Add ``pins`` to the commands of ``python -m pytest_audioretrieval``."""
    parser = commands.add_parser(
        "pins",
        help="list what is pinned, verify what is cached, add a pin to this project's PINS.json",
        description="The pins of the package, completed by PINS.json in this folder.",
    )
    tasks = parser.add_subparsers(required=True, metavar="TASK")
    listing = tasks.add_parser("list", help="one line a pinned revision: which of its files have a known sha256")
    listing.set_defaults(run=run_list)
    verifying = tasks.add_parser(
        "verify", help="hash what is built in or cached, one line a file; exits with 1 where one is not as pinned"
    )
    verifying.add_argument("names", nargs="*", metavar="NAME", help="pinned models or datasets; default: all")
    verifying.set_defaults(run=run_verify)
    adding = tasks.add_parser(
        "add", help="download a model, check and hash the files that decide its vectors, and write them to PINS.json"
    )
    adding.add_argument("model", metavar="ID@COMMIT", help="hub id and all 40 hex digits of a commit")
    adding.add_argument("--offline", action="store_true", help="take the files from the cache, ask no hub about them")
    adding.set_defaults(run=run_add)
    for task in (listing, verifying, adding):
        task.add_argument("--pins", type=Path, default=OWN, metavar="PATH", help="default: PINS.json in this folder")


def run_list(arguments: argparse.Namespace) -> int:
    """Print every pinned revision of models and of datasets."""
    from pytest_audioretrieval.tables.plain import lines

    pins = project_pins(arguments.pins)
    for title, group in (("model", pins.models), ("dataset", pins.datasets)):
        each = (
            (name, commit, pin.at(commit) or pin) for name, pin in sorted(group.items()) for commit in pin.commits()
        )
        rows = ((name, commit or "-", _known(pin), pin.note or "") for name, commit, pin in each)
        print(*lines((title, "revision", "files", "note"), rows), sep="\n", end="\n\n")
    return 0


def _known(pin: Pin) -> str:
    if pin.fingerprint is not None:
        return "all, by fingerprint"
    hashed = sum(digest is not None for digest in pin.files.values())
    return f"{hashed} of {len(pin.files)} hashed" if pin.files else "none hashed"


class Checked(NamedTuple):
    """One file, or one whole thing where ``file`` is empty; ``state`` is one of ``WORDS``."""

    name: str
    file: str
    state: str
    detail: str = ""


#: State -> whether it is as pinned.
WORDS = {"ok": True, "not pinned": True, "not here": True, "MISSING": False, "MISMATCH": False}


def run_verify(arguments: argparse.Namespace) -> int:
    """Print a line a file, then what they came to; what was named has to be here."""
    pins = project_pins(arguments.pins)
    known = {**pins.models, **pins.datasets}
    for name in arguments.names:
        if name not in known:
            raise SpecError(f"nothing is pinned as {name!r}: {did_you_mean(name, known)}see: pins list")
    checked: list[Checked] = []
    for name in arguments.names or sorted(known):
        for one in _verified(name, pins):
            checked.append(one)
            print("  ".join(part for part in (f"{one.state:<10}", one.name, one.file, one.detail) if part))
    counts = {word: sum(one.state == word for one in checked) for word in WORDS}
    print(", ".join(f"{count} {word}" for word, count in counts.items() if count))
    wrong = any(not WORDS[one.state] for one in checked)
    return int(wrong or (bool(arguments.names) and counts["not here"] > 0))


def _verified(name: str, pins: Pins) -> Iterator[Checked]:
    if name in pins.datasets:
        yield _dataset(name, pins)
        return
    for commit in pins.models[name].commits():
        pin, shown = pins.models[name].at(commit), f"{name}@{commit[:12]}" if commit else name
        folder = _folder(name, commit)
        if folder is None or pin is None:
            yield Checked(shown, "", "not here")
        else:
            yield from _files(shown, folder, pin)


def _dataset(name: str, pins: Pins) -> Checked:
    from pytest_audioretrieval.api import load_dataset

    if pins.datasets[name].fingerprint is None or not name.startswith("builtin/"):
        return Checked(name, "", "not here")
    try:
        load_dataset(name.removeprefix("builtin/"))
    except PinError as error:
        return Checked(name, "", "MISMATCH", str(error))
    return Checked(name, "", "ok", "its fingerprint")


def _folder(name: str, commit: str | None) -> Path | None:
    """Where a model lies on this machine; the network is not asked."""
    if name.startswith("builtin/"):
        return spec.parse(name).path
    if commit is None:
        return None
    from pytest_audioretrieval.models.hub import download

    try:
        return download(name, commit, offline=True)
    except ModelError:
        return None


def _files(name: str, folder: Path, pin: Pin) -> Iterator[Checked]:
    from pytest_audioretrieval.models.registry import deciding_paths

    paths = deciding_paths(folder)
    for file in sorted({*paths, *pin.files}):
        expected = pin.files.get(file)
        if not (folder / file).is_file():
            yield Checked(name, file, "MISSING", f"of {folder}")
            continue
        found = sha256_of(folder / file)
        if expected is not None and found != expected:
            yield Checked(name, file, "MISMATCH", f"is {found}, expected {expected}: delete it and download it again")
        elif expected is None:
            yield Checked(name, file, "not pinned", f"is {found}")
        else:
            yield Checked(name, file, "ok")


def run_add(arguments: argparse.Namespace) -> int:
    """Download, check, hash, write; what is known already is never changed.

    Raises:
        RetrievalError: why it is not added.
    """
    from pytest_audioretrieval.models.hub import check_announced
    from pytest_audioretrieval.models.registry import deciding_files, describe

    model, path = _to_add(arguments.model, arguments.pins), arguments.pins
    identity = describe(model, offline=arguments.offline, allow_unpinned=True, pins=path)
    if identity.folder is None or model.revision is None:
        raise ModelError(f"{model.id} has no files to pin")
    found = deciding_files(identity.folder)
    if not arguments.offline:
        check_announced(model.id, model.revision, identity.folder, found)
    pin = project_pins(path).model(model.id)
    before = (pin.at(model.revision) if pin else None) or Pin(model.revision)
    for file, digest in found.items():
        print(f"{'as pinned' if before.files.get(file) else 'added':<10} {file}  {digest}")
    if before.files == found and pin is not None and pin.at(model.revision) is not None:
        print(f"{model.id}@{model.revision} is pinned already, all its files are known")
        return 0
    _write(path, model, found)
    unasked = "; the hub was not asked whether these are its bytes" if arguments.offline else ""
    print(f"pinned {model.id}@{model.revision} in {path}{unasked}: look at the difference and commit it")
    return 0


def _to_add(text: str, path: Path) -> ModelSpec:
    model = spec.parse(text)
    if model.kind != "hub":
        raise SpecError(f"{text!r} is no model of a hub: expected ID@COMMIT; folders and built-in models need no pin")
    if model.revision is None:
        pin = project_pins(path).model(model.id)
        hint = f", such as the pinned {model.id}@{pin.revision}" if pin and pin.revision else ""
        raise SpecError(f"{text!r} names no commit: expected {model.id}@<40 hex digits>{hint}")
    return model


def _write(path: Path, model: ModelSpec, found: dict[str, str]) -> None:
    """Add to a project's own file; the commit that a bare id means stays what it is."""
    from pytest_audioretrieval.files import write_atomically
    from pytest_audioretrieval.pins import Revision, read_pins

    pins = read_pins(path) if path.is_file() else Pins({}, {})
    own = pins.model(model.id) or Pin(None)
    known = project_pins(path).model(model.id)
    meant, commit = known.revision if known else None, model.revision or ""
    if meant in (None, commit):
        made = Pin(commit, {**own.files, **found}, own.fingerprint, own.note, own.other_revisions)
    else:
        other = own.other_revisions.get(commit, Revision())
        others = {**own.other_revisions, commit: Revision({**other.files, **found}, other.note)}
        made = Pin(own.revision, own.files, own.fingerprint, own.note, others)
    try:
        write_atomically(path, Pins({**pins.models, model.id: made}, pins.datasets).text().encode())
    except OSError as error:
        raise PinError(f"{path} was not written ({error.strerror}): allow writing there, then add again") from None
