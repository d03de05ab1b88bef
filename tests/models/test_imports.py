"""Import of torch by a model: short waits of threads, no garbage collection, and a model that can be freed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.embedding.test_sharing import REPOSITORY

START = """
import gc, os, sys, weakref
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.models.imports import frameworks
from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse

def embedder(*, embed):
    made = SingleModel(parse("builtin/tiny-clap-fused"), Resources(Protocol(), None, Tracker()))
    # A gate asks for vectors, and torch comes before the model; the fixture retriever asks for the model.
    made.texts(["rain"]) if embed else made.model
    return made
"""
LET_GO = """
model = weakref.ref(embedder(embed={embed}).model)
gc.collect()
print(model(), gc.get_freeze_count(), gc.isenabled())
"""
RESTS = """
with frameworks():
    print(gc.isenabled())
print(gc.isenabled())
gc.disable()
with frameworks():
    pass
print(gc.isenabled())
"""
UNTOUCHED = """
names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
before = [os.environ.get(name) for name in names]
embedder(embed={embed})
print("torch" in sys.modules, [os.environ.get(name) for name in names] == before)
"""
BOTH_WAYS = pytest.mark.parametrize("embed", [True, False])


def ran(code: str, **told: str) -> subprocess.CompletedProcess[str]:
    unsaid = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        env={**unsaid, **told, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done


@BOTH_WAYS
def test_a_model_that_nobody_holds_is_let_go(embed: bool) -> None:
    assert ran(LET_GO.format(embed=embed)).stdout.split() == ["None", "0", "True"]


def test_the_collector_rests_meanwhile_and_stays_as_the_user_has_it() -> None:
    assert ran(RESTS).stdout.split() == ["False", "True", "False"]


@pytest.mark.skipif(sys.platform != "linux", reason="GNU's OpenMP is the one that tells")
@BOTH_WAYS
@pytest.mark.parametrize(
    ("told", "turns"),
    [({}, "1000"), ({"OMP_WAIT_POLICY": "active"}, "30000000000"), ({"GOMP_SPINCOUNT": "7"}, "7")],
)
def test_threads_wait_for_a_short_while_unless_told_otherwise(told: dict[str, str], turns: str, embed: bool) -> None:
    done = ran(UNTOUCHED.format(embed=embed), OMP_DISPLAY_ENV="verbose", **told)
    assert done.stdout.split() == ["True", "True"]
    assert f"GOMP_SPINCOUNT = '{turns}'" in done.stderr
