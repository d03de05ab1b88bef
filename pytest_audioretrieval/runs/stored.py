"""Runs as files: written as strict JSON, and checked when they are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from pytest_audioretrieval.errors import BaselineError
from pytest_audioretrieval.runs.directions import DIRECTIONS, Direction
from pytest_audioretrieval.runs.directions.direction import Fault
from pytest_audioretrieval.runs.outcomes import OPTIONAL, Outcomes
from pytest_audioretrieval.runs.run import SCHEMA, Run

AGAIN = "restore the file from version control or record it anew with --retrieval-record all"


def encode(run: Run) -> str:
    """Return strict JSON: UTF-8, sorted keys, one array a line, no NaN."""
    return _pretty(msgspec.to_builtins(run), indent=0) + "\n"


def _pretty(value: Any, indent: int) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    pad = "  " * (indent + 1)
    rows = ",\n".join(f"{pad}{json.dumps(key)}: {_pretty(value[key], indent + 1)}" for key in sorted(value))
    return "{\n" + rows + "\n" + "  " * indent + "}"


def decode(content: bytes, where: str) -> Run:
    """Read a stored run strictly.

    Raises:
        BaselineError: cut short, not JSON, NaN, another schema, or columns that contradict each other;
            the message names ``where`` and the field.
    """
    try:
        run = msgspec.json.decode(content, type=Run)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{where}: no readable run: {error}", remedy=AGAIN) from None
    if run.schema != SCHEMA:
        raise BaselineError(f"{where}: schema is {run.schema!r}", expected=repr(SCHEMA), remedy=AGAIN)
    direction = DIRECTIONS.get(run.direction)
    if direction is None:
        known = f"one of {', '.join(DIRECTIONS)}"
        raise BaselineError(f"{where}: direction is {run.direction!r}", expected=known, remedy=AGAIN)
    if found := _fault(run, direction):
        raise BaselineError(f"{where}: {found.found}", found.expected, AGAIN)
    return run


def _fault(run: Run, direction: Direction) -> Fault | None:
    """Return the first thing in a run that cannot be, or None."""
    return (
        _wrong_lengths(run)
        or _out_of_range(run.queries, direction)
        or _missing_or_spare_columns(run.queries, direction)
        or _impossible_rank(run.queries, direction.last_rank(run.dataset.clips))
        or direction.fault(run.queries, run.dataset.clips)
        or _wrong_precision(run)  # last: a number that cannot be may be too large for an array
    )


def _wrong_lengths(run: Run) -> Fault | None:
    q, count = run.queries, run.dataset.queries
    if count < 1:
        return Fault(f"dataset.queries is {count}", "at least 1")
    for name, column in _stored_columns(q):
        if len(column) != count:
            return Fault(f"queries.{name} has {len(column)} entries", f"dataset.queries = {count}")
    if len(set(q.id)) != count:
        twice = next(i for i in q.id if q.id.count(i) > 1)
        return Fault(f"query id {twice!r} stands twice")
    return None


def _stored_columns(q: Outcomes) -> Iterator[tuple[str, list[Any]]]:
    """Yield every list of one entry per query, by name."""
    for name in q.__struct_fields__:
        column = getattr(q, name)
        if isinstance(column, list):
            yield name, column
    for form, outcomes in (q.forms or {}).items():
        for name in outcomes.__struct_fields__:
            yield f"forms.{form}.{name}", getattr(outcomes, name)


def _out_of_range(q: Outcomes, direction: Direction) -> Fault | None:
    for name, low, high in (("margin", -direction.apart, direction.apart), ("ap", 0.0, 1.0)):
        for query, value in zip(q.id, getattr(q, name), strict=True):
            if not low <= value <= high:
                return Fault(f"query {query!r}: {name} is {value}", f"{low:g} to {high:g}")
    return None


def _missing_or_spare_columns(q: Outcomes, direction: Direction) -> Fault | None:
    for name in OPTIONAL:
        there = getattr(q, name) is not None
        if name in direction.columns and not there:
            return Fault(f"direction is {direction.name!r} without queries.{name}")
        if there and name not in direction.columns | direction.optional:
            return Fault(f"direction is {direction.name!r} with queries.{name}")
    return None


def _impossible_rank(q: Outcomes, last: int) -> Fault | None:
    for position, rank in enumerate(q.first_hit_rank):
        ranks = q.relevant_ranks[position] if q.relevant_ranks else [rank]
        if not ranks or ranks[0] != rank or sorted(set(ranks)) != ranks or ranks[0] < 1 or ranks[-1] > last:
            return Fault(f"query {q.id[position]!r}: ranks {ranks} with first_hit_rank {rank} cannot be")
        worst = q.pessimistic_rank[position]
        if not q.tied[position] >= 0 or not 1 <= worst <= last or worst < rank:
            return Fault(f"query {q.id[position]!r}: pessimistic_rank {worst} with rank {rank} cannot be")
    return None


def _wrong_precision(run: Run) -> Fault | None:
    from pytest_audioretrieval.metrics.retrieval import map_at

    for name, stored, found in zip(run.queries.id, run.queries.ap, map_at(10)(run.columns), strict=True):
        if abs(stored - found) > 1e-6:
            return Fault(f"query {name!r}: ap {stored} does not follow from its ranks, which give {found:.9f}")
    return None
