"""Findings as strict JSON, for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pytest_audioretrieval.gate.findings import Finding

SCHEMA = "pytest-audioretrieval/findings/1"


def render(findings: list[Finding]) -> str:
    """Return ``{"schema": ..., "findings": [...]}``; the keys are the fields of ``gate.findings.Finding``."""
    content = msgspec.json.encode({"schema": SCHEMA, "findings": findings}, order="sorted")
    return msgspec.json.format(content, indent=2).decode() + "\n"
