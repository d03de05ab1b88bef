"""From a name or a folder on the command line to a dataset; nothing is loaded before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from pytest_audioretrieval.data.hub.sets import SETS
from pytest_audioretrieval.errors import DataError, SpecError, did_you_mean
from pytest_audioretrieval.files import expanded
from pytest_audioretrieval.shipped import OWN
from pytest_audioretrieval.spec import COMMIT

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset

T = TypeVar("T")


class Track(Protocol):
    """Wraps work of known length to show its progress."""

    def __call__(self, items: Sequence[T], what: str, /) -> Iterable[T]: ...


@dataclass(frozen=True)
class Loading:
    """What a dataset is loaded with.

    Attributes:
        cache: where the digests of rendered sounds are remembered; None renders them each time.
        offline: never touch the network.
        allow_unpinned: take a commit of a hub that PINS.json does not pin.
        pins: a project's own PINS.json, where there is one.
    """

    cache: Path | None
    track: Track
    offline: bool = False
    allow_unpinned: bool = False
    pins: Path = OWN


@dataclass(frozen=True)
class Source:
    """A dataset by name, and how to load it; ``folder`` is that of a user's own, ``commit`` one that was typed."""

    name: str
    load: Callable[[Loading], Dataset] = field(repr=False, compare=False)
    folder: Path | None = None
    commit: str | None = None


def _sounds(loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.sounds.dataset import load_sounds
    from pytest_audioretrieval.pins import load_pins

    pinned = load_pins().dataset_fingerprint("builtin/sounds")
    return load_sounds(pinned, cache=loading.cache, progress=lambda clips: loading.track(clips, "rendering sounds"))


def _sounds_single(loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.sounds.dataset import load_sounds_single
    from pytest_audioretrieval.pins import load_pins

    return load_sounds_single(load_pins().dataset_fingerprint("builtin/sounds-single"))


def _binding(loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.binding.dataset import load_binding
    from pytest_audioretrieval.pins import load_pins

    pinned = load_pins().dataset_fingerprint("builtin/binding")
    return load_binding(pinned, cache=loading.cache, progress=lambda clips: loading.track(clips, "rendering binding"))


def _reasoning(loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.reasonaudio.builtin import load_reasoning
    from pytest_audioretrieval.pins import load_pins

    pinned = load_pins().dataset_fingerprint("builtin/reasoning")
    return load_reasoning(
        pinned, cache=loading.cache, progress=lambda clips: loading.track(clips, "rendering reasoning")
    )


def _hub(name: str, commit: str | None, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.hub.dataset import load_hub

    return load_hub(SETS[name], commit, loading)


#: Datasets with a name.
NAMED: dict[str, Source] = {
    source.name: source
    for source in (
        Source("sounds", _sounds),
        Source("sounds-single", _sounds_single),
        Source("binding", _binding),
        Source("reasoning", _reasoning),
    )
} | {name: Source(one.slug, partial(_hub, name, None)) for name, one in SETS.items()}


def _captions(folder: Path, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.manifest import load_folder

    return load_folder(folder)


def _masb(folder: Path, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.masb.folder import load_masb

    return load_masb(folder)


def _reasonaudio(folder: Path, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.reasonaudio.folder import load_reasonaudio

    return load_reasonaudio(folder, progress=lambda clips: loading.track(clips, "reading clips"))


def _hub_folder(folder: Path, loading: Loading) -> Dataset:
    from pytest_audioretrieval.data.hub.folder import load_hub_folder

    return load_hub_folder(folder, loading)


#: How a folder is read, by the layout that its ``dataset.toml`` states.
LAYOUTS = {"captions": _captions, "masb": _masb, "reasonaudio": _reasonaudio, "hub": _hub_folder}


def source(text: str, base: Path) -> Source:
    """The dataset that ``text`` names: one of ``NAMED``, a set of a hub ``NAME@COMMIT``, a task of mteb, or a folder.

    Raises:
        SpecError: neither; shows the nearest name.
        DataError: the folder's ``dataset.toml`` is missing or wrong.
    """
    if text in NAMED:
        return NAMED[text]
    name, at, commit = text.partition("@")
    if at and name in SETS:
        if not COMMIT.fullmatch(commit):
            raise SpecError(f"dataset {text!r}: commit {commit!r}: expected 40 hex digits, no branch or tag")
        return Source(SETS[name].slug, partial(_hub, name, commit), commit=commit)
    if text.startswith("mteb:"):
        from pytest_audioretrieval.data.mteb_task import load_task, name_of

        return Source(name_of(text), lambda loading: load_task(text, offline=loading.offline))
    folder = (base / expanded(text)).absolute()
    if folder.is_dir():
        from pytest_audioretrieval.data.manifest import read_settings

        settings = read_settings(folder)
        if any(settings.name == known.name for known in NAMED.values()):
            raise DataError(f"{folder}: name {settings.name!r} is that of a built-in dataset: give yours another name")
        read = LAYOUTS[settings.layout]
        return Source(settings.name, partial(read, folder), folder.resolve())
    raise SpecError(
        f"dataset {text!r} is neither a folder nor a known name: {did_you_mean(text, NAMED)}"
        f"known are {', '.join(sorted(NAMED))}; mteb:TASK is a task of mteb; a folder of your own holds dataset.toml "
        "and captions.jsonl"
    )
