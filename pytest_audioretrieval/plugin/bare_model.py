"""The bare option ``--model``, which another plugin or conftest.py may own."""

from __future__ import annotations

import argparse

import pytest

from pytest_audioretrieval.plugin.settings import OPTIONS

BARE = "--model"
#: Set where a conftest.py or another plugin has ``--model``.
BARE_TAKEN = pytest.StashKey[bool]()


def claim_bare_model(config: pytest.Config, parser: pytest.Parser) -> None:
    """Register ``--model`` unless a conftest.py or another plugin has it; ``plugin.collector`` then says so.

    Done after conftests are loaded, because two owners of one option end pytest.
    """
    option = next(o for o in OPTIONS if o.name == "model")
    group = parser.getgroup("audioretrieval")
    try:
        group.addoption(BARE, dest=option.dest, action="append", default=None, metavar="SPEC", help="see above")
    except (argparse.ArgumentError, ValueError):
        config.stash[BARE_TAKEN] = True
