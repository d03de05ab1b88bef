"""What a test asks for. Heavy imports stay inside, so that an unused plugin costs nothing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_audioretrieval.errors import BaselineError

if TYPE_CHECKING:
    import torch

    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.gate.judging import Claim, Compared, Endpoint, Finding
    from pytest_audioretrieval.gate.throughput import Throughput
    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.models.types import Retriever
    from pytest_audioretrieval.pinning.protocol import Protocol
    from pytest_audioretrieval.plugin.session import RetrievalSession, Target
    from pytest_audioretrieval.runs.run import Subject

#: What a test hands to its report: plain values only, see ``plugin.pytest_runtest_makereport``.
CARGO = pytest.StashKey[dict[str, Any]]()
GET_BENCHMARK = "pip install pytest-benchmark, and run without -p no:benchmark"
NO_BENCHMARK = f"throughput needs pytest-benchmark: {GET_BENCHMARK}"
ONE_TAKE = "throughput needs repeated takes: run without -n, --benchmark-disable and --benchmark-skip"


class RetrievalWarning(UserWarning):
    """An inconclusive verdict under ``--retrieval-on-inconclusive warn``."""


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
    """How sound and text become vectors in this run (``--retrieval-protocol``)."""
    return _session(request).protocol


@pytest.fixture(scope="session")
def dataset(request: pytest.FixtureRequest, retrieval_target: Target) -> Dataset:
    """Clips and captions of this test case."""
    return _session(request).dataset(retrieval_target)


@pytest.fixture(scope="session")
def retriever(request: pytest.FixtureRequest, retrieval_target: Target) -> Retriever:
    """The pinned model of this test case on the chosen device."""
    return _session(request).embedder(retrieval_target.model).retriever


@pytest.fixture(scope="session")
def audio(
    request: pytest.FixtureRequest, dataset: Dataset, retriever: Retriever, protocol: Protocol
) -> Mapping[str, torch.Tensor]:
    """Clip id -> mono samples at the protocol's rate and window as a float32 tensor [n] on the model's device.

    Decoded when asked for. A clip of several windows (``full-clip``) is its windows one after another.
    """
    from pytest_audioretrieval.embedding.tensors import ClipTensors

    return ClipTensors(dataset.clips, protocol, retriever.device)


@pytest.fixture
def throughput(request: pytest.FixtureRequest, retrieval_target: Target, retriever: Retriever) -> Throughput:
    """Claims about this test case's speed; needs pytest-benchmark."""
    from pytest_audioretrieval.gate.throughput import Throughput

    if not request.config.pluginmanager.hasplugin("benchmark"):
        pytest.skip(NO_BENCHMARK)
    return Throughput(_session(request), retrieval_target, retriever.device, request)


@pytest.fixture
def gate(request: pytest.FixtureRequest, retrieval_target: Target) -> Gate:
    """Claims about this test case's run."""
    return Gate(_session(request), retrieval_target, request.node)


class Gate:
    """Judges claims: a claim that does not hold fails the test with a screen that explains it.

    Every method takes ``metric`` (from ``pytest_audioretrieval.metrics``) and ``margin`` in the metric's own unit
    (0.03 of R@1 is 3 points), and returns the ``Finding``. ``baseline`` names another model's stored run.
    """

    def __init__(self, session: RetrievalSession, target: Target, node: pytest.Item) -> None:
        self._session, self._target, self._node = session, target, node

    def non_inferior(self, metric: Metric, *, margin: float, baseline: str | None = None) -> Finding:
        """Not worse than the baseline by ``margin`` or more."""
        __tracebackhide__ = True
        return self._claim("non_inferior", metric, margin, baseline)

    def equivalent(self, metric: Metric, *, margin: float, baseline: str | None = None) -> Finding:
        """Neither worse nor better than the baseline by ``margin`` or more."""
        __tracebackhide__ = True
        return self._claim("equivalent", metric, margin, baseline)

    def superior(self, metric: Metric, *, margin: float, baseline: str | None = None) -> Finding:
        """Better than the baseline; ``margin`` only tells how far the interval would certify."""
        __tracebackhide__ = True
        return self._claim("superior", metric, margin, baseline)

    def consistent(self, metric: Metric, *, tolerance: float = 0.02) -> Finding:
        """Within ``tolerance`` of the published figure for this model, dataset and direction."""
        __tracebackhide__ = True
        from pytest_audioretrieval.gate.judging import judge_published
        from pytest_audioretrieval.runs.published import figure

        session, target = self._session, self._target
        published, source = figure(session.shelf, target, str(metric), session.protocol.name)
        endpoint = self._endpoint(metric, "consistent", tolerance)
        return self._report(judge_published(session.subject(target), published, source, endpoint))

    def above_chance(self, metric: Metric) -> Finding:
        """Right more often than half the time: no baseline, clustered, corrected over the slices of the run (MASB).

        The test is two-sided: below one half is a verdict of its own.
        ``metric`` is ``accuracy()``, of a run of direction ``choice`` or ``texts``, whole or ``within`` a slice.
        """
        __tracebackhide__ = True
        from pytest_audioretrieval.gate.judging import judge_chance

        subject = self._session.subject(self._target)
        return self._report(judge_chance(subject, self._endpoint(metric, "above_chance", 0.0), self._session.level))

    def _claim(self, claim: Compared, metric: Metric, margin: float, other: str | None) -> Finding:
        __tracebackhide__ = True
        from pytest_audioretrieval.gate.judging import check_margin, judge

        session, target = self._session, self._target
        check_margin(margin)
        subject = session.subject(target)
        if session.settings["record"]:
            self._record(subject)
        stored, where = session.baseline(target, other)
        return self._report(judge(subject, stored, where, self._endpoint(metric, claim, margin), session.level))

    def _endpoint(self, metric: Metric, claim: Claim, margin: float) -> Endpoint:
        from pytest_audioretrieval.gate.judging import Endpoint

        return Endpoint(metric, claim, margin, self._node.nodeid, self._target.model.text)

    def _record(self, subject: Subject) -> None:
        """Hand the run to the report and end the test as recorded, where ``--retrieval-record`` wants it written."""
        from pytest_audioretrieval.runs import run as runs

        target = self._target
        path = self._session.shelf.target(target.source.name, target.direction, target.model.slug)
        # A run recorded by an earlier test must not be judged against itself by the next one. Looked up last, because
        # another xdist worker's run may be written between the two looks.
        if not self._wanted(subject) and not self._session.recorded_now(path):
            return
        record = {"path": str(path), "content": runs.encode(subject.run), "notes": list(subject.notes)}
        self._node.stash[CARGO] = {"record": record}
        pytest.skip(f"recorded {self._session.shown(path)}")

    def _wanted(self, subject: Subject) -> bool:
        from pytest_audioretrieval.runs import baselines
        from pytest_audioretrieval.runs import run as runs

        if self._session.settings["record"] == "all":
            return True
        try:
            found = self._session.stored(self._target, self._target.model)
            if found is None:
                return True
            if self._session.settings["record"] == "new":
                return False
            baselines.refuse_incomparable(subject.run, *found)
            return not runs.same_outcomes(subject.run, found[0])
        except BaselineError:
            if self._session.settings["record"] == "new":
                raise
            return True

    def _report(self, finding: Finding) -> Finding:
        """Put the finding into the reports; fail the test where the claim does not hold."""
        __tracebackhide__ = True
        import msgspec

        cargo = self._node.stash.setdefault(CARGO, {})
        cargo.setdefault("findings", []).append(msgspec.to_builtins(finding))
        for key in ("verdict", "difference", "low", "high", "margin"):
            if (value := getattr(finding, key)) is not None:
                self._node.user_properties.append((f"retrieval_{finding.metric}_{key}", value))
        if finding.holds:
            return finding
        from pytest_audioretrieval.report.failure import explain

        screen = explain(finding, self._session)
        on_inconclusive = self._session.settings["on-inconclusive"]
        if finding.verdict != "inconclusive" or on_inconclusive == "fail":
            pytest.fail(screen, pytrace=False)
        if on_inconclusive == "warn":
            warnings.warn(RetrievalWarning(screen.splitlines()[0]), stacklevel=4)
        return finding
