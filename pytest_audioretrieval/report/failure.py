"""The screen of a failed claim: what failed, why, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_audioretrieval.report.columns import heading, interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_audioretrieval.gate.findings import Finding
    from pytest_audioretrieval.report.summary import Guidance

WIDTH = 72
#: Where there is more to say of each query than its ranks.
EXAMPLES = 3
LONGEST_PATH = 400


def explain(finding: Finding, guidance: Guidance) -> str:
    """Return the screen of a failed claim."""
    lines = [f"{finding.metric} of {heading(finding)}: {finding.verdict} (claimed: {finding.claim})", ""]
    lines += _against_chance(finding) if finding.claim == "above_chance" else _figures(finding)
    if finding.causes:
        lines += ["", f"why: {finding.causes[0]}", *(f"     {cause}" for cause in finding.causes[1:])]
    lines += _lost_queries(finding, guidance)
    if finding.environment:
        lines += [
            "",
            "differs from the baseline's environment:",
            *(f"  {_short(line, 160)}" for line in finding.environment),
        ]
    return "\n".join([*lines, "", *_next(finding, guidance)])


def _against_chance(finding: Finding) -> Iterator[str]:
    choices = f"{finding.queries} choices in {finding.clusters} clusters"
    yield f"  accuracy {finding.new_value:.4f} of {choices}; chance is {finding.baseline_value:g}"
    yield from (f"  {line}" for line in finding.chance)


def _figures(finding: Finding) -> Iterator[str]:
    yield (
        f"  baseline {finding.baseline_value:.4f}   new {finding.new_value:.4f}   "
        f"difference {finding.difference:+.4f}   ({finding.source})"
    )
    if finding.claim == "consistent":
        yield f"  tolerance {finding.margin:g}"
        return
    yield f"  {finding.confidence:.0%} one-sided bounds {interval(finding)}   margin {finding.margin:g}"
    if finding.plain is not None:
        yield f"  plain 95 % percentile interval [{finding.plain[0]:+.4f}, {finding.plain[1]:+.4f}]"
    certain = finding.attainable_margin
    attainable = "" if certain is None else f"; smallest margin these data can certify: {certain:.4f}"
    yield f"  {finding.changed} of {finding.queries} queries changed, in {finding.clusters} clusters{attainable}"
    yield f"  {_settling(finding)}"


def _settling(finding: Finding) -> str:
    if finding.clusters_needed is None:
        short = "there is no gain" if finding.claim == "superior" else "the difference itself is at or past the margin"
        return f"more clips would not settle it: {short}"
    return f"about {finding.clusters_needed} clusters would settle it at this spread"


def _lost_queries(finding: Finding, guidance: Guidance) -> Iterator[str]:
    if not finding.losers:
        return
    yield ""
    yield "queries that lost most (rank before -> now):"
    told = any(query.right for query in finding.losers)
    for query in finding.losers[: EXAMPLES if told else None]:
        yield f"  {query.before:>4} -> {query.after:<4} {_short(query.shown)!r}  [{_short(query.id, 40)}]"
        if not query.right:
            yield f"               first now: {_short(query.first)}"
            continue
        if clip := guidance.audible.get(query.shown):
            yield f"                    clip: {_short(clip, LONGEST_PATH)}"
        yield f"               first now: {_short(guidance.audible.get(query.first, query.first), LONGEST_PATH)}"
        if query.why:
            yield f"                  breaks: {_short(query.why, 160)}"
        yield f"             should have: {_short(guidance.audible.get(query.right, query.right), LONGEST_PATH)}"
    if guidance.explain_command and told and any(query.why for query in finding.losers):
        yield f"what sounds when: {guidance.explain_command} --query {finding.losers[0].id}"


def _short(text: str, width: int = WIDTH) -> str:
    flat = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def _next(finding: Finding, guidance: Guidance) -> Iterator[str]:
    if finding.claim == "consistent":
        yield f"next: compare protocol and dataset revision with the published run ({finding.source})"
        return
    if finding.claim == "above_chance":
        shows = "; what it reads, and what it guesses:" if guidance.chance_command else ""
        yield f"next: these choices do not show that the model reads this property{shows}"
        if guidance.chance_command:
            yield f"      {guidance.chance_command}"
        if finding.verdict == "inconclusive":
            yield "      to judge the other claims alone: -k 'not above_chance'"
        return
    if finding.verdict == "regressed":
        yield f"next: find what changed (weights, libraries, audio); all figures: {guidance.json_command}"
    elif finding.claim == "superior":
        yield "next: add clips until a gain of this size shows, or claim non_inferior"
    else:
        yield "next: ask for a margin these data can certify, or add clips until the interval fits"
    if finding.baseline == finding.model:
        yield f"      or accept the new state as the baseline: {guidance.record_command}"
