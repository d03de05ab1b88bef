"""Verdicts of the packaged suites on the built-in upgrades, from stored runs alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType

import pytest

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.gate.findings import Endpoint, Finding, Level
from pytest_audioretrieval.gate.judging import judge
from pytest_audioretrieval.metrics import Metric, rank_loss
from pytest_audioretrieval.runs import baselines
from pytest_audioretrieval.runs.outcomes import Shown
from pytest_audioretrieval.runs.run import MeasuredRun, Run
from pytest_audioretrieval.stats import compare
from suites import captions, reformulation

BASE = "tiny-clap-fused"


def stored(name: str, direction: str) -> Run:
    return baselines.read(shipped("baselines") / "sounds" / direction / f"builtin--{name}.json")


class Gate:
    """Gate over stored runs, for the tests of a suite."""

    def __init__(self, name: str, direction: str) -> None:
        self.baseline = stored(BASE, direction)
        run = stored(name, direction)
        shown = Shown(run.queries.id, run.queries.id)
        self.subject = MeasuredRun(run, shown, forms=dict.fromkeys(FORMS, shown))
        self.findings: list[Finding] = []

    def non_inferior(self, metric: Metric, *, margin: float) -> None:
        endpoint = Endpoint(metric, "non_inferior", margin, "test", "model")
        self.findings.append(judge(self.subject, self.baseline, "stored", endpoint, Level(0.95, 2000, 20261028)))


def claims(suite: ModuleType) -> Iterator[tuple[object, Metric]]:
    for name, test in vars(suite).items():
        if name.startswith("test_"):
            (cases,) = (mark for mark in test.pytestmark if mark.name == "parametrize")
            yield from ((test, metric) for metric in cases.args[1])


def judged(suite: ModuleType, name: str, direction: str) -> dict[str, Finding]:
    gate = Gate(name, direction)
    for test, metric in claims(suite):
        test(gate, metric)  # type: ignore[operator]
    return {finding.metric: finding for finding in gate.findings}


@pytest.fixture(scope="module")
def brittle() -> dict[str, Finding]:
    return judged(reformulation, "tiny-clap-fused-brittle", "forms")


@pytest.mark.parametrize("direction", ["t2a", "a2t"])
@pytest.mark.parametrize("name", ["tiny-clap-fused-v2", "tiny-clap-fused-brittle"])
def test_captions_pass(name: str, direction: str) -> None:
    found = judged(captions, name, direction)
    assert list(found) == ["R@1", "R@5", "R@10", "map@10", "margin"]
    assert [metric for metric, finding in found.items() if not finding.holds] == []


def test_captions_see_the_regressed_one() -> None:
    """Else the claims above would say nothing."""
    assert not judged(captions, "tiny-clap-fused-regressed", "t2a")["R@1"].holds


def test_requests_fail(brittle: dict[str, Finding]) -> None:
    """Captions unharmed, requests harmed: only this suite sees it, and says why."""
    assert len(brittle) == 18
    for what in ("R@5", "rank_loss", "TBMD"):
        finding = brittle[f"indirect:{what}"]
        assert (finding.holds, finding.verdict) == (False, "regressed")
        assert finding.causes[0] == "the target moved away"
        assert len(finding.losers) == 5
    assert brittle["indirect:R@5"].difference < -0.15


def test_forms_without_a_request_pass(brittle: dict[str, Finding]) -> None:
    assert {brittle[f"key_phrase:{what}"].verdict for what in ("R@5", "rank_loss", "TBMD")} == {"equivalent"}


def test_what_is_claimed_of_all_forms_fails_with_the_worst(brittle: dict[str, Finding]) -> None:
    for metric in ("worst:R@5", "worst:rank_loss", "spread:log2_rank"):
        assert not brittle[metric].holds


def test_a_model_is_as_robust_as_itself() -> None:
    assert {finding.verdict for finding in judged(reformulation, BASE, "forms").values()} == {"identical"}


def test_rank_falls_as_the_target_moves(brittle: dict[str, Finding]) -> None:
    """CORA, Section 5: the rank drop goes together with TAL and TBMD more than with how far the query moved."""
    for row in brittle["worst:R@5"].forms:
        assert None not in (row.r_move, row.r_tal, row.r_tbmd)
        assert min(row.r_tal or 0, row.r_tbmd or 0) > (row.r_move or 0) > 0.5
        assert row.source_hit_rate > row.hit_rate
        assert row.low < row.mean_rank_drop < row.high


def test_a_claim_on_ranks_knows_the_octaves_of_the_pool(brittle: dict[str, Finding]) -> None:
    """The gate's bounds are ``compare``'s with all octaves of 566 clips, both ways, not those that were seen."""
    old, new = stored(BASE, "forms"), stored("tiny-clap-fused-brittle", "forms")
    metric, octaves = rank_loss("key_phrase"), math.log2(566)
    outcomes = metric(new.columns), metric(old.columns), new.queries.cluster
    settings = {"margin": 0.25, "higher_is_better": False, "resamples": 2000}
    wide, seen = (compare(*outcomes, bounds=b, **settings) for b in ((-octaves, octaves), None))  # type: ignore[arg-type]
    found = brittle["key_phrase:rank_loss"]
    assert (found.low, found.high) == (wide.low, wide.high)
    assert wide.low < seen.low
