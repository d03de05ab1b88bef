"""Lookup of datasets by name, hub commit, mteb task or folder; nothing is loaded before it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.base.registered import DATASETS, LAYOUTS, registered
from pytest_audioretrieval.data.hub.sets import SETS
from pytest_audioretrieval.errors import DataError, SpecError, did_you_mean
from pytest_audioretrieval.pinning.spec import COMMIT

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.data.types import Dataset


@dataclass(frozen=True)
class Source:
    """A named dataset and its loader; ``folder`` is that of a user's own, ``commit`` one that was typed."""

    name: str
    load: Callable[[Loading], Dataset] = field(repr=False, compare=False)
    folder: Path | None = None
    commit: str | None = None


def _sounds(loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.rendered import load_builtin
    from pytest_audioretrieval.data.sounds.dataset import load_sounds

    return load_builtin("sounds", load_sounds, loading)


def _sounds_single(loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.sounds.dataset import load_sounds_single
    from pytest_audioretrieval.pinning.pins import load_pins

    return load_sounds_single(load_pins().dataset_fingerprint("builtin/sounds-single"))


def _hub(name: str, commit: str | None, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.hub.dataset import load_hub

    return load_hub(SETS[name], commit, loading)


def _registered(point: EntryPoint, loading: Loading) -> Dataset:
    loaded: Dataset = point.load()(loading)
    return loaded


#: Datasets of this room; packages register more.
_OWN: dict[str, Source] = {
    "sounds": Source("sounds", _sounds),
    "sounds-single": Source("sounds-single", _sounds_single),
} | {name: Source(one.slug, partial(_hub, name, None)) for name, one in SETS.items()}


def known_datasets() -> dict[str, Source]:
    """Return every dataset that has a name."""
    others = registered(DATASETS, frozenset(_OWN)).items()
    return _OWN | {name: Source(name, partial(_registered, point)) for name, point in others}


def _captions(folder: Path, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.manifest import load_folder

    return load_folder(folder)


def _hub_folder(folder: Path, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.hub.folder import load_hub_folder

    return load_hub_folder(folder, loading)


#: Layouts of this room, by the name that ``dataset.toml`` states; packages register more.
_OWN_LAYOUTS = {"captions": _captions, "hub": _hub_folder}


def source(text: str, base: Path) -> Source:
    """Return the dataset that ``text`` names: by a name, a set of a hub ``NAME@COMMIT``, a task of mteb, or a folder.

    Raises:
        SpecError: ``text`` is none of these; shows the nearest name.
        DataError: the folder's ``dataset.toml`` is missing or wrong.
    """
    if text in _OWN:
        return _OWN[text]
    name, at, commit = text.partition("@")
    if at and name in SETS:
        if not COMMIT.fullmatch(commit):
            raise SpecError(f"dataset {text!r}: commit is {commit!r}", expected="40 hex digits, no branch or tag")
        return Source(SETS[name].slug, partial(_hub, name, commit), commit=commit)
    if text.startswith("mteb:"):
        from pytest_audioretrieval.data.mteb_task import load_task, name_of

        return Source(name_of(text), lambda loading: load_task(text, offline=loading.offline))
    known = known_datasets()
    if text in known:
        return known[text]
    folder = (base / expanded(text)).absolute()
    if folder.is_dir():
        return _folder(folder, known)
    raise SpecError(
        f"dataset {text!r} is neither a folder nor a known name",
        remedy=f"{did_you_mean(text, known)}choose one of {', '.join(sorted(known))}; mteb:TASK is a task of mteb; "
        "a folder of your own holds dataset.toml and captions.jsonl",
    )


def _folder(folder: Path, known: dict[str, Source]) -> Source:
    from pytest_audioretrieval.data.manifest import SETTINGS, read_settings

    settings = read_settings(folder)
    if any(settings.name == one.name for one in known.values()):
        raise DataError(
            f"{folder}: name {settings.name!r} is that of a built-in dataset", remedy="give yours another name"
        )
    if read := _OWN_LAYOUTS.get(settings.layout):
        return Source(settings.name, partial(read, folder), folder.resolve())
    others = registered(LAYOUTS, frozenset(_OWN_LAYOUTS))
    if settings.layout not in others:
        layouts = [*_OWN_LAYOUTS, *others]
        raise DataError(
            f"{folder / SETTINGS}: layout is {settings.layout!r}",
            expected=f"one of {', '.join(layouts)}",
            remedy=f"{did_you_mean(settings.layout, layouts)}correct it",
        )
    point = others[settings.layout]
    return Source(settings.name, lambda loading: point.load()(folder, loading), folder.resolve())
