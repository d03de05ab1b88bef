"""Fixtures of the plugin. Heavy imports stay inside, so that an unused plugin costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch

    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.models.types import Retriever
    from pytest_audioretrieval.pinning.protocol import Protocol
    from pytest_audioretrieval.plugin.gate_fixture import Gate
    from pytest_audioretrieval.plugin.session import RetrievalSession
    from pytest_audioretrieval.plugin.targets import Target
    from pytest_audioretrieval.plugin.throughput_fixture import Throughput


def _session(request: pytest.FixtureRequest) -> RetrievalSession:
    from pytest_audioretrieval.plugin.session import session_of

    return session_of(request.config)


@pytest.fixture(scope="session")
def retrieval_target(request: pytest.FixtureRequest) -> Target:
    """The model, dataset and direction of this test case."""
    if request.param is None:
        pytest.fail("no model to judge: name one with --model SPEC, or in ini retrieval_model", pytrace=False)
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def protocol(request: pytest.FixtureRequest) -> Protocol:
    """Protocol of this run: how sound and text become vectors (``--retrieval-protocol``)."""
    return _session(request).protocol


@pytest.fixture(scope="session")
def dataset(request: pytest.FixtureRequest, retrieval_target: Target) -> Dataset:
    """Clips and captions of this test case."""
    return _session(request).measurements.dataset(retrieval_target)


@pytest.fixture(scope="session")
def retriever(request: pytest.FixtureRequest, retrieval_target: Target) -> Retriever:
    """The pinned model of this test case on the chosen device."""
    from pytest_audioretrieval.embedding.fusion import single

    return single(_session(request).measurements.answerer(retrieval_target.model)).retriever


@pytest.fixture(scope="session")
def audio(
    request: pytest.FixtureRequest, dataset: Dataset, retriever: Retriever, protocol: Protocol
) -> Mapping[str, torch.Tensor]:
    """Mono samples of each clip by id, at the protocol's rate and window, float32 tensors [n] on the model's device.

    Decoded when asked for. A clip of several windows (``full-clip``) is its windows one after another.
    """
    from pytest_audioretrieval.embedding.tensors import ClipTensors

    return ClipTensors(dataset.clips, protocol, retriever.device)


@pytest.fixture
def throughput(request: pytest.FixtureRequest, retrieval_target: Target, retriever: Retriever) -> Throughput:
    """Claims about this test case's speed; needs pytest-benchmark."""
    from pytest_audioretrieval.plugin.throughput_needs import NO_BENCHMARK

    if not request.config.pluginmanager.hasplugin("benchmark"):
        pytest.skip(NO_BENCHMARK)
    from pytest_audioretrieval.plugin.throughput_fixture import Throughput

    return Throughput(_session(request), retrieval_target, retriever.device, request)


@pytest.fixture
def gate(request: pytest.FixtureRequest, retrieval_target: Target) -> Gate:
    """Claims about this test case's run."""
    from pytest_audioretrieval.plugin.gate_fixture import Gate

    return Gate(_session(request), retrieval_target, request.node)
