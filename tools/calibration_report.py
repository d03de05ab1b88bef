"""Tables of the calibration grid: the worst cell of each kind, a known drop, and the cost in power."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from simulation import GROUP, RESAMPLES, Cell, Tally, run

#: Outcomes that have to keep the limits; the others show how far the method reaches.
HELD = ("binary", "ap", "margin", "rank")
#: A known loss: 957 clips, one query each, 5 % of hits flip, 3 points lost.
DROP = 0.03

Results = Mapping[Cell, Tally]


def limits(cell: Cell) -> tuple[float, float]:
    """Return the largest rate of false certifications and the smallest two-sided 95 % coverage, in per cent."""
    return (8.0, 92.0) if cell.clusters == 50 else (6.5, 93.5)


def beyond(cell: Cell, tally: Tally, trials: int) -> bool:
    """Return whether a cell breaks a limit by more than three Monte Carlo standard errors."""
    most, least = limits(cell)
    error = 3 * (100 * most * (1 - most / 100) / trials) ** 0.5
    return bool(tally.certified > most + error or tally.covered < least - error)


def tables(results: Results, trials: int) -> str:
    """Return all generated sections, as Markdown."""
    sections = [_summary(results, trials), _worst(results), _known_drop(trials), _power(trials)]
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _summary(results: Results, trials: int) -> Iterator[str]:
    held = {cell: tally for cell, tally in results.items() if cell.outcome in HELD}
    over = sum(tally.certified > limits(cell)[0] for cell, tally in held.items())
    short = sum(tally.covered < limits(cell)[1] for cell, tally in held.items())
    broken = sum(beyond(cell, tally, trials) for cell, tally in held.items())
    yield f"### Summary: {len(held)} cells, {trials} trials of {RESAMPLES} resamples each, redrawn every {GROUP} trials"
    yield ""
    yield f"- false certification above the limit (6.5 %; 8 % at 50 clusters): {over} cells"
    yield f"- two-sided 95 % coverage below the limit (93.5 %; 92 % at 50 clusters): {short} cells"
    yield f"- either one beyond three Monte Carlo errors: {broken} cells"
    yield ""
    yield "| bounds | mean false certification | worst | cells above the limit |"
    yield "| --- | --- | --- | --- |"
    for name, label in {
        "certified": "ours",
        "plain": "plain percentile",
        "whole": "adverse cluster loses all it can",
        "seen": "adverse cluster loses the most seen",
    }.items():
        rates = {cell: getattr(tally, name) for cell, tally in held.items()}
        above = sum(rate > limits(cell)[0] for cell, rate in rates.items())
        yield f"| {label} | {sum(rates.values()) / len(rates):.2f} | {max(rates.values()):.1f} | {above} |"


def _worst(results: Results) -> Iterator[str]:
    yield "### Worst cell of each kind (per cent; in brackets: margin, gain, rho of that cell)"
    yield ""
    yield "| outcome | clusters | queries each | cells | false certification, worst | plain there | coverage, least |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    kinds: dict[tuple[str, int, str], list[tuple[Cell, Tally]]] = defaultdict(list)
    for cell, tally in results.items():
        kinds[cell.outcome, cell.clusters, cell.queries].append((cell, tally))
    for (outcome, clusters, queries), members in kinds.items():
        wrong, tally = max(members, key=lambda member: member[1].certified)
        narrow, least = min(members, key=lambda member: member[1].covered)
        yield (
            f"| {outcome} | {clusters} | {queries} | {len(members)} | {tally.certified:.1f} {_where(wrong)} "
            f"| {tally.plain:.1f} | {least.covered:.1f} {_where(narrow)} |"
        )


def _where(cell: Cell) -> str:
    return f"({cell.margin:g}, {cell.gain:g}, {cell.rho:g})"


def _known_drop(trials: int) -> Iterator[str]:
    yield f"### A true 3-point drop on 957 clips, 5 % of hits flip ({trials} trials, 10,000 resamples, per cent)"
    yield ""
    yield "| margin | called non-inferior | called equivalent | reported `regressed` (power) |"
    yield "| --- | --- | --- | --- |"
    for margin in (0.01, 0.02, 0.03):
        tally = run(Cell("binary", 957, "1", margin, 0.01, 0.0, DROP), trials, 10_000)
        yield f"| {margin:g} | {tally.certified:.2f} | {tally.equivalent:.2f} | {tally.regressed:.1f} |"


def _power(trials: int) -> Iterator[str]:
    yield f"### No true difference: how often `non_inferior` is shown, and a false loss ({trials} trials, per cent)"
    yield ""
    yield "| outcome | clusters x queries | margin | gains | rho | ours | plain | all it can | seen | false loss |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for cell in _power_cells():
        tally = run(cell, trials)
        yield (
            f"| {cell.outcome} | {cell.clusters} x {cell.queries} | {cell.margin:g} | {cell.gain:g} | {cell.rho:g} "
            f"| {tally.certified:.1f} | {tally.plain:.1f} | {tally.whole:.1f} | {tally.seen:.1f} "
            f"| {tally.lost:.1f} |"
        )


def _power_cells() -> Iterable[Cell]:
    for clusters, queries, rho in ((200, "1", 0.0), (957, "1", 0.0), (1045, "5", 0.3), (200, "unequal", 0.3)):
        for margin, gain in ((0.01, 0.01), (0.01, 0.025), (0.03, 0.025), (0.03, 0.1)):
            yield Cell("binary", clusters, queries, margin, gain, rho, 0.0)
    for clusters, queries, rho in ((200, "1", 0.0), (1045, "5", 0.3)):
        yield Cell("ap", clusters, queries, 0.005, 0.025, rho, 0.0)
        yield Cell("ap", clusters, queries, 0.01, 0.1, rho, 0.0)
    for clusters, queries, rho in ((566, "3", 0.3), (957, "1", 0.0)):
        for gain in (0.05, 0.2):
            yield Cell("rank", clusters, queries, 0.1, gain, rho, 0.0)
    for clusters in (50, 200, 957):
        yield Cell("symmetric", clusters, "1", 0.01 if clusters == 50 else 0.005, 0.0, 0.0, 0.0)
