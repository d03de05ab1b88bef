"""Skips for tests that need more of a library than the oldest version that the package works with."""

from __future__ import annotations

from importlib import metadata

import pytest
from packaging.version import Version


def older(distribution: str, least: str) -> bool:
    """Return whether the installed version of a library is below ``least``."""
    return Version(metadata.version(distribution)) < Version(least)


def skip_before_transformers_5() -> None:
    """Skip a test that makes a tokenizer from a vocabulary in memory, as transformers 5 does."""
    if older("transformers", "5"):
        pytest.skip("needs transformers 5: it makes tokenizers from a vocabulary in memory")


def needs(distribution: str, least: str, why: str) -> pytest.MarkDecorator:
    """Return the mark of a test that is skipped where the installed version is below ``least``."""
    return pytest.mark.skipif(older(distribution, least), reason=f"needs {distribution} {least}: {why}")
