"""The claim ``above_chance``: right more often than by guessing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.gate.findings import Endpoint, Finding, Level, clusters_of, common_fields
from pytest_audioretrieval.runs.directions import DIRECTIONS
from pytest_audioretrieval.runs.directions.two_options import CHANCE

if TYPE_CHECKING:
    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.runs.directions import Direction
    from pytest_audioretrieval.runs.run import MeasuredRun
    from pytest_audioretrieval.stats.chance import Chance


def judge_chance(measured: MeasuredRun, endpoint: Endpoint, level: Level) -> Finding:
    """Judge whether choices are right more often than half the time, corrected (Holm) over the slices of the run.

    The verdict rests on the clustered p-value, two-sided at 1 - confidence, so that "above" errs half as often: choices
    of one cluster are not independent. What stands beside it treats them as if they were, as MASB does.

    Raises:
        SpecError: a metric, or a direction, whose chance level is not known.
    """
    from pytest_audioretrieval.stats.chance import against_chance
    from pytest_audioretrieval.stats.multiplicity import holm

    metric, columns = endpoint.metric, measured.run.columns
    _check_chance(metric, measured.run.asks)
    metric.queries(columns)  # refuses a slice that is not there
    parts: list[str | None] = [None] if metric.slice is None else [*dict.fromkeys(columns.slices)]
    family = [replace(metric, slice=part) for part in parts]
    found = [against_chance(m(columns), clusters_of(measured.run, m), **level._asdict()) for m in family]
    place = parts.index(metric.slice)
    one, corrected = found[place], holm([chance.p_clustered for chance in found])[place]
    sure = corrected <= 1 - level.confidence
    side = "above_chance" if one.accuracy > CHANCE else "below_chance"
    return Finding(
        **common_fields(measured, endpoint),
        baseline="chance",
        confidence=level.confidence,
        verdict=side if sure else "inconclusive",
        holds=sure and one.accuracy > CHANCE,
        baseline_value=CHANCE,
        new_value=one.accuracy,
        difference=one.accuracy - CHANCE,
        low=one.clustered_low - CHANCE,
        high=one.clustered_high - CHANCE,
        clusters=one.clusters,
        queries=one.trials,
        p_corrected=corrected,
        chance=_chance_lines(one, corrected, len(parts), level),
        notes=list(measured.notes),
    )


def _check_chance(metric: Metric, direction: Direction) -> None:
    if metric.chance != CHANCE:
        raise SpecError(f"{metric} has no chance level of one half", remedy="claim accuracy() above chance")
    if direction.chance != CHANCE:
        known = " or ".join(name for name, one in DIRECTIONS.items() if one.chance == CHANCE)
        raise SpecError(
            f"direction {direction.name} has no chance level of one half, because all of a pool are ranked",
            remedy=f"claim above chance in direction {known}",
        )


def _chance_lines(found: Chance, corrected: float, slices: int, level: Level) -> list[str]:
    percent = f"{100 * level.confidence:g} %"
    return [
        f"clustered: {percent} interval [{found.clustered_low:.3f}, {found.clustered_high:.3f}], "
        f"p {found.p_clustered:.2g}, {corrected:.2g} after Holm's correction over {slices} slices",
        f"as if independent: {percent} interval [{found.wilson_low:.3f}, {found.wilson_high:.3f}] (Wilson), "
        f"p {found.p_exact:.2g} (exact binomial); {found.ties} ties, each counted one half",
    ]
