"""Properties that ranks, metrics and reformulation measures have by definition, whoever computes them.

``implementation`` says what is asked of an implementation, ``strategies`` makes inputs for Hypothesis, ``properties``
is the catalogue, ``builtin`` this package's own implementation. The packaged suite ``properties`` runs all of it.
"""

from __future__ import annotations

from importlib.util import find_spec

from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.testing.implementation import Implementation

__all__ = ["Implementation"]


class MissingHypothesisError(RetrievalError, ImportError):
    """Both, so that ``pytest.importorskip`` skips where hypothesis is not installed."""


if find_spec("hypothesis") is None:
    raise MissingHypothesisError(
        "properties are checked with hypothesis, which is not installed: pip install 'pytest-audioretrieval[testing]'"
    )
