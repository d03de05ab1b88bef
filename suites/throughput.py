"""Is a checkpoint as fast as it was? Each time is divided by that of a reference workload taken in the same run.

    pytest --retrieval-suite throughput --model SPEC [--retrieval-record new|changed|all]

pytest-benchmark prints the times of a batch of clips and of a query; without it the tests are skipped.
``pytest_audioretrieval/throughput.py`` says what is stored.
"""

from __future__ import annotations

import pytest

from pytest_audioretrieval.plugin.throughput_needs import NO_BENCHMARK, ONE_TAKE

pytestmark = [
    pytest.mark.retrieval(datasets=["sounds"], directions=["t2a"]),
    # The fixture says so too, but after the model is loaded.
    pytest.mark.skipif("not config.pluginmanager.hasplugin('benchmark')", reason=NO_BENCHMARK),
    pytest.mark.skipif("hasattr(config, 'workerinput')", reason=ONE_TAKE),
]

CLIPS = 8


def test_clips_per_second(throughput, retriever, dataset, protocol):
    from pytest_audioretrieval.audio.window import prepare

    windows = [window for clip in dataset.clips[:CLIPS] for window in prepare(clip.read(), protocol, name=clip.id)]
    throughput.judge(lambda: retriever.embed_audio(windows, protocol), len(windows), "clip")


def test_query_latency(throughput, retriever, dataset, protocol):
    throughput.judge(lambda: retriever.embed_text([dataset.captions[0].text], protocol), 1, "query")
