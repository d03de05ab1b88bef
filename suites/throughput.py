"""Is a checkpoint as fast as it was? Each time is divided by that of a reference workload taken in the same run.

    pytest --retrieval-suite throughput --model SPEC [--retrieval-record new|all]

pytest-benchmark prints the times of a batch of clips and of a query; ``pytest_audioretrieval/throughput.py`` says what
is stored.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from pytest_audioretrieval import throughput
from pytest_audioretrieval.fixtures import CARGO
from pytest_audioretrieval.session import session_of

if find_spec("pytest_benchmark") is None:
    raise pytest.Collector.CollectError("throughput needs pytest-benchmark: pip install pytest-benchmark")
pytestmark = pytest.mark.retrieval(datasets=["sounds"], directions=["t2a"])

ROUNDS, CLIPS = 10, 8


@pytest.fixture
def measured(request, retriever, protocol):
    """The figure of a call; the reference is timed before each of its rounds."""
    if not request.config.pluginmanager.hasplugin("benchmark"):
        pytest.skip("throughput needs pytest-benchmark: run without -p no:benchmark")
    benchmark, reference = request.getfixturevalue("benchmark"), throughput.reference(retriever.device)
    device = retriever.device.partition(":")[0]

    def measure(work, items):
        taken, references = [], []
        benchmark.extra_info["items"] = items
        with throughput.one_thread(device):
            benchmark.pedantic(
                lambda: taken.append(throughput.seconds(work, device)),
                setup=lambda: references.append(throughput.seconds(reference, device)),
                rounds=ROUNDS,
                warmup_rounds=2,
            )
        return throughput.Figure(device=device, protocol=protocol.name, cost=throughput.cost(taken, references, items))

    return measure


@pytest.fixture
def judge(request, retrieval_target):
    """Record a figure where that is asked for, else hold it against the stored one."""
    session, slug = session_of(request.config), retrieval_target.model.slug

    def judge(found, what):
        path, record = session.shelf.find(throughput.FOLDER, what, slug), session.settings["record"]
        if record == "all" or (record and path is None):
            own = session.shelf.target(throughput.FOLDER, what, slug)
            content = {"path": str(own), "content": throughput.encode(found), "notes": []}
            request.node.stash[CARGO] = {"record": content}
            pytest.skip(f"recorded {session.shown(own)}")
        if path is None:
            command = session.command(retrieval_target.model.text, "--retrieval-record", "new")
            pytest.fail(
                f"no figure of a {what} of {retrieval_target.model.id} is stored: record it with: {command}",
                pytrace=False,
            )
        if message := throughput.slower(found, throughput.read(path), session.shown(path)):
            pytest.fail(f"a {what} {message}", pytrace=False)

    return judge


def test_clips_per_second(measured, judge, retriever, dataset, protocol):
    from pytest_audioretrieval.audio.window import prepare

    windows = [window for clip in dataset.clips[:CLIPS] for window in prepare(clip.read(), protocol, name=clip.id)]
    judge(measured(lambda: retriever.embed_audio(windows, protocol), len(windows)), "clip")


def test_query_latency(measured, judge, retriever, dataset, protocol):
    judge(measured(lambda: retriever.embed_text([dataset.captions[0].text], protocol), 1), "query")
