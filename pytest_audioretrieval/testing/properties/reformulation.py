"""Properties of ``reformulation``, the change of a target's rank and scores when a query is reformulated (CORA)."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from pytest_audioretrieval.testing.catalogue import TOLERANCE, Catalogue, expect_between, expect_close, extended
from pytest_audioretrieval.testing.definitions import PairCosines, clear_negatives, clear_ranks, rank_bounds, tangent
from pytest_audioretrieval.testing.implementation import Floats, Implementation
from pytest_audioretrieval.testing.properties.ranks import ROTATION, rotated
from pytest_audioretrieval.testing.strategies import ReformulationProblem, reformulation_problems

PROPERTIES = Catalogue()
NEEDS = "reformulation"
#: A vector in the tangent space has a direction where it is longer than this.
LEAST_LENGTH = 0.05

problems = reformulation_problems()
turned = extended(problems, seed=st.integers(0, 5))


def _measures(implementation: Implementation, problem: ReformulationProblem) -> dict[str, Any]:
    """Return every measure by its name, with its shape checked."""
    # An implementation that writes into its arguments changes no later check, because it gets copies.
    result = implementation.reformulation(
        problem["source"].copy(), problem["reformulated"].copy(), problem["candidates"].copy(), problem["target"].copy()
    )
    found = {name: np.asarray(getattr(result, name)) for name in MEASURES}
    for name, values in found.items():
        if values.shape != problem["target"].shape:
            raise AssertionError(f"{name} has shape {values.shape}, expected {problem['target'].shape}")
    return found


#: Least and greatest value of each measure; ranks are from 1 to N.
BOUNDS: dict[str, tuple[float, float]] = {
    "move": (0, 2),
    "tal": (-2, 2),
    "hnp": (-2, 2),
    "tbmd": (-4, 4),
    "tbmd_source_hn": (-4, 4),
    "tbmd_reformulated_hn": (-4, 4),
    "shift_norm": (0, 1),
    "p_audio": (-1, 1),
    "p_boundary": (-1, 1),
}
MEASURES = ("source_rank", "rank", "rank_drop", *BOUNDS)


@PROPERTIES.state("CORA, section 3.3: 1-indexed rank of the target", NEEDS, cases=problems)
def ranks_count_the_candidates_before_the_target(implementation: Implementation, **problem: Any) -> None:
    found, pairs = _measures(implementation, _problem(problem)), PairCosines.of(_problem(problem))
    expect_between("source_rank", found["source_rank"], *rank_bounds(pairs.source, problem["target"]))
    expect_between("rank", found["rank"], *rank_bounds(pairs.reformulated, problem["target"]))


@PROPERTIES.state("CORA, eq. 1", NEEDS, cases=problems)
def rank_drop_is_rank_minus_source_rank(implementation: Implementation, **problem: Any) -> None:
    found = _measures(implementation, _problem(problem))
    expect_close("rank_drop", found["rank_drop"], found["rank"] - found["source_rank"], 0)


@PROPERTIES.state("CORA, eq. 1", NEEDS, cases=problems)
def rank_drop_is_antisymmetric(implementation: Implementation, **problem: Any) -> None:
    there, back = _both_ways(implementation, _problem(problem))
    expect_close("rank_drop the other way", back["rank_drop"], -there["rank_drop"], 0)


@PROPERTIES.state("CORA, eq. 3", NEEDS, cases=problems)
def move_is_1_minus_the_cosine_of_the_queries(implementation: Implementation, **problem: Any) -> None:
    wanted = 1 - PairCosines.of(_problem(problem)).queries
    expect_close("move", _measures(implementation, _problem(problem))["move"], wanted)


@PROPERTIES.state("CORA, eq. 3", NEEDS, cases=problems)
def move_is_symmetric(implementation: Implementation, **problem: Any) -> None:
    there, back = _both_ways(implementation, _problem(problem))
    expect_close("move the other way", back["move"], there["move"])


@PROPERTIES.state("CORA, eq. 7", NEEDS, cases=problems)
def tal_is_the_cosine_lost_to_the_target(implementation: Implementation, **problem: Any) -> None:
    pairs = PairCosines.of(_problem(problem))
    found = _measures(implementation, _problem(problem))["tal"]
    expect_close("tal", found, pairs.source_target - pairs.reformulated_target)


@PROPERTIES.state("CORA, eq. 4 and 7", NEEDS, cases=problems)
def hnp_is_the_cosine_gained_by_the_hard_negative(implementation: Implementation, **problem: Any) -> None:
    pairs = PairCosines.of(_problem(problem))
    gained = pairs.at(pairs.reformulated, pairs.reformulated_hn) - pairs.at(pairs.source, pairs.source_hn)
    expect_close("hnp", _measures(implementation, _problem(problem))["hnp"], gained)


@PROPERTIES.state("CORA, eq. 5 and 6", NEEDS, cases=problems)
def tbmd_is_the_margin_lost(implementation: Implementation, **problem: Any) -> None:
    pairs = PairCosines.of(_problem(problem))
    before = pairs.source_target - pairs.at(pairs.source, pairs.source_hn)
    after = pairs.reformulated_target - pairs.at(pairs.reformulated, pairs.reformulated_hn)
    expect_close("tbmd", _measures(implementation, _problem(problem))["tbmd"], before - after)


@PROPERTIES.state("CORA, eq. 7", NEEDS, cases=problems)
def tbmd_is_tal_plus_hnp(implementation: Implementation, **problem: Any) -> None:
    found = _measures(implementation, _problem(problem))
    expect_close("tbmd", found["tbmd"], found["tal"] + found["hnp"], 1e-6)


@PROPERTIES.state("CORA, eq. 6 and 7", NEEDS, cases=problems)
def tal_hnp_and_tbmd_are_antisymmetric(implementation: Implementation, **problem: Any) -> None:
    there, back = _both_ways(implementation, _problem(problem))
    for name in ("tal", "hnp", "tbmd"):
        expect_close(f"{name} the other way", back[name], -there[name])


@PROPERTIES.state("CORA, eq. 9 and 10", NEEDS, cases=problems)
def fixed_negatives_follow_their_definition(implementation: Implementation, **problem: Any) -> None:
    found, pairs = _measures(implementation, _problem(problem)), PairCosines.of(_problem(problem))
    cosines = {"tbmd_source_hn": pairs.source, "tbmd_reformulated_hn": pairs.reformulated}
    negatives = {"tbmd_source_hn": pairs.source_hn, "tbmd_reformulated_hn": pairs.reformulated_hn}
    for name, fixed in negatives.items():
        before = pairs.source_target - pairs.at(pairs.source, fixed)
        after = pairs.reformulated_target - pairs.at(pairs.reformulated, fixed)
        clear = clear_negatives(cosines[name], problem["target"])
        expect_close(name, found[name][clear], (before - after)[clear])


@PROPERTIES.state("CORA, eq. 8 to 10: no rival of a query beats its own hard negative", NEEDS, cases=problems)
def tbmd_lies_between_the_fixed_negatives(implementation: Implementation, **problem: Any) -> None:
    found = _measures(implementation, _problem(problem))
    low, high = found["tbmd_source_hn"] - TOLERANCE, found["tbmd_reformulated_hn"] + TOLERANCE
    expect_between("tbmd", found["tbmd"], low, high)


@PROPERTIES.state("CORA, Appendix K.1", NEEDS, cases=problems)
def shift_norm_is_the_length_of_the_tangent_shift(implementation: Implementation, **problem: Any) -> None:
    found = _measures(implementation, _problem(problem))["shift_norm"]
    expect_close("shift_norm", found, np.linalg.norm(_shift(_problem(problem)), axis=1))


@PROPERTIES.state("CORA, Appendix K.1", NEEDS, cases=problems)
def p_audio_follows_its_definition(implementation: Implementation, **problem: Any) -> None:
    toward = tangent(problem["candidates"][problem["target"]], problem["source"])
    _expect_projection("p_audio", implementation, _problem(problem), toward)


@PROPERTIES.state("CORA, Appendix K.1 and K.2", NEEDS, cases=problems)
def p_boundary_follows_its_definition(implementation: Implementation, **problem: Any) -> None:
    clear = clear_negatives(PairCosines.of(_problem(problem)).source, problem["target"])
    _expect_projection("p_boundary", implementation, _problem(problem), np.where(clear[:, None], _boundary(problem), 0))


@PROPERTIES.state("CORA, Appendix K.1: above 0 is toward the target", NEEDS, cases=problems)
def p_audio_has_the_sign_of_the_move(implementation: Implementation, **problem: Any) -> None:
    toward = tangent(problem["candidates"][problem["target"]], problem["source"])
    _expect_signs("p_audio", implementation, _problem(problem), toward)


@PROPERTIES.state("CORA, Appendix K.1: above 0 favours the target", NEEDS, cases=problems)
def p_boundary_has_the_sign_of_the_move(implementation: Implementation, **problem: Any) -> None:
    clear = clear_negatives(PairCosines.of(_problem(problem)).source, problem["target"])
    _expect_signs("p_boundary", implementation, _problem(problem), np.where(clear[:, None], _boundary(problem), 0))


@PROPERTIES.state("CORA, Appendix K.1: a projection is no longer than what is projected", NEEDS, cases=problems)
def projections_are_at_most_shift_norm(implementation: Implementation, **problem: Any) -> None:
    found = _measures(implementation, _problem(problem))
    most = found["shift_norm"] + TOLERANCE
    for name in ("p_audio", "p_boundary"):
        expect_between(name, found[name], -most, most)


@PROPERTIES.state("CORA, eq. 1 to 10 and Appendix K.1: nothing moved", NEEDS, cases=problems)
def an_identical_query_gives_zero_everywhere(implementation: Implementation, **problem: Any) -> None:
    found = _measures(implementation, _problem({**problem, "reformulated": problem["source"]}))
    expect_close("rank_drop", found["rank_drop"], 0, 0)
    for name in BOUNDS:
        expect_close(name, found[name], 0)


@PROPERTIES.state(ROTATION, NEEDS, cases=turned)
def measures_survive_a_rotation(implementation: Implementation, seed: int, **problem: Any) -> None:
    before = _measures(implementation, _problem(problem))
    spun = rotated(seed, **{name: problem[name] for name in ("source", "reformulated", "candidates")})
    _expect_same(before, _measures(implementation, _problem({**problem, **spun})), _problem(problem))


@PROPERTIES.state("the order of the candidates does not matter", NEEDS, cases=turned)
def measures_survive_another_order_of_candidates(implementation: Implementation, seed: int, **problem: Any) -> None:
    order = np.random.default_rng(seed).permutation(len(problem["candidates"]))
    moved = {"candidates": problem["candidates"][order], "target": np.argsort(order)[problem["target"]]}
    before, after = (_measures(implementation, _problem({**problem, **change})) for change in ({}, moved))
    _expect_same(before, after, _problem(problem))


@PROPERTIES.state("cosines are from -1 to 1, ranks from 1 to N", NEEDS, cases=problems)
def measures_stay_in_their_bounds(implementation: Implementation, **problem: Any) -> None:
    found, last = _measures(implementation, _problem(problem)), len(problem["candidates"])
    for name in ("source_rank", "rank"):
        expect_between(name, found[name], 1, last)
    expect_between("rank_drop", found["rank_drop"], 1 - last, last - 1)
    for name, (low, high) in BOUNDS.items():
        expect_between(name, found[name], low - TOLERANCE, high + TOLERANCE)


def _problem(keywords: Any) -> ReformulationProblem:
    """Return the keyword arguments of a check as a problem."""
    problem: ReformulationProblem = keywords
    return problem


def _both_ways(implementation: Implementation, problem: ReformulationProblem) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the measures of a problem, and those with source and reformulation exchanged."""
    back = _problem({**problem, "source": problem["reformulated"], "reformulated": problem["source"]})
    return _measures(implementation, problem), _measures(implementation, back)


def _shift(problem: ReformulationProblem) -> Floats:
    """Return the tangent shift ``d`` of Appendix K.1, [P, D]."""
    return tangent(problem["reformulated"].astype(np.float64) - problem["source"], problem["source"])


def _boundary(problem: Any) -> Floats:
    """Return target minus source-anchored hard negative in the tangent space, [P, D].

    The union pool of Appendix K.2 holds the top 5 of the source query, so its best candidate under the source query is
    the hard negative of eq. 4.
    """
    pool = problem["candidates"].astype(np.float64)
    return tangent(pool[problem["target"]] - pool[PairCosines.of(problem).source_hn], problem["source"])


def _expect_projection(
    name: str, implementation: Implementation, problem: ReformulationProblem, toward: Floats
) -> None:
    """Expect the tangent shift, projected on ``toward`` [P, D], where that has a direction."""
    length = np.linalg.norm(toward, axis=1)
    long = length > LEAST_LENGTH
    wanted = (_shift(problem)[long] * toward[long]).sum(axis=1) / length[long]
    expect_close(name, _measures(implementation, problem)[name][long], wanted)


def _expect_signs(name: str, implementation: Implementation, problem: ReformulationProblem, toward: Floats) -> None:
    """Expect a positive projection of a query that moves along ``toward``, and a negative one if it moves back."""
    long = np.linalg.norm(toward, axis=1) > LEAST_LENGTH
    for sign in (1, -1):
        moved = problem["source"] + 0.5 * sign * toward
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        found = _measures(implementation, _problem({**problem, "reformulated": moved.astype(np.float32)}))[name]
        expect_close(f"sign of {name}", np.sign(found[long]), sign)


def _expect_same(before: dict[str, Any], after: dict[str, Any], problem: ReformulationProblem) -> None:
    """Expect equal measures, except where rounding decides ranks or negatives, and where a vector has no direction."""
    pairs, target = PairCosines.of(problem), problem["target"]
    one, other = clear_negatives(pairs.source, target), clear_negatives(pairs.reformulated, target)
    compared = dict.fromkeys(MEASURES, np.full(len(target), True))
    compared["source_rank"] = clear_ranks(pairs.source, target)
    compared["rank"] = clear_ranks(pairs.reformulated, target)
    compared["rank_drop"] = compared["source_rank"] & compared["rank"]
    compared |= {"tbmd_source_hn": one, "tbmd_reformulated_hn": other}
    direction = tangent(problem["candidates"][target], problem["source"])
    compared["p_audio"] = np.linalg.norm(direction, axis=1) > LEAST_LENGTH
    compared["p_boundary"] = one & (np.linalg.norm(_boundary(problem), axis=1) > LEAST_LENGTH)
    for name, clear in compared.items():
        exact = name in ("source_rank", "rank", "rank_drop")
        expect_close(name, after[name][clear], before[name][clear], 0 if exact else 10 * TOLERANCE)
