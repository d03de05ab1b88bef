"""Properties that every implementation of ranks, metrics and reformulation measures must have.

``implementation`` lists the functions of an implementation, ``strategies`` makes inputs for Hypothesis, ``properties``
is the catalogue, and ``builtin`` is this package's own implementation. The packaged suite ``properties`` runs them all.
"""

from __future__ import annotations

from importlib.util import find_spec

from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.testing.implementation import Implementation

__all__ = ["Implementation"]


class MissingHypothesisError(RetrievalError, ImportError):
    """Missing hypothesis; as an ``ImportError`` too, so that ``pytest.importorskip`` skips a test that needs it."""


if find_spec("hypothesis") is None:
    raise MissingHypothesisError(
        "properties are checked with hypothesis, which is not installed",
        remedy="pip install 'pytest-audioretrieval[testing]'",
    )
