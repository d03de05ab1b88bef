"""Findings of one run as a family: something is called a loss only where it stands after correction."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from pytest_audioretrieval.gate.findings import Finding
from pytest_audioretrieval.stats.multiplicity import holm


def corrected(findings: list[Finding]) -> list[Finding]:
    """Return every finding with its p-value corrected (Holm) over the endpoints of its run."""
    runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, finding in enumerate(findings):
        if finding.p_regressed is not None:
            runs[finding.run].append(position)
    result = list(findings)
    for positions in runs.values():
        adjusted = holm([findings[i].p_regressed or 0.0 for i in positions])
        for i, p in zip(positions, adjusted, strict=True):
            result[i] = msgspec.structs.replace(findings[i], p_corrected=float(p))
    return result
