"""Command ``python -m pytest_audioretrieval pins``: list pins and verify cached files; see also ``pins_add``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.commands.pins_add import run_add
from pytest_audioretrieval.data.hub.sets import patterns_of
from pytest_audioretrieval.errors import PinError, RetrievalError, SpecError, did_you_mean
from pytest_audioretrieval.pinning import spec
from pytest_audioretrieval.pinning.pins import DATASETS, Pin, Pins, project_pins, sha256_of

if TYPE_CHECKING:
    from pytest_audioretrieval.commands.common import Commands


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
        "add", help="download a model or dataset, check and hash the files that are read, and write them to PINS.json"
    )
    adding.add_argument(
        "what",
        metavar="[datasets/]ID@COMMIT",
        help="hub id of a model, or of a dataset after datasets/, and all 40 hex digits of a commit",
    )
    adding.add_argument(
        "--files",
        metavar="PATTERN",
        help="of a dataset: which files; default: those of the named set with this id, else data/test-*.parquet",
    )
    adding.add_argument("--offline", action="store_true", help="take the files from the cache, ask no hub about them")
    adding.set_defaults(run=run_add)
    for task in (listing, verifying, adding):
        task.add_argument(
            "--pins", type=expanded, default=OWN, metavar="PATH", help="default: PINS.json in this folder"
        )


def run_list(arguments: argparse.Namespace) -> int:
    """Print every pinned revision of models and of datasets."""
    from pytest_audioretrieval.report.tables.plain import lines

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
    """Result for one file, or for a whole model or dataset if ``file`` is empty; ``state`` is one of ``STATES``."""

    name: str
    file: str
    state: str
    detail: str = ""


#: Each state, and whether it agrees with the pins.
STATES = {"ok": True, "not pinned": True, "not here": True, "MISSING": False, "MISMATCH": False}


def run_verify(arguments: argparse.Namespace) -> int:
    """Print a line a file, then the counts; return 1 if a file is not as pinned or a name is not cached."""
    pins = project_pins(arguments.pins)
    known = [*pins.models, *pins.datasets, *(f"{DATASETS}{name}" for name in pins.datasets)]
    for name in arguments.names:
        if name not in known:
            raise SpecError(f"nothing is pinned as {name!r}", remedy=f"{did_you_mean(name, known)}see: pins list")
    checked: list[Checked] = []
    for name in arguments.names or sorted({*pins.models, *pins.datasets}):
        for one in _verified(name, pins):
            checked.append(one)
            print("  ".join(part for part in (f"{one.state:<10}", one.name, one.file, one.detail) if part))
    counts = {state: sum(one.state == state for one in checked) for state in STATES}
    print(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    wrong = any(not STATES[one.state] for one in checked)
    return int(wrong or (bool(arguments.names) and counts["not here"] > 0))


def _verified(name: str, pins: Pins) -> Iterator[Checked]:
    """Verify everything that is pinned by this name: a model, a dataset, or one of each."""
    dataset = name.removeprefix(DATASETS)
    if dataset.startswith("builtin/") and dataset in pins.datasets:
        yield _rendered(dataset)
    elif dataset in pins.datasets:
        for pin, shown in _commits(dataset, pins.datasets[dataset]):
            yield from _dataset(dataset, pin, shown)
    if name in pins.models:
        for pin, shown in _commits(name, pins.models[name]):
            yield from _model(name, pin, shown)


def _commits(name: str, pin: Pin) -> Iterator[tuple[Pin, str]]:
    """Yield the pin of each commit, and the name to print for it."""
    for commit in pin.commits():
        yield pin.at(commit) or pin, f"{name}@{commit[:12]}" if commit else name


def _rendered(name: str) -> Checked:
    from pytest_audioretrieval.base.progress import Tracker
    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.data.registry import source

    try:
        source(name.removeprefix("builtin/"), Path()).load(Loading(None, Tracker()))
    except PinError as error:
        return Checked(name, "", "MISMATCH", str(error))
    return Checked(name, "", "ok", "its fingerprint")


def _dataset(name: str, pin: Pin, shown: str) -> Iterator[Checked]:
    """Verify the files of a dataset that are read or pinned, if they are in the cache; no network is used."""
    from pytest_audioretrieval.models.hub import download

    wanted = [*pin.files, *patterns_of(name)]
    try:
        folder = download(name, pin.revision or "", offline=True, wanted=wanted, ignore=(), kind="dataset")
    except RetrievalError:
        yield Checked(shown, "", "not here")
        return
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    read = {file: path for file, path in paths.items() if any(fnmatch(file, pattern) for pattern in wanted)}
    yield from _files(shown, folder, pin, read)


def _model(name: str, pin: Pin, shown: str) -> Iterator[Checked]:
    from pytest_audioretrieval.models.registry import deciding_paths

    folder = _folder(name, pin.revision)
    if folder is None:
        yield Checked(shown, "", "not here")
    else:
        yield from _files(shown, folder, pin, deciding_paths(folder))


def _folder(name: str, commit: str | None) -> Path | None:
    """Return the folder of a model on this machine, or None; no network is used."""
    if name.startswith("builtin/"):
        return spec.parse(name).path
    if commit is None:
        return None
    from pytest_audioretrieval.models.hub import download

    try:
        return download(name, commit, offline=True)
    except RetrievalError:
        return None


def _files(name: str, folder: Path, pin: Pin, paths: Mapping[str, Path]) -> Iterator[Checked]:
    for file in sorted({*paths, *pin.files}):
        expected = pin.files.get(file)
        if not (folder / file).is_file():
            yield Checked(name, file, "MISSING", f"of {folder}")
            continue
        found = sha256_of(folder / file)
        if expected is not None and found != expected:
            detail = f"is {found}, expected {expected}: delete it and download it again"
            yield Checked(name, file, "MISMATCH", detail)
        elif expected is None:
            yield Checked(name, file, "not pinned", f"is {found}")
        else:
            yield Checked(name, file, "ok")
