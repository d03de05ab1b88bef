"""Names that ReasonAudio registers: the dataset ``reasoning`` and the folder layout ``reasonaudio``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.data.types import Dataset


def reasoning(loading: Loading) -> Dataset:
    """Load the built-in dataset; its sounds are rendered where their digests are not remembered."""
    from pytest_audioretrieval.benchmarks.reasonaudio.builtin.dataset import load_reasoning
    from pytest_audioretrieval.data.rendered import load_builtin

    return load_builtin("reasoning", load_reasoning, loading)


def reasonaudio(folder: Path, loading: Loading) -> Dataset:
    """Load a folder with a corpus, built here or released."""
    from pytest_audioretrieval.benchmarks.reasonaudio.release.folder import load_reasonaudio

    return load_reasonaudio(folder, progress=lambda clips: loading.track(clips, "reading clips"))
