"""Cells of one finding in a table; shared by terminal and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_audioretrieval.gate.findings import Finding
    from pytest_audioretrieval.runs.form_rows import FormRow

HEADINGS = ("model", "dataset", "direction", "metric", "baseline", "new", "difference", "interval", "margin", "verdict")


def cells(finding: Finding) -> tuple[str, ...]:
    """Return one text per heading."""
    return (
        finding.model,
        finding.dataset,
        finding.direction,
        finding.metric,
        f"{finding.baseline_value:.4f}",
        f"{finding.new_value:.4f}",
        f"{finding.difference:+.4f}",
        interval(finding),
        f"{finding.margin:g}" if finding.margin else "-",
        verdict(finding),
    )


def interval(finding: Finding) -> str:
    """Return the two one-sided bounds, or "-" where there are none."""
    if finding.low is None or finding.high is None:
        return "-"
    return f"[{finding.low:+.4f}, {finding.high:+.4f}]"


def verdict(finding: Finding) -> str:
    """Return the verdict, with a mark where a loss does not survive the correction over the run's endpoints."""
    alpha = 1 - finding.confidence
    uncertain = finding.verdict == "regressed" and (finding.p_corrected or 0.0) > alpha
    return finding.verdict + ("*" if uncertain else "")


def heading(finding: Finding) -> str:
    """Return the heading that the findings of one run share."""
    against = "" if finding.baseline == finding.model else f", against {finding.baseline}"
    return f"{finding.model} on {finding.dataset} {finding.direction}{against}"


FORM_HEADINGS = (
    "form", "R@5", "MeanRD", "95 % interval", "rank loss", "TAL", "HNP", "TBMD", "r move", "r TAL", "r TBMD"
)  # fmt: skip


def form_cells(row: FormRow) -> tuple[str, ...]:
    """Return one text per heading of the table of forms."""
    correlations = ("-" if r is None else f"{r:+.3f}" for r in (row.r_move, row.r_tal, row.r_tbmd))
    return (
        row.form,
        f"{row.hit_rate:.4f}",
        f"{row.mean_rank_drop:+.2f}" + ("!" if row.heavy_tailed else ""),
        f"[{row.low:+.2f}, {row.high:+.2f}]",
        f"{row.rank_loss:+.3f}",
        f"{row.tal:+.4f}",
        f"{row.hnp:+.4f}",
        f"{row.tbmd:+.4f}",
        *correlations,
    )


def form_legend(rows: list[FormRow]) -> str:
    """Return the legend of the table of forms."""
    return f"captions as they are: R@5 {rows[0].source_hit_rate:.4f}; r: correlation with the rank drop"


HEAVY = "! heavy tail: no interval of this mean is to be trusted; judge by rank loss, log2(rank / source rank)"
FOOTNOTE = "* a loss by itself, but not after Holm's correction over the endpoints of this run"
