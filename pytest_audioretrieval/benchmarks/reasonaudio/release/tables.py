"""Line formats of the files of a ReasonAudio folder, each read and checked by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import Constraints
from pytest_audioretrieval.benchmarks.reasonaudio.queries.templates import TASKS, Task
from pytest_audioretrieval.data.lines import csv_lines, json_lines, read
from pytest_audioretrieval.data.texts import caption_text, is_id
from pytest_audioretrieval.errors import DataError, did_you_mean

QUERIES = ("queries.jsonl", "queries.csv")
QRELS = ("qrels.tsv", "qrels.csv")
CHOICES = "choices.jsonl"
RELEVANCE = ("query-id", "clip-id", "score")


class QueryLine(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """One line of ``queries.jsonl``; a release may leave its constraints out."""

    id: str
    task: str
    text: str
    constraints: Constraints = ()


class ChoiceLine(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """One line of ``choices.jsonl``: the ids of the clip that meets the text and of the one that does not."""

    id: str
    task: str
    text: str
    right: str
    wrong: str
    constraints: Constraints = ()


class Relevant(NamedTuple):
    """One line of the relevance file, and its place."""

    query: str
    clip: str
    where: str


Line = TypeVar("Line", QueryLine, ChoiceLine)


def one_of(folder: Path, names: Sequence[str]) -> Path:
    """Return the one of several files that exists.

    Raises:
        DataError: none exists, or several do.
    """
    there = [folder / name for name in names if (folder / name).is_file()]
    if len(there) != 1:
        found = f"holds both {' and '.join(path.name for path in there)}" if there else f"holds no {names[0]}"
        raise DataError(
            f"{folder} {found}", expected=f"one of {', '.join(names)}", remedy="keep one" if there else "write one"
        )
    return there[0]


def query_lines(path: Path) -> dict[str, tuple[int, QueryLine]]:
    """Read queries by id, with line numbers, from JSON lines or CSV with the columns id, task and text.

    Raises:
        DataError: a line is not as described, a task is unknown, a text is empty, or an id occurs twice.
    """
    if path.suffix == ".csv":
        rows = _rows(path, ("id", "task", "text"))
        found = _by_id(((number, QueryLine(row["id"], row["task"], row["text"])) for number, row in rows), path)
    else:
        found = _by_id(json_lines(read(path, remedy="write one query a line"), path, QueryLine), path)
    if not found:
        raise DataError(f"{path} holds no queries", remedy="write one a line with id, task and text")
    return found


def choice_lines(path: Path) -> dict[str, tuple[int, ChoiceLine]]:
    """Read choices by id, with line numbers, in document order; none where there is no such file.

    Raises:
        DataError: as for ``query_lines``.
    """
    if not path.exists():
        return {}
    return _by_id(json_lines(read(path, remedy="write one choice a line"), path, ChoiceLine), path)


def relevant_lines(path: Path) -> Iterator[Relevant]:
    """Yield the lines of a relevance file with the columns query-id, clip-id and score, which is always 1.

    Raises:
        DataError: a line is not as described, or there is none.
    """
    empty = True
    for number, row in _rows(path, RELEVANCE):
        empty, where = False, f"{path}:{number}"
        if row["score"] != "1":
            raise DataError(
                f"{where}: score is {row['score']!r}", expected="1", remedy="leave out pairs that are not relevant"
            )
        yield Relevant(row["query-id"], row["clip-id"], where)
    if empty:
        raise DataError(
            f"{path} names no relevant clip", expected=f"a line a pair with {', '.join(RELEVANCE)}", remedy="write them"
        )


def check_task(line: QueryLine | ChoiceLine, where: str) -> None:
    """Refuse a task that does not match its constraints; those of presence alone match any.

    Raises:
        DataError: the task does not match; names ``where``.
    """
    kinds = {constraint.kind for constraint in line.constraints} - {"presence"}
    made = "mix" if len(kinds) > 1 else next(iter(kinds), line.task)
    if made != line.task:
        raise DataError(
            f"{where}: task is {line.task!r}", expected=f"{made!r} as its constraints make it", remedy="correct it"
        )


def task_of(line: QueryLine | ChoiceLine) -> Task:
    """Return the task of a line that was read without an error."""
    return next(task for task in TASKS if task == line.task)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    raw = read(path, remedy=f"write a header and lines with {', '.join(columns)}")
    return csv_lines(raw, path, columns, tabs=path.suffix == ".tsv")


def _by_id(rows: Iterable[tuple[int, Line]], path: Path) -> dict[str, tuple[int, Line]]:
    found: dict[str, tuple[int, Line]] = {}
    for number, line in rows:
        _check(line, f"{path}:{number}", found)
        found[line.id] = number, line
    return found


def _check(line: QueryLine | ChoiceLine, where: str, before: Mapping[str, tuple[int, object]]) -> None:
    if not is_id(line.id):
        raise DataError(f"{where}: id is {line.id!r}", expected="printable characters", remedy="correct it")
    if line.id in before:
        raise DataError(
            f"{where}: id {line.id!r} stands on line {before[line.id][0]} already", remedy="give each its own"
        )
    if line.task not in TASKS:
        raise DataError(
            f"{where}: task is {line.task!r}",
            expected=f"one of {', '.join(TASKS)}",
            remedy=f"{did_you_mean(line.task, TASKS)}correct it",
        )
    caption_text(line.text, f"{where}: the text of {line.id!r}")
