"""What a framework's import leaves is out of the garbage collector's way; what a model leaves is not."""

from __future__ import annotations

import subprocess
import sys

from tests.embedding.test_sharing import REPOSITORY

START = """
import gc, sys, weakref

class Ring:
    def __init__(self):
        self.me = self

from pytest_audioretrieval.models import registry
from pytest_audioretrieval.spec import parse
spec = parse("builtin/tiny-clap-fused")
identity = registry.describe(spec, offline=True, allow_unpinned=False)
"""
#: ``before`` is garbage that no collection has found yet.
WALK = """
gc.set_threshold(0)
before = weakref.ref(Ring())
first = registry.load(spec, identity, device="cpu")
frozen = gc.get_freeze_count()
first.ring = Ring()
left = weakref.ref(first.ring)
del first
registry.load(spec, identity, device="cpu")
gc.collect()
print(frozen > 100_000, gc.get_freeze_count() <= frozen, gc.isenabled(), before(), left())
"""
TORCH_BEFORE = """
import torch
users = Ring()
left = weakref.ref(users)
registry.load(spec, identity, device="cpu")
del users
gc.collect()
print(gc.get_freeze_count(), left())
"""
SWITCHED_OFF = """
from pytest_audioretrieval.models.imports import lasting
with lasting():
    print(gc.isenabled())
gc.disable()
with lasting():
    pass
print(gc.isenabled())
"""


def said(code: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", START + code], cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True
    ).stdout.split()


def test_imports_are_frozen_once_and_models_are_let_go() -> None:
    assert said(WALK) == ["True", "True", "True", "None", "None"]


def test_where_torch_is_imported_already_nothing_is_frozen() -> None:
    """A model of the user's may live then, and would never be let go."""
    assert said(TORCH_BEFORE) == ["0", "None"]


def test_the_collector_rests_meanwhile_and_stays_as_the_user_has_it() -> None:
    assert said(SWITCHED_OFF) == ["False", "False"]
