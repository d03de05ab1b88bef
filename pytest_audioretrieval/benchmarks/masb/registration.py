"""Names that MASB registers: the dataset ``binding`` and the folder layout ``masb``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_audioretrieval.data.loading import Loading
    from pytest_audioretrieval.data.types import Dataset


def binding(loading: Loading) -> Dataset:
    """Load the built-in dataset; its sounds are rendered where their digests are not remembered."""
    from pytest_audioretrieval.benchmarks.masb.builtin.dataset import load_binding
    from pytest_audioretrieval.data.rendered import load_builtin

    return load_builtin("binding", load_binding, loading)


def masb(folder: Path, loading: Loading) -> Dataset:
    """Load a folder that holds the release."""
    from pytest_audioretrieval.benchmarks.masb.release.folder import load_masb

    return load_masb(folder)
