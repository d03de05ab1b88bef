"""What a framework's import leaves is out of the garbage collector's way; what a model leaves is not."""

from __future__ import annotations

import subprocess
import sys

from tests.embedding.test_sharing import REPOSITORY

WALK = """
import gc, sys, weakref

class Ring:
    def __init__(self):
        self.me = self

before = weakref.ref(Ring())
from pytest_audioretrieval.models import registry
from pytest_audioretrieval.spec import parse
spec = parse("builtin/tiny-clap-fused")
identity = registry.describe(spec, offline=True, allow_unpinned=False)
first = registry.load(spec, identity, device="cpu")
frozen = gc.get_freeze_count()
first.ring = Ring()
left = weakref.ref(first.ring)
del first
registry.load(spec, identity, device="cpu")
gc.collect()
print(frozen > 100_000, gc.get_freeze_count() <= frozen, gc.isenabled(), before(), left())
"""


def test_imports_are_frozen_once_and_models_are_let_go() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WALK], cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["True", "True", "True", "None", "None"]
