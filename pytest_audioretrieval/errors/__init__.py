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

    >>> from pytest_audioretrieval.errors import DataError
    >>> str(DataError("clips.csv:3: id is empty", expected="a name", remedy="write one"))
    'clips.csv:3: id is empty, expected a name: write one'
    """

    def __init__(self, found: str = "no reason was given", expected: str = "", remedy: str = "") -> None:
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
        """Return the same error with ``what`` it is about in front.

        >>> from pytest_audioretrieval.errors import DataError
        >>> str(DataError("id is empty", remedy="write one").about("clips.csv:3"))
        'clips.csv:3: id is empty: write one'
        """
        return type(self)(f"{what}: {self.found}", self.expected, self.remedy)


class AudioError(RetrievalError):
    """A clip that cannot be measured: unreadable, empty, non-finite, out of range or of a wrong shape.

    >>> from pytest_audioretrieval.errors import AudioError
    >>> raise AudioError("clip 'a.wav' has no samples", remedy="remove it")
    Traceback (most recent call last):
    pytest_audioretrieval.errors.AudioError: clip 'a.wav' has no samples: remove it
    """


class DataError(RetrievalError):
    """A dataset that is not what it says it is: manifest, captions, ids, relevance or fingerprint.

    >>> from pytest_audioretrieval.errors import DataError
    >>> raise DataError("caption 1 of clip 'a.wav' is empty", expected="a text", remedy="write it or remove it")
    Traceback (most recent call last):
    pytest_audioretrieval.errors.DataError: caption 1 of clip 'a.wav' is empty, expected a text: write it or remove it
    """


class ModelError(RetrievalError):
    """A model that cannot be found, verified or run, or that returned something that is no embedding.

    >>> from pytest_audioretrieval.errors import ModelError
    >>> raise ModelError("model 'toy' returned 2 vectors", expected="3", remedy="return one for each text")
    Traceback (most recent call last):
    pytest_audioretrieval.errors.ModelError: model 'toy' returned 2 vectors, expected 3: return one for each text
    """


class PinError(RetrievalError):
    """A model or dataset that PINS.json does not pin, or that differs from its pin.

    >>> from pytest_audioretrieval.errors import PinError
    >>> raise PinError("PINS.json does not pin 'a/clap'", remedy="pin it or pass --retrieval-allow-unpinned")
    Traceback (most recent call last):
    pytest_audioretrieval.errors.PinError: PINS.json does not pin 'a/clap': pin it or pass --retrieval-allow-unpinned
    """


class BaselineError(RetrievalError):
    """A stored run that is missing, damaged, or not comparable with the run at hand.

    >>> from pytest_audioretrieval.errors import BaselineError
    >>> raise BaselineError("baseline toys/t2a/toy.json is missing", remedy="record it")
    Traceback (most recent call last):
    pytest_audioretrieval.errors.BaselineError: baseline toys/t2a/toy.json is missing: record it
    """


class SpecError(RetrievalError):
    """An option, marker or argument whose value is not one of those allowed.

    >>> from pytest_audioretrieval.errors import SpecError
    >>> raise SpecError("k is 0", expected="a whole number of at least 1", remedy="pass 1, 5 or 10")
    Traceback (most recent call last):
    pytest_audioretrieval.errors.SpecError: k is 0, expected a whole number of at least 1: pass 1, 5 or 10
    """


def one_line(error: BaseException) -> str:
    """Return the first line of a foreign error that is not blank, or the name of its class where there is none.

    >>> from pytest_audioretrieval.errors import one_line
    >>> one_line(ValueError("\\n  bad header\\n  at byte 4")), one_line(KeyboardInterrupt())
    ('bad header', 'KeyboardInterrupt')
    """
    try:
        text = str(error)
    except Exception:  # a foreign error may fail even at this
        text = ""
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def did_you_mean(unknown: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return ``"did you mean 'x'? "``, or nothing where no known name is near.

    >>> from pytest_audioretrieval.errors import did_you_mean
    >>> did_you_mean("audiocap", ["audiocaps", "clotho"]), did_you_mean("esc50", ["audiocaps", "clotho"])
    ("did you mean 'audiocaps'? ", '')
    """
    near = get_close_matches(unknown, list(known), n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}? " if near else ""


def refuse_namesakes(what: str, names: Sequence[str]) -> None:
    """Refuse equal names, because tables identify each ``what`` by its name.

    Raises:
        SpecError: two of ``names`` are the same.

    >>> from pytest_audioretrieval.errors import refuse_namesakes
    >>> refuse_namesakes("metric", ["R@1", "R@1"])
    Traceback (most recent call last):
    pytest_audioretrieval.errors.SpecError: two metrics are called 'R@1', expected names of their own: name each once
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SpecError(f"two {what}s are called {twice!r}", expected="names of their own", remedy="name each once")
