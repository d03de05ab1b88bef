"""Values that the reports of one pytest run are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_audioretrieval.gate.findings import Finding


@dataclass(frozen=True)
class RecordedFile:
    """A baseline that this run wrote.

    Attributes:
        path: as a user reads it.
        replaced: another file stood there before.
        notes: what was counted in the data it was measured on, a line each.
    """

    path: str
    replaced: bool
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Summary:
    """Everything that the end of a run tells.

    Attributes:
        findings: in the order of collection, corrected over the endpoints of each run.
        recorded: in the order in which they were written.
        lines: what tests that passed tell, a line each.
    """

    findings: Sequence[Finding]
    recorded: Sequence[RecordedFile] = ()
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Guidance:
    """Help that the screen of a failed claim gives.

    Attributes:
        explain_command: the command that shows a query beside clips, less the query's id; may be empty.
        chance_command: the command that shows what a model reads and what it guesses; may be empty.
        json_command: the command that writes all figures.
        record_command: the command that accepts the new state as the baseline.
        audible: id of a clip -> where a person can listen to it; what is no clip is not in it.
    """

    json_command: str
    record_command: str
    explain_command: str = ""
    chance_command: str = ""
    audible: dict[str, str] = field(default_factory=dict)
