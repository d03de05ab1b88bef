"""CORA's query sets: one source caption, five forms, a fixed target."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.lines import json_lines, read
from pytest_audioretrieval.data.query_sets import Cases, QueryItem, QuerySet, collect
from pytest_audioretrieval.data.texts import caption_text, is_id, query_text
from pytest_audioretrieval.errors import DataError, did_you_mean

COLUMNS = ("audio_id", "caption", *FORMS)
#: Needed only where a clip has several items; else the clip's id is the item's.
OPTIONAL = "id"

Row = Mapping[str, str | None]


def load_cora(path: Path, *, name: str | None = None, cases: Cases = "complete") -> QuerySet:
    """Read ``.jsonl`` (one object a line) or ``.csv`` (a header line), UTF-8.

    Both have the columns ``audio_id``, ``caption``, ``command``, ``question``, ``indirect``, ``key_phrase`` and
    ``statement``, and may have ``id``. A form that is empty, or ``null``, is missing: see ``collect``. No other file
    is opened: an ``audio_id`` is compared with the ids of clips (``positions``), never used as a path.

    Args:
        path: the file.
        name: of the set; by default the file's, without its ending.
        cases: see ``collect``.

    Raises:
        DataError: a column is missing or unknown; a line that is not as described, by number; a repeated id; no item.
    """
    items: dict[str, QueryItem] = {}
    lines: dict[str, int] = {}
    for number, row in _rows(path):
        item = _item(row, f"{path}:{number}")
        if item.id in items:
            raise DataError(
                f"{path}:{number}: item {item.id!r} stands on line {lines[item.id]} already: "
                f"give each item of a clip an {OPTIONAL!r} of its own"
            )
        items[item.id] = item
        lines[item.id] = number
    if not items:
        raise DataError(f"{path}: no items: expected one a line with {', '.join(COLUMNS)}")
    return collect(name or path.stem, items.values(), cases=cases)


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    text = read(path, expected="name a .jsonl or .csv file of queries")
    if path.suffix == ".csv":
        yield from _csv_rows(text, path)
    elif path.suffix == ".jsonl":
        for number, row in json_lines(text, path, dict[str, str | None]):
            _check(tuple(row), f"{path}:{number}")
            yield number, row
    else:
        raise DataError(f"{path}: ends in {path.suffix!r}: expected a query set in .jsonl or .csv")


def _csv_rows(text: bytes, path: Path) -> Iterator[tuple[int, Row]]:
    try:
        reader = csv.reader(io.StringIO(text.decode(), newline=""), strict=True)
    except UnicodeDecodeError as error:
        number = text.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{number}: invalid UTF-8: save the file as UTF-8") from None
    columns: Sequence[str] | None = None
    try:
        for cells in reader:
            if not cells:
                continue
            if columns is None:
                columns = cells
                _check(columns, f"{path}:{reader.line_num}")
                continue
            if len(cells) != len(columns):
                raise DataError(
                    f"{path}:{reader.line_num}: {len(cells)} cells, expected {len(columns)} ({', '.join(columns)}): "
                    "quote a cell that holds a comma"
                )
            yield reader.line_num, dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: no readable CSV: {error}") from None


def _check(found: Sequence[str], where: str) -> None:
    """Refuse columns other than those expected, naming both sides."""
    missing = [column for column in COLUMNS if column not in found]
    unknown = [column for column in found if column not in (*COLUMNS, OPTIONAL)]
    repeated = sorted({column for column in found if found.count(column) > 1})
    wrong = [
        f"{what} {', '.join(map(repr, columns))}"
        for what, columns in (("missing", missing), ("unknown", unknown), ("repeated", repeated))
        if columns
    ]
    if wrong:
        hint = did_you_mean(unknown[0], missing) if unknown else ""
        raise DataError(
            f"{where}: columns {'; '.join(wrong)}: {hint}expected {', '.join(COLUMNS)}, and optionally {OPTIONAL}"
        )


def _item(row: Row, where: str) -> QueryItem:
    clip = row["audio_id"] or ""
    own = row.get(OPTIONAL)
    for column, value in (("audio_id", clip), (OPTIONAL, own)):
        if value is not None and not is_id(value):
            raise DataError(f"{where}: {column} {value!r}: expected a name of printable characters")
    return QueryItem(
        id=clip if own is None else own,
        clip=clip,
        source=caption_text(row["caption"] or "", f"{where}: the caption of {clip!r}"),
        forms={form: query_text(row[form], f"{where}: the {form} query of {clip!r}") for form in FORMS},
    )
