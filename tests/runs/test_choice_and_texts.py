"""Directions ``choice`` and ``texts``, slices, queries with constraints: from vectors set by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Option, Query, Rewording, Violation
from pytest_audioretrieval.errors import BaselineError, DataError, SpecError
from pytest_audioretrieval.gate.chance import judge_chance
from pytest_audioretrieval.gate.findings import Endpoint, Level
from pytest_audioretrieval.gate.judging import judge
from pytest_audioretrieval.metrics import accuracy, hit_rate, ndcg, sensitivity
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.runs import stored
from pytest_audioretrieval.runs.measure import measure
from pytest_audioretrieval.runs.run import MeasuredRun

CLIPS = tuple(Clip(f"c{i}", str(i) * 64, lambda: pytest.fail("decoded")) for i in range(4))
AXES = np.eye(4, dtype=np.float32)
LEVEL = Level(0.95, 2_000, 0)


class Fake:
    """Clips are the axes, so that a text's scores are its coordinates."""

    identity = ModelIdentity("fake", None, "a" * 64)
    resources = SimpleNamespace(protocol=Protocol())
    device = "cpu"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.vectors = vectors

    def texts(self, texts):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)

    def sides(self, queries, candidates):
        return self.texts([text for part in queries for text in part]), AXES[[CLIPS.index(c) for c in candidates[0]]]

    def pair_scores(self, pairs):
        return np.array([self.vectors[text][CLIPS.index(clip)] for text, clip in pairs], dtype=np.float64)


def dataset(*stated: Query | Choice | Rewording, explain=None) -> Dataset:
    kinds = {kind: tuple(s for s in stated if isinstance(s, kind)) for kind in (Query, Choice, Rewording)}
    return Dataset(
        "hand", None, CLIPS, (), fingerprint(CLIPS, stated=stated),
        queries=kinds[Query], choices=kinds[Choice], rewordings=kinds[Rewording], explain=explain,
    )  # fmt: skip


#: Scores of clips 0 to 3.
VECTORS = {"dog": [0.8, 0.6, 0, 0], "cat": [0.6, 0.8, 0, 0], "both": [0.6, 0.6, 0.529, 0], "cow": [0, 0, 0.6, 0.8]}


def choose(ident: str, right: tuple[str, str], wrong: tuple[str, str], part: str = "order", group: str = "g") -> Choice:
    return Choice(ident, Option(*right), Option(*wrong), group, part)


CHOICES = (
    choose("between-texts", ("dog", "c0"), ("cat", "c0")),  # 0.8 against 0.6
    choose("between-clips", ("dog", "c1"), ("dog", "c0")),  # 0.6 against 0.8
    choose("alike", ("both", "c0"), ("both", "c1"), "overlap", "h"),  # a tie
)


def test_choices_by_hand() -> None:
    subject = measure(Fake(VECTORS), dataset(*CHOICES), "choice")
    run, found = subject.run, subject.run.queries
    assert (run.direction, run.dataset.queries, run.dataset.clips) == ("choice", 3, 4)
    assert (found.id, found.cluster, found.slice) == (
        ["between-texts", "between-clips", "alike"],
        ["g", "g", "h"],
        ["order", "order", "overlap"],
    )
    assert (found.first_hit_rank, found.tied, found.margin) == ([1, 2, 2], [0, 0, 1], [0.2, -0.2, 0.0])
    assert accuracy()(run.columns).tolist() == [1, 0, 0.5]
    assert run.metrics["accuracy"] == 0.5
    assert run.metrics["order:accuracy"] == 0.5
    assert list(subject.shown.query) == ["c0", "dog", "both"]
    assert list(subject.shown.first) == ["dog", "c0", "c1"]
    assert list(subject.shown.right) == ["dog", "c1", "c0"]
    assert stored.decode(stored.encode(run).encode(), "here") == run


def test_a_choice_with_another_clip_is_another_pool() -> None:
    one = measure(Fake(VECTORS), dataset(*CHOICES), "choice").run
    moved = replace(CHOICES[0], wrong=Option("dog", "c3"))
    other = measure(Fake(VECTORS), dataset(moved, *CHOICES[1:]), "choice").run
    assert one.dataset.candidates != other.dataset.candidates


REWORDINGS = (
    Rewording("a", "dog", "cat", "both", "r1", "t1", "timbre"),
    Rewording("b", "dog", "dog", "dog", "r2", "t1", "timbre"),
    Rewording("c", "cat", "cow", "cat", "r3", "t2", "role"),
)


def test_texts_by_hand() -> None:
    """dog to cat: cosine 0.96; dog to both: 0.84; cat to cow: 0. Equal texts: no distance at all."""
    vectors = VECTORS | {"both": [0.6, 0.6, np.sqrt(0.28), 0]}
    run = measure(Fake(vectors), dataset(*REWORDINGS), "texts").run
    found = run.queries
    assert found.swap_distance == pytest.approx([0.04, 0, 1], abs=2e-7)
    assert found.paraphrase_distance == pytest.approx([0.16, 0, 0], abs=2e-7)
    assert found.margin == pytest.approx([0.04 - 0.16, 0, 1], abs=4e-7)
    assert (found.first_hit_rank, found.tied) == ([2, 2, 1], [0, 1, 0])
    assert sensitivity()(run.columns) == pytest.approx([0.04 / 0.20, 0.5, 1], abs=1e-5)
    assert sensitivity().within("timbre")(run.columns) == pytest.approx([0.2, 0.5], abs=1e-5)
    assert stored.decode(stored.encode(run).encode(), "here") == run


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"swap_distance": None}, "direction is 'texts' without queries.swap_distance"),
        ({"swap_distance": [0.1, -0.1, 0.2]}, "query 'b': distance -0.1, expected 0 to 2"),
        (
            {"paraphrase_distance": [0.1, 0.1]},
            "queries.paraphrase_distance has 2 entries, expected dataset.queries = 3",
        ),
        ({"first_hit_rank": [3, 2, 1], "pessimistic_rank": [3, 2, 1]}, "query 'a': ranks [3] with first_hit_rank 3"),
        ({"slice": ["x"]}, "queries.slice has 1 entries"),
        ({"tied": [1, 1, 0]}, "query 'a': rank 2 (pessimistic 2), tied 1 and margin -"),
        ({"tied": [0, 1, 1]}, "query 'c': rank 1 (pessimistic 1), tied 1 and margin 1.0 cannot be"),
        ({"tied": [0, 2, 0]}, "query 'b': rank 2 (pessimistic 2), tied 2"),
        ({"pessimistic_rank": [2, 2, 2]}, "query 'c': rank 1 (pessimistic 2)"),
        ({"first_hit_rank": [1, 2, 1], "ap": [1.0, 0.5, 1.0], "pessimistic_rank": [1, 2, 1]}, "query 'a': rank 1"),
        ({"swap_distance": [0.04, 0.0, 2.0]}, "query 'c': margin 1.0 does not follow from its distances 2.0 and 0.0"),
        ({"relevant_ranks": [[2], [2], [1]]}, "direction is 'texts' with queries.relevant_ranks"),
    ],
)
def test_a_stored_run_that_cannot_be(change, says) -> None:
    run = measure(Fake(VECTORS), dataset(*REWORDINGS), "texts").run
    damaged = msgspec.structs.replace(run, queries=msgspec.structs.replace(run.queries, **change))
    with pytest.raises(BaselineError) as error:
        stored.decode(stored.encode(damaged).encode(), "here")
    assert says in str(error.value)


def broken(query: str, clip: str) -> list[Violation]:
    return [] if clip == "c1" else [Violation("negation", f"{query} hears a siren in {clip}")]


QUERIES = (Query("q0", "dog", ("c1", "c2"), "negation"), Query("q1", "cat", ("c1",), "order"))


def test_stated_relevance_by_hand() -> None:
    subject = measure(Fake(VECTORS), dataset(*QUERIES, explain=broken), "t2a")
    run = subject.run
    assert (run.queries.id, run.queries.cluster, run.queries.slice) == (
        ["q0", "q1"],
        ["q0", "q1"],
        ["negation", "order"],
    )
    assert (run.queries.first_hit_rank, run.queries.relevant_ranks) == ([2, 1], [[2, 3], [1]])
    assert hit_rate(1).within("order").value(run.columns) == 1
    assert run.metrics["negation:R@1"] == 0
    assert run.metrics["negation:ndcg@10"] == pytest.approx((1 / np.log2(3) + 0.5) / (1 + 1 / np.log2(3)), abs=1e-9)
    assert list(subject.shown.first) == ["c0", "c1"]
    assert list(subject.shown.right) == ["c1", "c1"]
    assert subject.shown.broken[0] == [Violation("negation", "q0 hears a siren in c0")]


@pytest.mark.parametrize("direction", ["a2t", "choice", "texts", "forms"])
def test_what_a_dataset_does_not_ask(direction) -> None:
    with pytest.raises(DataError, match="hand"):
        measure(Fake(VECTORS), dataset(*QUERIES), direction)


def test_a_dataset_of_choices_says_what_it_is_for() -> None:
    with pytest.raises(DataError, match="asks nothing in direction t2a: it is for direction choice: "):
        measure(Fake(VECTORS), dataset(*CHOICES), "t2a")


def test_an_unknown_slice_is_named() -> None:
    run = measure(Fake(VECTORS), dataset(*CHOICES), "choice").run
    with pytest.raises(
        SpecError, match="no slice 'overlop' in this run, expected one of order, overlap: did you mean 'overlap'"
    ):
        accuracy().within("overlop")(run.columns)


def endpoint(metric, claim="non_inferior") -> Endpoint:
    return Endpoint(metric, claim, 0.05, "test", "fake")


def test_a_claim_on_a_slice_reads_that_slice_alone() -> None:
    old = measure(Fake(VECTORS), dataset(*QUERIES), "t2a").run
    worse = measure(Fake(VECTORS | {"cat": [0.8, 0.6, 0, 0]}), dataset(*QUERIES, explain=broken), "t2a")
    fine = judge(worse, old, "here", endpoint(hit_rate(1).within("negation")), LEVEL)
    lost = judge(worse, old, "here", endpoint(hit_rate(1).within("order")), LEVEL)
    assert (fine.holds, fine.queries, fine.clusters) == (True, 1, 1)
    assert (lost.holds, lost.baseline_value, lost.new_value, lost.queries) == (False, 1.0, 0.0, 1)
    assert [(q.id, q.before, q.after, q.first, q.right, q.why) for q in lost.losers] == [
        ("q1", 1, 2, "c0", "c1", "negation: q1 hears a siren in c0")
    ]
    assert lost.causes == [
        "negation breaks",
        "of the 1 queries that lost, what ranks first now breaks negation in 1",
    ]


def test_a_loss_behind_a_right_clip_is_no_broken_constraint() -> None:
    old = measure(Fake(VECTORS | {"dog": [0, 0.8, 0.6, 0]}), dataset(*QUERIES), "t2a").run
    new = measure(Fake(VECTORS | {"dog": [0.6, 0.8, 0, 0]}), dataset(*QUERIES, explain=broken), "t2a")
    lost = judge(new, old, "here", endpoint(ndcg(10).within("negation")), LEVEL)
    assert lost.causes == ["what ranks first still meets the query; others that do fell behind"]
    assert [(q.after, q.why) for q in lost.losers] == [(1, "")]


def test_runs_with_other_slices_are_not_compared() -> None:
    old = measure(Fake(VECTORS), dataset(*QUERIES), "t2a").run
    moved = measure(Fake(VECTORS), dataset(QUERIES[0], replace(QUERIES[1], slice="mix")), "t2a")
    with pytest.raises(BaselineError, match="its slices is 'order', this run's is 'mix'"):
        judge(moved, old, "here", endpoint(hit_rate(1)), LEVEL)


def chosen(well: Sequence[tuple[bool, str, str]]) -> MeasuredRun:
    """A run of choices, (right?, slice, cluster) each."""
    made = [
        choose(
            f"n{n}", ("dog", "c0") if right else ("cat", "c0"), ("cat", "c0") if right else ("dog", "c0"), part, group
        )
        for n, (right, part, group) in enumerate(well)
    ]
    return measure(Fake(VECTORS), dataset(*made), "choice")


def test_against_chance_by_hand() -> None:
    """9 of 10 lone choices: p = 2 (1 + 10) / 2^10 = 0.0215; Holm over two slices doubles it."""
    order = [(n > 0, "order", f"o{n}") for n in range(10)]
    role = [(n % 2 == 0, "role", f"r{n}") for n in range(10)]
    alone = judge_chance(chosen(order), endpoint(accuracy().within("order"), "above_chance"), LEVEL)
    both = judge_chance(chosen([*order, *role]), endpoint(accuracy().within("order"), "above_chance"), LEVEL)
    other = judge_chance(chosen([*order, *role]), endpoint(accuracy().within("role"), "above_chance"), LEVEL)
    assert alone.p_corrected == pytest.approx(22 / 1024)
    assert both.p_corrected == pytest.approx(44 / 1024)
    assert (both.verdict, both.holds, both.new_value, both.queries, both.clusters) == (
        "above_chance",
        True,
        0.9,
        10,
        10,
    )
    assert (other.verdict, other.holds, other.p_corrected) == ("inconclusive", False, 1.0)


def test_choices_of_one_cluster_count_once() -> None:
    """Ten choices of one clip prove nothing: its sign may have fallen either way."""
    finding = judge_chance(
        chosen([(True, "order", "one")] * 10), endpoint(accuracy().within("order"), "above_chance"), LEVEL
    )
    assert (finding.verdict, finding.p_corrected) == ("inconclusive", 1.0)
    assert "p 0.002 (exact binomial)" in finding.chance[1]


def test_below_chance_is_no_lack_of_evidence() -> None:
    finding = judge_chance(
        chosen([(False, "order", f"o{n}") for n in range(10)]),
        endpoint(accuracy().within("order"), "above_chance"),
        LEVEL,
    )
    assert (finding.verdict, finding.holds) == ("below_chance", False)


def test_the_level_asked_for_is_that_of_claims_against_chance() -> None:
    subject = chosen([(n > 0, "order", f"o{n}") for n in range(10)])
    claimed = endpoint(accuracy().within("order"), "above_chance")
    levels = (Level(0.95, 2_000, 0), Level(0.99, 2_000, 0), Level(0.95, 2_000, 1))
    usual, surer, other = (judge_chance(subject, claimed, level) for level in levels)
    assert (usual.verdict, surer.verdict) == ("above_chance", "inconclusive")  # p = 0.0215
    assert surer.chance[0].startswith("clustered: 99 % interval [")
    ends = [(finding.low or 0, finding.high or 0) for finding in (surer, usual, other)]
    assert ends[0][0] < ends[1][0] < ends[1][1] < ends[0][1]
    assert ends[2] != ends[1]


def test_only_accuracy_has_a_chance_level() -> None:
    with pytest.raises(SpecError, match="R@1 has no chance level"):
        judge_chance(chosen([(True, "order", "a")]), endpoint(hit_rate(1), "above_chance"), LEVEL)


def test_a_pool_has_no_chance_level_of_one_half() -> None:
    """Of 500 clips the first is right by chance once in 500 times; ``accuracy`` of such a run means nothing."""
    found = measure(Fake(VECTORS), dataset(*QUERIES), "t2a")
    with pytest.raises(SpecError, match="direction t2a has no chance level of one half, because all of a pool are"):
        judge_chance(found, endpoint(accuracy(), "above_chance"), LEVEL)
    with pytest.raises(SpecError, match="no tied of two options: ask in direction choice or texts"):
        accuracy()(found.run.columns)


def test_sensitivity_of_a_run_without_distances() -> None:
    found = chosen([(True, "order", "a")]).run.columns
    for metric in (sensitivity(), sensitivity().within("order")):
        with pytest.raises(SpecError, match="no swap_distance of two options: ask in direction texts"):
            metric(found)


def test_scores_of_a_pair_scorer_have_a_scale_of_their_own() -> None:
    """Its run is read back as it was written, however far apart they are."""
    vectors = {"dog": [450.0, -40.5, 0, 0]}
    run = measure(Fake(vectors), dataset(choose("a", ("dog", "c0"), ("dog", "c1"))), "choice").run
    assert run.queries.margin == [490.5]
    assert stored.decode(stored.encode(run).encode(), "here") == run
