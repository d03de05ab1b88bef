"""A caption with its swap and paraphrase, in the two styles that MASB uses."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

#: The two caption formats: a strict template and a natural rewrite of the same content (MASB, 2.1).
Style = Literal["strict", "natural"]
STYLES: tuple[Style, ...] = get_args(Style)


class CaptionSet(NamedTuple):
    """A caption, its attribute swap (same words, other meaning) and its paraphrase (other words, same meaning)."""

    caption: str
    swap: str
    paraphrase: str
