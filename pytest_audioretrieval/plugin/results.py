"""Plain values that a test hands to its report, and that travel with it from an xdist worker to the controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_audioretrieval.gate.findings import Finding

RESULTS = pytest.StashKey[dict[str, Any]]()


def add_finding(node: pytest.Item, finding: Finding) -> None:
    """Hand over a finding, and its figures for JUnit."""
    import msgspec

    node.stash.setdefault(RESULTS, {}).setdefault("findings", []).append(msgspec.to_builtins(finding))
    for key in ("verdict", "difference", "low", "high", "margin"):
        if (value := getattr(finding, key)) is not None:
            node.user_properties.append((f"retrieval_{finding.metric}_{key}", value))


def add_line(node: pytest.Item, line: str) -> None:
    """Hand over a line that the summary prints although the test passed."""
    node.stash.setdefault(RESULTS, {}).setdefault("said", []).append(line)


def record_and_skip(node: pytest.Item, path: Path, content: str, shown: str, notes: Sequence[str] = ()) -> NoReturn:
    """Hand over a file to be written, and end the test as recorded; the controller writes it.

    Args:
        shown: ``path`` as a user reads it.
        notes: lines that the summary prints below the path.
    """
    node.stash[RESULTS] = {"record": {"path": str(path), "content": content, "notes": list(notes)}}
    pytest.skip(f"recorded {shown}")
