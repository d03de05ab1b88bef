"""Gain of a canonicalizer between user and retriever (CORA, Appendix M, Table 26)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from pytest_audioretrieval.base.importing import imported
from pytest_audioretrieval.benchmarks.cora.analyses.comparison import difference_table, form_table, query_set_table
from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Pairs
from pytest_audioretrieval.benchmarks.cora.analyses.pools import Pool
from pytest_audioretrieval.data.texts import query_text
from pytest_audioretrieval.errors import DataError, SpecError, one_line
from pytest_audioretrieval.report.tables.table import Table

#: (query, its form) -> the query to ask.
Rewrite = Callable[[str, str], str]

NONE = "no canonicalizer"


def canonicalizer(text: str) -> Rewrite:
    """Import the callable that ``module:callable`` names, as ``rewriting`` takes it.

    Raises:
        SpecError: there is no such module or callable; or as ``rewriting``.
    """
    try:
        found = imported(text)
    except (ImportError, AttributeError) as error:
        raise SpecError(
            f"canonicalizer {text!r} cannot be imported ({one_line(error)})",
            expected="module:callable",
            remedy="correct it",
        ) from None
    return rewriting(found, text)


def rewriting(function: Any, name: str) -> Rewrite:
    """Return ``function`` as a rewrite of (text, form), called with ``(text)`` alone where it takes one argument.

    It is called once for each text and form; arguments that have defaults are left alone.

    Raises:
        SpecError: ``function`` is no callable of one or two arguments.
        DataError: when called, it fails or returns no text.
    """
    if not callable(function):
        raise SpecError(
            f"canonicalizer {name!r} is {type(function).__name__}",
            expected="a callable, text -> text",
            remedy="name another",
        )
    needed = _needed(function)
    if not needed:
        raise SpecError(
            f"canonicalizer {name!r} takes neither (text) nor (text, form)",
            expected="one of the two",
            remedy="change its arguments",
        )

    @cache
    def rewrite(text: str, form: str) -> str:
        try:
            found = function(text) if needed == 1 else function(text, form)
        except (Exception, SystemExit) as error:
            raise DataError(
                f"canonicalizer {name!r} failed on {text!r} ({type(error).__name__}: {one_line(error)})",
                remedy="correct it",
            ) from error
        written = (
            query_text(found, f"the output of canonicalizer {name!r} for {text!r}") if isinstance(found, str) else ""
        )
        if not written:
            raise DataError(
                f"canonicalizer {name!r} made {found!r} of {text!r}", expected="text to ask with", remedy="correct it"
            )
        return written

    return rewrite


def canonicalized(pool: Pool, rewrite: Rewrite) -> Pool:
    """Return the pool with every form rewritten; source queries stay, because losses are measured from them."""
    items = tuple(
        replace(item, forms={form: rewrite(text, form) for form, text in item.forms.items()})
        for item in pool.queries.items
    )
    return replace(pool, queries=replace(pool.queries, items=items))


def preprocessing_tables(sets: Mapping[str, Pairs]) -> list[Table]:
    """Tabulate Table 26 and the comparisons of Appendix M; the first of ``sets`` has no canonicalizer."""
    return [query_set_table(sets), difference_table(sets), form_table(sets)]


def _needed(function: Callable[..., Any]) -> int:
    """Return the number of arguments to call with: 1 or 2, or 0 where neither fits."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C
        return 1
    for count in (1, 2):
        try:
            signature.bind(*[""] * count)
        except TypeError:
            continue
        return count
    return 0
