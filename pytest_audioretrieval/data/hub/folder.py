"""A hub dataset whose columns a user states in ``dataset.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.hub.dataset import load_hub
from pytest_audioretrieval.data.hub.sets import CaptionRows, Expected, HubSet
from pytest_audioretrieval.data.manifest import read_settings

if TYPE_CHECKING:
    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.data.types import Dataset


def load_hub_folder(folder: Path, loading: Loading) -> Dataset:
    """Load the dataset that a folder of layout ``hub`` describes.

    Raises:
        DataError: see ``read_settings`` and ``load_hub``.
        PinError: see ``load_hub``.
    """
    settings = read_settings(folder)
    hub = settings.hub
    assert hub is not None  # as layout = "hub" states
    one = HubSet(
        name=settings.name,
        hub=hub.id,
        layout=CaptionRows(hub.audio, hub.clip, tuple(hub.captions), hub.files),
        licence=settings.licence,
        expected=Expected(clips=hub.clip_count, captions=hub.caption_count),
        merge=settings.identical_captions == "merge",
    )
    return load_hub(one, hub.revision, loading)
