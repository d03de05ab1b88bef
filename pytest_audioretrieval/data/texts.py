"""Rules for ids and texts: printable ids, texts that show something."""

from __future__ import annotations

import unicodedata

from pytest_audioretrieval.errors import DataError

#: Characters that no text may hold, by Unicode category.
_BROKEN = {"Cc": "control character", "Cs": "lone surrogate"}


def is_id(text: str) -> bool:
    """Return whether ``text`` shows something and holds printable characters only."""
    return bool(text.strip()) and text.isprintable()


def shows_nothing(text: str) -> bool:
    """Return whether ``text`` holds white space and zero-width characters only."""
    return all(c.isspace() or unicodedata.category(c) == "Cf" for c in text)


def query_text(raw: str | None, what: str) -> str:
    """Return a query without surrounding white space; ``""`` where there is nothing to ask.

    Args:
        what: the place, for the error.

    Raises:
        DataError: it holds a control character or half a character, which a broken export leaves and no user types.
    """
    if raw is None or shows_nothing(raw):
        return ""
    text = raw.strip()
    bad = next((c for c in text if unicodedata.category(c) in _BROKEN), None)
    if bad is not None:
        kind = _BROKEN[unicodedata.category(bad)]
        raise DataError(f"{what} holds the {kind} U+{ord(bad):04X}", remedy="remove it")
    return text


def caption_text(raw: str, what: str) -> str:
    """Return a source caption without surrounding white space.

    Raises:
        DataError: it is empty, or no query may read so.
    """
    text = query_text(raw, what)
    if not text:
        raise DataError(f"{what} is empty", remedy="write it or remove the line")
    return text
