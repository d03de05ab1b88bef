"""From a name or a folder on the command line to a dataset; nothing is loaded before it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.errors import DataError, SpecError, did_you_mean

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset

#: Wraps work of known length to show its progress: (items, what is done) -> items.
Track = Callable[..., object]


@dataclass(frozen=True)
class Source:
    """A dataset by name, and how to load it: ``load(cache folder, track)``; ``folder`` is that of a user's own."""

    name: str
    load: Callable[[Path | None, Track], Dataset] = field(repr=False, compare=False)
    folder: Path | None = None


def _sounds(cache: Path | None, track: Track) -> Dataset:
    from pytest_audioretrieval.data.sounds.dataset import load_sounds
    from pytest_audioretrieval.pins import load_pins

    pinned = load_pins().dataset_fingerprint("builtin/sounds")
    return load_sounds(pinned, cache=cache, progress=lambda clips: track(clips, "rendering sounds"))  # type: ignore[arg-type,return-value]


def _sounds_single(cache: Path | None, track: Track) -> Dataset:
    from pytest_audioretrieval.data.sounds.dataset import load_sounds_single
    from pytest_audioretrieval.pins import load_pins

    return load_sounds_single(load_pins().dataset_fingerprint("builtin/sounds-single"))


def _binding(cache: Path | None, track: Track) -> Dataset:
    from pytest_audioretrieval.data.binding.dataset import load_binding
    from pytest_audioretrieval.pins import load_pins

    pinned = load_pins().dataset_fingerprint("builtin/binding")
    return load_binding(pinned, cache=cache, progress=lambda clips: track(clips, "rendering binding"))  # type: ignore[arg-type,return-value]


def _reasoning(cache: Path | None, track: Track) -> Dataset:
    from pytest_audioretrieval.data.reasonaudio.builtin import load_reasoning
    from pytest_audioretrieval.pins import load_pins

    pinned = load_pins().dataset_fingerprint("builtin/reasoning")
    return load_reasoning(pinned, cache=cache, progress=lambda clips: track(clips, "rendering reasoning"))  # type: ignore[arg-type,return-value]


#: Datasets with a name. Sets pinned on a hub join here.
NAMED: dict[str, Source] = {
    source.name: source
    for source in (
        Source("sounds", _sounds),
        Source("sounds-single", _sounds_single),
        Source("binding", _binding),
        Source("reasoning", _reasoning),
    )
}


def _captions(folder: Path, track: Track) -> Dataset:
    from pytest_audioretrieval.data.manifest import load_folder

    return load_folder(folder)


def _masb(folder: Path, track: Track) -> Dataset:
    from pytest_audioretrieval.data.masb.folder import load_masb

    return load_masb(folder)


def _reasonaudio(folder: Path, track: Track) -> Dataset:
    from pytest_audioretrieval.data.reasonaudio.folder import load_reasonaudio

    return load_reasonaudio(folder, progress=lambda clips: track(clips, "reading clips"))  # type: ignore[arg-type,return-value]


#: How a folder is read, by the layout that its ``dataset.toml`` states.
LAYOUTS = {"captions": _captions, "masb": _masb, "reasonaudio": _reasonaudio}


def source(text: str, base: Path) -> Source:
    """The dataset that ``text`` names: a built-in name, a task of mteb, or a folder relative to ``base``.

    Raises:
        SpecError: neither; shows the nearest name.
        DataError: the folder's ``dataset.toml`` is missing or wrong.
    """
    if text in NAMED:
        return NAMED[text]
    if text.startswith("mteb:"):
        from pytest_audioretrieval.data.mteb_task import load_task, name_of

        return Source(name_of(text), lambda cache, track: load_task(text))
    folder = (base / Path(text).expanduser()).absolute()
    if folder.is_dir():
        from pytest_audioretrieval.data.manifest import read_settings

        settings = read_settings(folder)
        if settings.name in NAMED:
            raise DataError(f"{folder}: name {settings.name!r} is that of a built-in dataset: give yours another name")
        read = LAYOUTS[settings.layout]
        return Source(settings.name, lambda cache, track: read(folder, track), folder.resolve())
    raise SpecError(
        f"dataset {text!r} is neither a folder nor a known name: {did_you_mean(text, NAMED)}"
        f"known are {', '.join(sorted(NAMED))}; mteb:TASK is a task of mteb; a folder of your own holds dataset.toml "
        "and captions.jsonl"
    )
