"""Tests of metrics of reformulated queries by hand, and by properties that hold for all ranks."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval import metrics
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.metrics import (
    Metric,
    form_hit_rate,
    hit_rate,
    log2_rank,
    rank_loss,
    rank_spread,
    tbmd,
    worst_hit_rate,
    worst_rank_loss,
)
from pytest_audioretrieval.metrics.robustness import ALL

EVERY = [form_hit_rate("command", 5), rank_loss("command"), tbmd("command")]
EVERY += [worst_hit_rate(5), worst_rank_loss(), rank_spread()]
LOG2_3 = math.log2(3)


def asked(source, **forms):
    """Return a run of direction ``forms``; a form is given as its ranks, or as (ranks, tal, hnp)."""
    columns = {}
    for name, form in forms.items():
        rank, tal, hnp = form if isinstance(form, tuple) else (form, [0.0] * len(form), [0.0] * len(form))
        columns[name] = SimpleNamespace(rank=np.array(rank), tal=np.array(tal), hnp=np.array(hnp))
    return SimpleNamespace(
        first_hit_rank=np.array(source), source_rank=np.array(source), margin=np.zeros(len(source)), forms=columns
    )


class TestByHand:
    """Three queries in two forms."""

    run = asked(
        [1, 4, 8],
        command=([6, 1, 8], [0.5, -0.25, 0.0], [0.125, 0.5, -0.125]),
        question=[2, 5, 1],
    )

    @pytest.mark.parametrize(
        ("metric", "wanted"),
        [
            (form_hit_rate("command", 1), [0, 1, 0]),
            (form_hit_rate("command", 5), [0, 1, 0]),
            (form_hit_rate("command", 6), [1, 1, 0]),
            (form_hit_rate("question", 1), [0, 0, 1]),
            (form_hit_rate("question", 5), [1, 1, 1]),
            (rank_loss("command"), [1 + LOG2_3, -2, 0]),
            (rank_loss("question"), [1, math.log2(5) - 2, -3]),
            (tbmd("command"), [0.625, 0.25, -0.125]),
            (worst_hit_rate(5), [0, 1, 0]),
            (worst_hit_rate(6), [1, 1, 0]),
            (worst_rank_loss(), [1 + LOG2_3, math.log2(5) - 2, 0]),
            (rank_spread(), [LOG2_3, math.log2(5), 3]),
            (hit_rate(4), [1, 1, 0]),
        ],
        ids=str,
    )
    def test_per_query(self, metric: Metric, wanted: list[float]) -> None:
        found = metric(self.run)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15)
        assert metric.value(self.run) == pytest.approx(np.mean(wanted))

    @pytest.mark.parametrize(
        "metric", [form_hit_rate("statement", 5), rank_loss("statement"), tbmd("statement")], ids=str
    )
    def test_a_form_that_was_not_asked(self, metric: Metric) -> None:
        with pytest.raises(SpecError) as caught:
            metric(self.run)
        assert str(caught.value) == (
            "no form 'statement' in this run, expected one of command, question: choose a form of the run"
        )


@pytest.mark.parametrize("metric", EVERY, ids=str)
@pytest.mark.parametrize("run", [asked([1, 2]), SimpleNamespace(first_hit_rank=np.array([1, 2]))], ids=["empty", "t2a"])
def test_a_run_without_forms(metric: Metric, run: SimpleNamespace) -> None:
    """A ``Ranking`` has no forms either."""
    with pytest.raises(SpecError, match=r"^this run has no forms: ask in direction 'forms'$"):
        metric(run)


def test_names_and_what_is_better() -> None:
    assert [(str(m), m.higher_is_better, m.form) for m in EVERY] == [
        ("command:R@5", True, "command"),
        ("command:rank_loss", False, "command"),
        ("command:TBMD", False, "command"),
        ("worst:R@5", True, ALL),
        ("worst:rank_loss", False, ALL),
        ("spread:log2_rank", False, ALL),
    ]
    assert {m.statistic for m in EVERY} == {"mean"}
    assert hit_rate(5).form is None


@pytest.mark.parametrize("make", [lambda k: form_hit_rate("command", k), worst_hit_rate])
@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5"])
def test_a_wrong_depth(make, k: object) -> None:
    with pytest.raises(SpecError, match=r"k is .*, expected a whole number"):
        make(k)


def test_they_are_public() -> None:
    names = {"form_hit_rate", "rank_loss", "tbmd", "worst_hit_rate", "worst_rank_loss", "rank_spread"}
    assert names <= set(metrics.__all__)
    with pytest.raises(AttributeError):
        metrics.mean_rank_drop  # noqa: B018


POOL = 1000
RANKS = st.integers(1, POOL)
ROWS = st.lists(st.tuples(RANKS, RANKS, RANKS, RANKS), min_size=1, max_size=20)


@pytest.mark.slow
@given(ROWS)
def test_rank_loss_of_there_and_back_is_none(rows: list[tuple[int, ...]]) -> None:
    source, command, *_ = map(list, zip(*rows, strict=True))
    there, back = asked(source, command=command), asked(command, command=source)
    np.testing.assert_array_equal(rank_loss("command")(there), -rank_loss("command")(back))


@pytest.mark.slow
@given(ROWS)
def test_every_value_lies_in_its_bounds(rows: list[tuple[int, ...]]) -> None:
    """The size of the pool limits a loss of ranks to its log2."""
    source, command, question, statement = map(list, zip(*rows, strict=True))
    run = asked(source, command=command, question=question, statement=statement)
    for metric in (rank_loss("command"), worst_rank_loss()):
        assert (np.abs(metric(run)) <= math.log2(POOL)).all()
    for metric in (form_hit_rate("command", 5), worst_hit_rate(5), rank_spread()):
        low, high = metric.bounds
        assert (metric(run) >= (low or 0)).all()
        assert (metric(run) <= (math.log2(POOL) if high is None else high)).all()


@pytest.mark.slow
@given(ROWS)
def test_worst_is_the_worst_form_and_spread_spans_the_forms(rows: list[tuple[int, ...]]) -> None:
    source, *ranks = map(list, zip(*rows, strict=True))
    names = ["command", "question", "statement"]
    run = asked(source, **dict(zip(names, ranks, strict=True)))
    losses = [rank_loss(name)(run) for name in names]
    np.testing.assert_array_equal(worst_rank_loss()(run), np.max(losses, axis=0))
    np.testing.assert_allclose(rank_spread()(run), np.max(losses, axis=0) - np.min(losses, axis=0), atol=1e-12)
    for k in (1, 5, 100):
        hits = [form_hit_rate(name, k)(run) for name in names]
        np.testing.assert_array_equal(worst_hit_rate(k)(run), np.min(hits, axis=0))
    alone = asked(source, command=ranks[0])
    assert not rank_spread()(alone).any()
    np.testing.assert_array_equal(worst_rank_loss()(alone), rank_loss("command")(alone))


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=1, max_size=20))
def test_tbmd_is_loss_plus_pull(rows: list[tuple[float, float]]) -> None:
    tal, hnp = map(list, zip(*rows, strict=True))
    found = tbmd("command")(asked([1] * len(tal), command=([1] * len(tal), tal, hnp)))
    assert found.tolist() == [one + other for one, other in rows]
    assert (np.abs(found) <= 4).all()


def test_ranks_say_how_far_they_can_go_in_a_pool():
    assert rank_loss("command").limits(8) == worst_rank_loss().limits(8) == (-3.0, 3.0)
    assert rank_spread().limits(8) == log2_rank().limits(8) == (0.0, 3.0)
    assert tbmd("command").limits(8) is form_hit_rate("command", 5).limits(8) is None
