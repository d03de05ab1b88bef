"""Four xdist workers that want the same vectors share the work."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.plugin.toys import CAPTIONS, CLIPS, MODEL, Project, counts

pytestmark = pytest.mark.slow

#: Says which worker embeds what.
NOTING = MODEL.replace('log(f"audio {len(windows)}")', 'log(f"audio {windows[0].mean():.6f} {os.getpid()}")').replace(
    'log(f"text {len(texts)}")', '[log(f"text {text}") for text in texts]'
)
#: A model of a module has no weights that name it, and so nothing of it is stored; here it has, and small shards, and
#: draws nothing, so that no worker waits for torch.
STORED = """
from contextlib import nullcontext
from pytest_audioretrieval.embedding import randomness, sharing, single_model
from pytest_audioretrieval.models.types import ModelIdentity

randomness.seeded = nullcontext
sharing.SHARD = 8
single_model.describe = lambda spec, **_: ModelIdentity(spec.id, None, "a" * 64)
"""
SUITE = """
import pytest
from pytest_audioretrieval.metrics import hit_rate

@pytest.mark.retrieval(directions=["t2a"])
@pytest.mark.parametrize("k", range(1, 9))
def test_not_inferior(gate, k):
    gate.non_inferior(hit_rate(k), margin=0.03)
"""


def test_four_workers_embed_each_clip_once(project: Project) -> None:
    project.pytester.makepyfile(toy=NOTING, test_toys=SUITE)
    project.pytester.makeconftest(STORED)
    done = project.process("-n4", "--retrieval-record", "new")
    assert (done.returncode, counts(done)) == (0, {"recorded": 8}), done.stdout
    lines = [line.split(maxsplit=1) for line in project.logged() if " " in line]
    texts = [rest for kind, rest in lines if kind == "text"]
    clips = Counter(rest.split()[0] for kind, rest in lines if kind == "audio")
    assert (len(clips), clips.total()) == (CLIPS, CLIPS)
    assert len(texts) == len(set(texts)) == CLIPS * CAPTIONS
