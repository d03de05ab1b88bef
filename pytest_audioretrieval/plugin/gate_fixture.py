"""The object behind the fixture ``gate``: judges claims about one test case's run."""

from __future__ import annotations

import shlex
import warnings
from typing import TYPE_CHECKING

import pytest

from pytest_audioretrieval.plugin.results import add_finding, record_and_skip

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Dataset
    from pytest_audioretrieval.gate.findings import Claim, Compared, Endpoint, Finding
    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.plugin.session import RetrievalSession
    from pytest_audioretrieval.plugin.targets import Target
    from pytest_audioretrieval.report.summary import Guidance
    from pytest_audioretrieval.runs.run import MeasuredRun


class RetrievalWarning(UserWarning):
    """An inconclusive verdict under ``--retrieval-on-inconclusive warn``."""


class Gate:
    """Judges claims: a claim that does not hold fails the test with a screen that explains it.

    Every method takes ``metric`` (from ``pytest_audioretrieval.metrics``) and ``margin`` in the metric's own unit
    (0.03 of R@1 is 3 points), and returns the ``Finding``. ``baseline`` names another model's stored run.
    """

    def __init__(self, session: RetrievalSession, target: Target, node: pytest.Item) -> None:
        self._session, self._target, self._node = session, target, node

    def non_inferior(self, metric: Metric, *, margin: float, baseline: str | None = None) -> Finding:
        """Claim that the run is not worse than the baseline by ``margin`` or more."""
        __tracebackhide__ = True
        return self._claim("non_inferior", metric, margin, baseline)

    def equivalent(self, metric: Metric, *, margin: float, baseline: str | None = None) -> Finding:
        """Claim that the run is neither worse nor better than the baseline by ``margin`` or more."""
        __tracebackhide__ = True
        return self._claim("equivalent", metric, margin, baseline)

    def superior(self, metric: Metric, *, margin: float, baseline: str | None = None) -> Finding:
        """Claim that the run is better than the baseline; ``margin`` only tells how far the interval would certify."""
        __tracebackhide__ = True
        return self._claim("superior", metric, margin, baseline)

    def consistent(self, metric: Metric, *, tolerance: float = 0.02) -> Finding:
        """Claim a value within ``tolerance`` of the published figure for this model, dataset and direction."""
        __tracebackhide__ = True
        from pytest_audioretrieval.gate.published import judge_published
        from pytest_audioretrieval.runs.published import figure

        session, target = self._session, self._target
        names = (target.model.id, target.source.name, target.direction, str(metric), session.protocol.name)
        published, source = figure(session.places.shelf, *names)
        endpoint = self._endpoint(metric, "consistent", tolerance)
        return self._report(judge_published(session.measurements.run(target), published, source, endpoint))

    def above_chance(self, metric: Metric) -> Finding:
        """Claim that answers are right more often than half the time, corrected over the slices of the run (MASB).

        There is no baseline; choices of one cluster count together. The test is two-sided: below one half is a verdict
        of its own. ``metric`` is ``accuracy()``, of a run of direction ``choice`` or ``texts``, whole or ``within`` a
        slice.
        """
        __tracebackhide__ = True
        from pytest_audioretrieval.gate.chance import judge_chance

        measured = self._session.measurements.run(self._target)
        return self._report(judge_chance(measured, self._endpoint(metric, "above_chance", 0.0), self._session.level))

    def _claim(self, claim: Compared, metric: Metric, margin: float, other: str | None) -> Finding:
        __tracebackhide__ = True
        from pytest_audioretrieval.gate.findings import check_margin
        from pytest_audioretrieval.gate.judging import judge

        session, target = self._session, self._target
        check_margin(margin)
        measured = session.measurements.run(target)
        if session.recorder.mode:
            self._record(measured)
        stored, where = session.stored.baseline(target, other)
        return self._report(judge(measured, stored, where, self._endpoint(metric, claim, margin), session.level))

    def _endpoint(self, metric: Metric, claim: Claim, margin: float) -> Endpoint:
        from pytest_audioretrieval.gate.findings import Endpoint

        return Endpoint(metric, claim, margin, self._node.nodeid, self._target.model.text)

    def _record(self, measured: MeasuredRun) -> None:
        """End the test as recorded where ``--retrieval-record`` wants the run written."""
        from pytest_audioretrieval.runs.stored import encode

        target, places = self._target, self._session.places
        path = places.shelf.target(target.source.name, target.direction, target.model.slug)
        if self._session.recorder.wants(target, measured.run, path):
            record_and_skip(self._node, path, encode(measured.run), places.shown(path), measured.notes)

    def _report(self, finding: Finding) -> Finding:
        """Put the finding into the reports; fail the test where the claim does not hold."""
        __tracebackhide__ = True
        add_finding(self._node, finding)
        if finding.holds:
            return finding
        from pytest_audioretrieval.report.failure import explain

        screen = explain(finding, self._guidance(finding))
        on_inconclusive = self._session.settings["on-inconclusive"]
        if finding.verdict != "inconclusive" or on_inconclusive == "fail":
            pytest.fail(screen, pytrace=False)
        if on_inconclusive == "warn":
            warnings.warn(RetrievalWarning(screen.splitlines()[0]), stacklevel=4)
        return finding

    def _guidance(self, finding: Finding) -> Guidance:
        from pytest_audioretrieval.report.summary import Guidance

        session, model = self._session, finding.model_spec
        dataset = session.measurements.dataset(self._target)
        program, spelled = "python -m pytest_audioretrieval", session.targets.spelled(finding.dataset)
        explain = f"{program} {dataset.explain_command} {spelled}" if dataset.explain_command else ""
        chance = f"{program} {dataset.chance_command} {shlex.quote(model)} --dataset {spelled}"
        return Guidance(
            session.command(model, "--retrieval-json", "out.json"),
            session.command(model, "--retrieval-record", "changed"),
            explain,
            chance if dataset.chance_command else "",
            self._audible(finding, dataset),
        )

    def _audible(self, finding: Finding, dataset: Dataset) -> dict[str, str]:
        """Return a file to listen to of each clip that the screen names, by id."""
        from pytest_audioretrieval.report.failure import EXAMPLES
        from pytest_audioretrieval.report.listening import audible

        told = [query for query in finding.losers[:EXAMPLES] if query.right]
        named = {name for query in told for name in (query.shown, query.first, query.right)}
        cache = self._session.places.cache
        folder = cache / "listen" / finding.dataset if cache else None
        clips = [clip for clip in dataset.clips if clip.id in named]
        return {clip.id: path for clip in clips if (path := audible(clip, folder)) is not None}
