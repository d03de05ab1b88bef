"""Errors that this package raises on purpose, and the one place that words them.

An error holds what was found, what was expected and what to do about it as fields. ``str(error)`` is one line made of
them; no code takes that line apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Self


class RetrievalError(Exception):
    """Base of every error this package raises on purpose; its text is one line fit for a terminal.

    Attributes:
        found: what is wrong, with the name of the thing; a whole clause.
        expected: what should have been there; may be empty where ``found`` says it.
        remedy: what the user does next, as an imperative; may be empty.

    >>> str(DataError("clips.csv:3: id is empty", expected="a name", remedy="write one"))
    'clips.csv:3: id is empty, expected a name: write one'
    """

    def __init__(self, found: str, expected: str = "", remedy: str = "") -> None:
        # All of them positional, because an error that crosses processes is made anew from its arguments.
        super().__init__(found, expected, remedy)
        self.found, self.expected, self.remedy = found, expected, remedy

    def __str__(self) -> str:
        return self.problem + (f": {self.remedy}" if self.remedy else "")

    @property
    def problem(self) -> str:
        """The line without its remedy."""
        return f"{self.found}, expected {self.expected}" if self.expected else self.found

    def about(self, what: str) -> Self:
        """Return the same error with ``what`` it is about in front."""
        return type(self)(f"{what}: {self.found}", self.expected, self.remedy)


class AudioError(RetrievalError):
    """A clip that cannot be measured: unreadable, empty, non-finite, out of range or of a wrong shape."""


class DataError(RetrievalError):
    """A dataset that is not what it says it is: manifest, captions, ids, relevance or fingerprint."""


class ModelError(RetrievalError):
    """A model that cannot be found, verified or run, or that returned something that is no embedding."""


class PinError(RetrievalError):
    """A model or dataset that PINS.json does not pin, or that differs from its pin."""


class BaselineError(RetrievalError):
    """A stored run that is missing, damaged, or not comparable with the run at hand."""


class SpecError(RetrievalError):
    """An option, marker or argument whose value is not one of those allowed."""


def one_line(error: BaseException) -> str:
    """Return the first line of a foreign error that says something, else the name of its kind."""
    try:
        text = str(error)
    except Exception:  # a foreign error may fail even at this
        text = ""
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def did_you_mean(unknown: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return ``"did you mean 'x'? "``, or nothing where no name is near."""
    near = get_close_matches(unknown, list(known), n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}? " if near else ""


def refuse_namesakes(what: str, names: Sequence[str]) -> None:
    """Raise ``SpecError`` where two of ``names``, each that of a ``what``, are the same: tables go by them."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SpecError(f"two {what}s are called {twice!r}", expected="names of their own", remedy="name each once")
