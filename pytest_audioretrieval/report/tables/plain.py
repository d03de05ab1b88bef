"""A table of texts as lines of a terminal or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def lines(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Return headings, a rule and a line a row; everything on the left, nothing cut or wrapped."""
    from rich.console import Console
    from rich.text import Text

    from pytest_audioretrieval.report.terminal import WIDTH, empty_table

    table = empty_table(tuple(headings), left=tuple(headings))
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=WIDTH, no_color=True, force_terminal=False, soft_wrap=True)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        yield line.rstrip()
