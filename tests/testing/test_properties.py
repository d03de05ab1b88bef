"""Tests of every property, which holds for right implementations and breaks for one with the matching fault."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.testing import builtin
from pytest_audioretrieval.testing.catalogue import Property, expect_between, expect_close, shown
from pytest_audioretrieval.testing.implementation import FUNCTIONS, load
from pytest_audioretrieval.testing.properties import CATALOGUE
from pytest_audioretrieval.testing.strategies import LARGE
from tests.examples import scaled
from tests.testing.plain import Plain, rows

NAMED = {stated.name: stated for stated in CATALOGUE}
PLAIN = Plain()


def refuses(implementation, scores, k):
    raise AssertionError("breaks")


def changed(function, work):
    """Return ``Plain`` with ``work`` in the place of one function."""
    broken = Plain()
    setattr(broken, function, work)
    return broken


def bonus(scores):
    """Return scores that prefer the candidate listed first."""
    return scores + np.where(np.arange(scores.shape[1]) == 0, 1e4, 0)


def metric_mutants(metric):
    keep = getattr(PLAIN, metric)

    def with_scores(change):
        return changed(metric, lambda scores, relevant, *k: keep(change(scores), relevant, *k))

    def with_value(change):
        return changed(metric, lambda scores, relevant, *k: change(keep(scores, relevant, *k), scores))

    def tied(scores):
        return np.array([len(set(row)) < len(row) for row in scores.tolist()])

    return {
        f"{metric}-follows-its-definition": with_scores(np.negative),
        f"{metric}-of-equal-scores-is-that-of-some-order": with_value(lambda v, scores: np.where(tied(scores), 0, v)),
        f"{metric}-is-from-0-to-1": with_value(lambda v, scores: 100 * v),
        f"{metric}-survives-a-monotone-transform": with_scores(np.round),
        f"{metric}-survives-a-worse-candidate": with_value(lambda v, scores: v * 10 / (9 + scores.shape[1])),
        f"{metric}-survives-another-order-of-candidates": with_scores(bonus),
        f"{metric}-tells-close-scores-apart": with_scores(np.float32),
        f"{metric}-refuses-nan": with_scores(np.nan_to_num),
    }


def off_by_one(metric):
    """Return an implementation that counts ranks below k, and not k itself."""
    return changed(metric, lambda s, r, k: getattr(PLAIN, metric)(s, r, k - 1) if k > 1 else np.zeros(len(s)))


def over_k(metric):
    return changed(metric, lambda s, r, k: getattr(PLAIN, metric)(s, r, k) / k)


def undiscounted(scores, relevant, k):
    return rows(scores, relevant, lambda ranks: (ranks <= k).sum() / min(k, len(ranks)))


def no_cutoff(metric):
    return changed(metric, lambda s, r, k: getattr(PLAIN, metric)(s, r, s.shape[1]))


def over_all_relevant(metric):
    """Return an implementation that divides by the worth of all relevant candidates, even if fewer fit into k."""

    def average_precision(ranks, k):
        return (np.arange(1, len(ranks) + 1) / ranks)[ranks <= k].sum() / len(ranks)

    def ndcg(ranks, k):
        gains = 1 / np.log2(1 + ranks[ranks <= k])
        return gains.sum() / (1 / np.log2(2 + np.arange(len(ranks)))).sum()

    value = {"average_precision": average_precision, "ndcg": ndcg}[metric]
    return changed(metric, lambda s, r, k: rows(s, r, lambda ranks: value(ranks, k)))


def backwards(metric):
    return changed(metric, lambda scores, *rest: getattr(PLAIN, metric)(-scores, *rest))


CUTOFFS = {
    "hit_rate-grows-with-k": over_k("hit_rate"),
    "recall-grows-with-k": over_k("recall"),
    "hit_rate-is-1-at-full-depth": off_by_one("hit_rate"),
    "recall-is-1-at-full-depth": off_by_one("recall"),
    "hit_rate-is-0-or-1": changed("hit_rate", PLAIN.recall),
    "recall-counts-whole-candidates": over_k("recall"),
    "hit_rate-is-1-where-recall-is-above-0": changed("hit_rate", lambda *task: PLAIN.recall(*task) == 1),
    "hit_rate-is-recall-of-one-relevant": off_by_one("recall"),
    "mrr-is-1-where-hit_rate-at-1-is": changed(
        "mrr", lambda s, r: PLAIN.mrr(s[:, ::-1], [s.shape[1] - 1 - np.array(p) for p in r])
    ),
}

GRADED = {
    "ndcg-of-the-ideal-order-is-1": over_all_relevant("ndcg"),
    "average_precision-of-the-ideal-order-is-1": over_all_relevant("average_precision"),
    "mrr-of-the-ideal-order-is-1": changed("mrr", lambda s, r: rows(s, r, lambda ranks: 1 / (1 + ranks[0]))),
    "ndcg-of-another-order-is-below-1": changed("ndcg", undiscounted),
    "average_precision-of-another-order-is-below-1": changed("average_precision", undiscounted),
    "ndcg-divides-by-what-fits-into-k": over_all_relevant("ndcg"),
    "average_precision-divides-by-what-fits-into-k": over_all_relevant("average_precision"),
    "ndcg-of-no-hit-is-0": no_cutoff("ndcg"),
    "average_precision-of-no-hit-is-0": no_cutoff("average_precision"),
    "ndcg-never-falls-when-a-relevant-one-rises": backwards("ndcg"),
    "average_precision-never-falls-when-a-relevant-one-rises": backwards("average_precision"),
    "mrr-never-falls-when-a-relevant-one-rises": backwards("mrr"),
}


def mean_relevant(scores, relevant):
    sides = zip(scores, relevant, strict=True)
    return np.array([row[part].mean() - np.delete(row, part).max() for row, part in sides])


MARGINS = {
    "margin-refuses-nan": changed("margin", lambda s, r: PLAIN.margin(np.nan_to_num(s), r)),
    "margin-is-best-relevant-minus-best-irrelevant": changed("margin", mean_relevant),
    "margin-is-positive-where-the-first-hit-has-rank-1": changed("margin", lambda s, r: -PLAIN.margin(s, r)),
    "margin-changes-sign-with-the-sides": changed("margin", lambda s, r: abs(PLAIN.margin(s, r))),
    "margin-doubles-with-the-scores": changed("margin", lambda s, r: np.tanh(PLAIN.margin(s, r))),
    "margin-is-at-most-the-spread-of-the-scores": changed("margin", lambda s, r: PLAIN.margin(s, r) * 2),
}


def shared_ranks(scores):
    """Return ranks such as 1, 2, 2, 4, in which equal scores share the least of their ranks."""
    return 1 + (scores[:, None, :] > scores[:, :, None]).sum(axis=2)


def dense_ranks(scores):
    """Return ranks such as 1, 2, 2, 3."""
    return np.array([1 + len(set(row)) - 1 - np.unique(row, return_inverse=True)[1] for row in scores])


def last_hit(queries, candidates, relevant):
    return rows(queries.astype(float) @ candidates.astype(float).T, relevant, lambda ranks: ranks[-1])


def by_axes(queries, candidates, relevant):
    distance = abs(queries[:, None, :].astype(float) - candidates[None]).sum(axis=2)
    return rows(-distance, relevant, lambda ranks: ranks[0])


RANKS = {
    "ranks-count-the-better-scores": changed("ranks", lambda s: PLAIN.ranks(s) - 1),
    "ranks-are-1-to-n-each-once": changed("ranks", shared_ranks),
    "ranks-of-equal-scores-are-a-block": changed("ranks", dense_ranks),
    "ranks-survive-a-monotone-transform": changed("ranks", lambda s: PLAIN.ranks(np.round(s))),
    "ranks-survive-a-worse-candidate": changed("ranks", lambda s: PLAIN.ranks(-s)),
    "ranks-go-with-their-candidates": changed("ranks", lambda s: PLAIN.ranks(bonus(s))),
    "ranks-tell-close-scores-apart": changed("ranks", lambda s: PLAIN.ranks(np.float32(s))),
    "ranks-refuse-nan": changed("ranks", lambda s: PLAIN.ranks(np.nan_to_num(s))),
    "first-hit-rank-counts-the-closer-candidates": changed("first_hit_rank", last_hit),
    "first-hit-rank-survives-a-rotation": changed("first_hit_rank", by_axes),
    "first-hit-rank-refuses-nan": changed(
        "first_hit_rank", lambda q, c, r: PLAIN.first_hit_rank(q, np.nan_to_num(c), r)
    ),
    "first-hit-rank-is-the-least-rank": changed("first_hit_rank", last_hit),
}


def reformulated(**changes):
    """Return ``Plain`` with some measures computed from all of its measures ``m``."""

    def work(*problem):
        found = vars(PLAIN.reformulation(*problem))
        return SimpleNamespace(**found | {name: np.asarray(change(found)) for name, change in changes.items()})

    return changed("reformulation", work)


def along_axes(source, reformulated, candidates, target):
    found = PLAIN.reformulation(source, reformulated, candidates, target)
    found.shift_norm = abs(source.astype(float) - reformulated).sum(axis=1)
    return found


def first_rival(source, reformulated, candidates, target):
    """Return measures whose hard negative is the first candidate that is not the target, instead of the best."""
    found = PLAIN.reformulation(source, reformulated, candidates, target)
    other = candidates[np.where(target == 0, 1, 0)].astype(float)
    found.hnp = (other * (reformulated.astype(float) - source)).sum(axis=1)
    return found


SWAPPED = reformulated(
    tbmd_source_hn=lambda m: m["tbmd_reformulated_hn"], tbmd_reformulated_hn=lambda m: m["tbmd_source_hn"]
)
REFORMULATION = {
    "ranks-count-the-candidates-before-the-target": reformulated(
        rank=lambda m: m["rank"] + 1, source_rank=lambda m: m["source_rank"] + 1
    ),
    "rank-drop-is-rank-minus-source-rank": reformulated(rank_drop=lambda m: -m["rank_drop"]),
    "rank-drop-is-antisymmetric": reformulated(rank_drop=lambda m: abs(m["rank_drop"])),
    "move-is-1-minus-the-cosine-of-the-queries": reformulated(move=lambda m: 1 - m["move"]),
    "move-is-symmetric": reformulated(move=lambda m: m["move"] / m["source_rank"]),
    "tal-is-the-cosine-lost-to-the-target": reformulated(tal=lambda m: -m["tal"]),
    "hnp-is-the-cosine-gained-by-the-hard-negative": changed("reformulation", first_rival),
    "tbmd-is-the-margin-lost": reformulated(tbmd=lambda m: -m["tbmd"]),
    "tbmd-is-tal-plus-hnp": reformulated(tbmd=lambda m: m["tal"] - m["hnp"]),
    "tal-hnp-and-tbmd-are-antisymmetric": reformulated(tbmd=lambda m: np.maximum(m["tbmd"], 0)),
    "fixed-negatives-follow-their-definition": SWAPPED,
    "tbmd-lies-between-the-fixed-negatives": SWAPPED,
    "shift-norm-is-the-length-of-the-tangent-shift": reformulated(shift_norm=lambda m: np.sqrt(2 * m["move"])),
    "p-audio-follows-its-definition": reformulated(p_audio=lambda m: m["p_audio"] * m["shift_norm"]),
    "p-boundary-follows-its-definition": reformulated(p_boundary=lambda m: m["p_audio"]),
    "p-audio-has-the-sign-of-the-move": reformulated(p_audio=lambda m: abs(m["p_audio"])),
    "p-boundary-has-the-sign-of-the-move": reformulated(p_boundary=lambda m: -m["p_boundary"]),
    "projections-are-at-most-shift-norm": reformulated(p_boundary=lambda m: 2 * m["p_boundary"]),
    "an-identical-query-gives-zero-everywhere": reformulated(p_audio=lambda m: m["p_audio"] + 0.01),
    "measures-survive-a-rotation": changed("reformulation", along_axes),
    "measures-survive-another-order-of-candidates": changed("reformulation", first_rival),
    "measures-stay-in-their-bounds": reformulated(rank=lambda m: m["rank"] - 1),
}

MUTANTS = CUTOFFS | GRADED | MARGINS | RANKS | REFORMULATION
for name in ("hit_rate", "recall", "ndcg", "average_precision", "mrr"):
    MUTANTS |= metric_mutants(name)


def test_there_is_a_mutant_for_every_property() -> None:
    assert MUTANTS.keys() == NAMED.keys()
    assert len(NAMED) == len(CATALOGUE)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_it_breaks_on_its_mutant(name: str) -> None:
    assert NAMED[name].counterexample(MUTANTS[name], shrink=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_it_holds_of_a_plain_implementation(name: str) -> None:
    assert NAMED[name].counterexample(PLAIN, examples=scaled(10)) is None


@pytest.mark.parametrize("name", NAMED)
def test_it_holds_of_the_builtin_implementation(name: str) -> None:
    assert NAMED[name].counterexample(builtin, examples=scaled(10)) is None


def test_every_function_has_properties() -> None:
    assert {name for stated in CATALOGUE for name in stated.needs} == set(FUNCTIONS)


def test_every_property_says_where_it_is_from() -> None:
    assert all(len(stated.equation) > 8 for stated in CATALOGUE)
    cited = {int(n) for s in CATALOGUE for n in re.findall(r"\d+", s.equation) if "CORA, eq" in s.equation}
    assert {1, 3, 4, 5, 6, 7, 9, 10} <= cited


class TestCounterexample:
    def test_it_is_the_smallest(self) -> None:
        found = NAMED["average_precision-divides-by-what-fits-into-k"].counterexample(
            over_all_relevant("average_precision")
        )
        assert found is not None
        *head, scores, relevant, k = str(found).splitlines()
        assert head == [
            "average_precision-divides-by-what-fits-into-k does not hold (the denominator is that of min(k, relevant))",
            "",
            "  average_precision@1[0] is 0.5, expected 1",
            "",
            "  smallest input found:",
        ]
        assert re.fullmatch(r"    scores    \[\[-?\d, -?\d, -?\d\]\]", scores)
        assert re.fullmatch(r"    relevant  \[\[\d, \d\]\]", relevant)
        assert k == "    k         1"

    @pytest.mark.parametrize(("smaller", "found"), [(3, 3), (LARGE - 1, LARGE - 1), (LARGE, LARGE + 1)])
    def test_it_is_a_small_pool_where_one_breaks(self, smaller: int, found: int) -> None:
        """Hypothesis takes the large pool to be simpler here."""
        cases = st.sampled_from([LARGE + 1, smaller]).map(lambda size: {"scores": np.zeros((1, size)), "k": 1})
        stated = Property("breaks-always", "made up", (), cases, refuses)
        counterexample = stated.counterexample(None)
        assert counterexample is not None
        assert counterexample.case["scores"].shape == (1, found)

    def test_it_is_the_same_in_every_run(self) -> None:
        stated = NAMED["ranks-are-1-to-n-each-once"]
        once, again = (stated.counterexample(changed("ranks", shared_ranks)) for _ in range(2))
        assert str(once) == str(again)
        assert "scores  [[0, 0]]" in str(once)

    def test_an_error_of_the_implementation_is_a_reason(self) -> None:
        def fails(scores, relevant, k):
            raise KeyError("a key\nand more")

        stated = NAMED["recall-is-from-0-to-1"]
        found = stated.counterexample(changed("recall", fails))
        assert found is not None
        assert found.reason.startswith("KeyError: 'a key")
        assert "\n" not in found.reason

    @pytest.mark.parametrize(
        ("function", "work", "name", "reason"),
        [
            ("mrr", lambda s, r: 1.0, "mrr-is-from-0-to-1", "mrr has shape (), expected one value per query, (1,)"),
            ("ranks", lambda s: s[0], "ranks-refuse-nan", "ranks returned *, expected an error"),
            ("ranks", lambda s: s[0], "ranks-are-1-to-n-each-once", "ranks has shape (1,), expected * (1, 1)"),
        ],
    )
    def test_a_wrong_shape_is_a_reason(self, function, work, name, reason) -> None:
        found = NAMED[name].counterexample(changed(function, work))
        assert found is not None
        assert re.fullmatch(re.escape(reason).replace(r"\*", ".*"), found.reason)

    def test_an_implementation_that_writes_into_its_arguments_hides_nothing(self) -> None:
        def writes(scores, relevant, k):
            found = PLAIN.recall(scores, relevant, k)
            scores[:] = 0
            relevant.clear()
            return found

        assert NAMED["recall-survives-a-worse-candidate"].counterexample(changed("recall", writes), examples=10) is None

    def test_what_fails_only_sometimes_is_said_to(self) -> None:
        calls = iter(range(10**6))
        stated = Property("flaky", "definition", (), NAMED["recall-is-from-0-to-1"].cases, lambda *_, **__: None)
        flaky = Property("flaky", "definition", (), stated.cases, lambda *_, **__: expect_close("n", next(calls), 0, 0))
        assert stated.counterexample(None) is None
        assert flaky.counterexample(None, examples=5)


class TestExpectations:
    def test_the_first_that_is_outside_is_named(self) -> None:
        with pytest.raises(AssertionError, match=r"^x\[0, 1\] is 2, expected 0 to 1$"):
            expect_between("x", [[1, 2]], 0, 1)
        with pytest.raises(AssertionError, match=r"^x is 2, expected at least 3$"):
            expect_between("x", 2, 3, np.inf)
        with pytest.raises(AssertionError, match=r"^x is 2, expected 1$"):
            expect_close("x", 2, 1)

    def test_nan_is_close_to_nothing(self) -> None:
        with pytest.raises(AssertionError, match=r"^x\[0\] is nan, expected nan$"):
            expect_close("x", [np.nan], [np.nan])

    def test_nothing_is_within_everything(self) -> None:
        expect_close("x", [], [])

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (np.array([[1.0, 0.5]]), "[[1, 0.5]]"),
            (np.float32([0.1]), "[0.1]"),
            ([[0], [1, 2]], "[[0], [1, 2]]"),
            (np.array(3.0), "3"),
            (np.arange(999.0), f"[{', '.join(map(str, range(999)))}"[:300] + "... (999,)"),
        ],
    )
    def test_values_are_shown_short(self, value, text) -> None:
        assert shown(value) == text


class TestLoad:
    def test_a_module_or_an_object_in_it(self) -> None:
        assert load("pytest_audioretrieval.testing.builtin") is builtin
        assert load("tests.testing.plain:Plain") is Plain

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("nowhere", "implementation 'nowhere': No module named 'nowhere', expected MODULE or MODULE:OBJECT *"),
            ("os:nothing", "implementation 'os:nothing': module 'os' has no attribute 'nothing', expected *"),
            (
                "os:sep",
                "implementation 'os:sep' has no function to check, expected a module or object*",
            ),
        ],
    )
    def test_what_is_none_is_refused_in_one_line(self, text: str, reason: str) -> None:
        with pytest.raises(SpecError) as found:
            load(text)
        assert re.fullmatch(re.escape(reason).replace(r"\*", ".*"), str(found.value))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda *_: sys.exit(4), "SystemExit: 4"),
        (lambda *_: pytest.skip("not today"), "Skipped: not today"),
        (lambda *_: next(iter([])), "StopIteration"),
    ],
)
def test_an_implementation_that_leaves_is_broken(function, said):
    found = NAMED["hit_rate-follows-its-definition"].counterexample(SimpleNamespace(hit_rate=function))
    assert found is not None
    assert said in found.reason


def test_an_implementation_that_changes_its_mind_is_shown_an_input():
    answers = np.random.default_rng(0)

    def hit_rate(scores, *_):
        return answers.integers(0, 2, len(scores)).astype(float)

    found = NAMED["hit_rate-follows-its-definition"].counterexample(SimpleNamespace(hit_rate=hit_rate))
    assert found is not None
    assert "scores" in str(found)
