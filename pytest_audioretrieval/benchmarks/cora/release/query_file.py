"""Reader of CORA's query sets: one source caption, five forms, a fixed target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.lines import check_columns, csv_lines, json_lines, read
from pytest_audioretrieval.data.query_sets import Cases, QueryItem, QuerySet, collect
from pytest_audioretrieval.data.texts import caption_text, is_id, query_text
from pytest_audioretrieval.errors import DataError

COLUMNS = ("audio_id", "caption", *FORMS)
#: Column that is needed only where a clip has several items; else the clip's id is the item's.
OPTIONAL = "id"

Row = Mapping[str, str | None]


def load_cora(path: Path, *, name: str | None = None, cases: Cases = "complete") -> QuerySet:
    """Read a query set from ``.jsonl`` (one object a line) or ``.csv`` (with a header line), UTF-8.

    Both have the columns ``audio_id``, ``caption``, ``command``, ``question``, ``indirect``, ``key_phrase`` and
    ``statement``, and may have ``id``. A form that is empty, or ``null``, is missing: see ``collect``. No other file
    is opened: an ``audio_id`` is compared with the ids of clips (``positions``), never used as a path.

    Args:
        path: the file.
        name: of the set; by default the file's, without its ending.
        cases: see ``collect``.

    Raises:
        DataError: a column is missing or unknown, a line is not as described, an id is repeated, or there is no item.
    """
    items: dict[str, QueryItem] = {}
    lines: dict[str, int] = {}
    for number, row in _rows(path):
        item = _item(row, f"{path}:{number}")
        if item.id in items:
            raise DataError(
                f"{path}:{number}: item {item.id!r} stands on line {lines[item.id]} already",
                remedy=f"give each item of a clip its own {OPTIONAL!r}",
            )
        items[item.id] = item
        lines[item.id] = number
    if not items:
        raise DataError(f"{path} holds no items", expected=f"one a line with {', '.join(COLUMNS)}", remedy="add them")
    return collect(name or path.stem, items.values(), cases=cases)


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    text = read(path, remedy="name a .jsonl or .csv file of queries")
    if path.suffix == ".csv":
        yield from csv_lines(text, path, COLUMNS, (OPTIONAL,))
    elif path.suffix == ".jsonl":
        for number, row in json_lines(text, path, dict[str, str | None]):
            check_columns(tuple(row), f"{path}:{number}", COLUMNS, (OPTIONAL,))
            yield number, row
    else:
        raise DataError(
            f"{path} ends in {path.suffix!r}", expected="a query set in .jsonl or .csv", remedy="convert or rename it"
        )


def _item(row: Row, where: str) -> QueryItem:
    clip = row["audio_id"] or ""
    own = row.get(OPTIONAL)
    for column, value in (("audio_id", clip), (OPTIONAL, own)):
        if value is not None and not is_id(value):
            raise DataError(f"{where}: {column} is {value!r}", expected="printable characters", remedy="correct it")
    return QueryItem(
        id=clip if own is None else own,
        clip=clip,
        source=caption_text(row["caption"] or "", f"{where}: the caption of {clip!r}"),
        forms={form: query_text(row[form], f"{where}: the {form} query of {clip!r}") for form in FORMS},
    )
