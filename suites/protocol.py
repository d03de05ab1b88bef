"""Is a model measurable at all? The same clips must get the same ranks however they are embedded."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_audioretrieval.embedding.probe import Probe

pytestmark = pytest.mark.retrieval(datasets=["sounds"], directions=["t2a"])


@pytest.fixture(scope="session")
def probe(retriever, dataset, protocol):
    return Probe(retriever, dataset, protocol)


@pytest.mark.parametrize("way", ["again", "reordered", "crowded"])
def test_ranks_do_not_depend_on_how_clips_are_embedded(probe, way):
    before, after = probe.ranks(probe.alone), probe.ranks(getattr(probe, way))
    moved = np.flatnonzero(before != after)
    noise = float(np.abs(probe.alone - getattr(probe, way)).max())
    assert not moved.size, f"{moved.size} of {before.size} captions changed rank; vectors differ by up to {noise:.1e}"


def test_vectors_are_finite_and_unit(probe):
    assert np.isfinite(probe.raw).all()
    np.testing.assert_allclose(np.linalg.norm(probe.raw, axis=1), 1, atol=1e-5)


def test_vectors_are_not_collapsed(probe):
    spread = 1 - float(np.linalg.norm(probe.alone.mean(axis=0)))
    assert spread > 0.01, (
        f"clips point the same way: 1 - length of their mean vector is {spread:.4f}, expected above 0.01"
    )


def test_different_clips_have_different_vectors(probe):
    assert probe.twins() == []
