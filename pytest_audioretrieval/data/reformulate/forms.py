"""Reformulation of a caption in the five forms of CORA, Appendix A.1, the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from pytest_audioretrieval.data.forms import Form
from pytest_audioretrieval.data.reformulate import words
from pytest_audioretrieval.data.reformulate.grammar import Reading, Shape, read, tidy
from pytest_audioretrieval.data.reformulate.openings import OPENINGS, Opening
from pytest_audioretrieval.data.sounds.recipe import draw
from pytest_audioretrieval.errors import DataError

#: Statements about a noun phrase; the first needs an indefinite one.
_STATEMENTS = ("There {be} {x}.", "One can hear {x}.", "This recording contains {x}.", "The clip features {x}.")


class Captioned(Protocol):
    """An id and a text, as ``reformulate_all`` reads them: a ``Caption``, or a ``Text`` of ``data.queries``."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class Reformulated:
    """Captions in all forms.

    Attributes:
        forms: caption id -> form -> query.
        quoted: ids of the captions that no rule could read; four of their forms quote them.
    """

    forms: dict[str, dict[Form, str]]
    quoted: tuple[str, ...]


def reformulate(caption: str, key: str) -> dict[Form, str]:
    """Return ``caption`` in each of ``FORMS``; the opening depends on ``caption`` and ``key`` alone.

    Every content word is kept. A caption that no rule can read is quoted behind 'this description:'.

    Raises:
        DataError: the caption has no letter or digit.
    """
    return _forms(caption, read(caption), key)


def reformulate_all(captions: Iterable[Captioned]) -> Reformulated:
    """Return each of ``captions`` in all forms, with its id as the key.

    Raises:
        DataError: an id occurs twice, or a caption has no letter or digit.
    """
    forms: dict[str, dict[Form, str]] = {}
    quoted: list[str] = []
    for caption in captions:
        if caption.id in forms:
            raise DataError(f"caption id {caption.id!r} occurs twice", expected="each id once", remedy="rename one")
        try:
            reading = read(caption.text)
        except DataError as error:
            raise error.about(caption.id) from None
        forms[caption.id] = _forms(caption.text, reading, caption.id)
        if reading.shape is Shape.TEXT:
            quoted.append(caption.id)
    return Reformulated(forms, tuple(quoted))


def _forms(caption: str, reading: Reading, key: str) -> dict[Form, str]:
    seed = f"{key}/{caption}"
    return {
        "command": _opened(reading, "command", seed),
        "question": _opened(reading, "question", seed),
        "indirect": _opened(reading, "indirect", seed),
        "key_phrase": key_phrase(caption),
        "statement": _statement(reading, seed),
    }


def _opened(reading: Reading, form: Form, seed: str) -> str:
    """Return ``reading`` behind one of the openings of ``form``."""
    choices = [o for o in OPENINGS[form] if reading.shape is Shape.NOUN or o.any_shape]
    opening = choices[draw(f"{seed}/{form}", len(choices))]
    return f"{' '.join(_parts(opening, reading))}{opening.mark}"


def _parts(opening: Opening, reading: Reading) -> list[str]:
    match reading.shape:
        case Shape.NOUN:
            parts = [opening.lead, opening.container, opening.noun]
        case Shape.CONTAINER:
            parts = [opening.lead]
        case Shape.CLAUSE:
            # 'in which, after rain, ...': a clause that opens the caption is set off by commas.
            comma = "," if words.tag(reading.text.split()[0].lower()) is words.Tag.SUB else ""
            parts = [opening.lead, opening.container, opening.clause + comma]
        case Shape.PREDICATE:
            parts = [opening.lead, opening.container, "that"]
        case Shape.TEXT:
            parts = [opening.lead, opening.container, "matching this description:"]
    return [part for part in (*parts, reading.text) if part]


def _statement(reading: Reading, seed: str) -> str:
    """Return a declarative sentence with a finite verb."""
    if reading.clause:
        return f"{words.capital(reading.clause)}."
    if reading.shape is Shape.CONTAINER:
        return f"This is {reading.text}."
    if reading.shape is Shape.TEXT:
        return f"This recording matches the following description: {reading.text}."
    choices = _STATEMENTS[reading.definite :]
    be = "are" if reading.plural else "is"
    return choices[draw(f"{seed}/statement", len(choices))].format(be=be, x=reading.text)


#: Phrases that only say that something sounds.
_HEARD = re.compile(r"\b(one hears|can be heard|there (is|are))\b", re.IGNORECASE)


def key_phrase(caption: str) -> str:
    """Return ``caption`` without articles, auxiliaries, pronouns, 'and', 'of' and commas, in its own order.

    Raises:
        DataError: the caption has no letter or digit.
    """
    text = words.lower_first(tidy(caption))
    every = _HEARD.sub("", text).replace(",", " ").split()
    kept: list[str] = []
    for number, word in enumerate(every):
        if _dropped(word.lower(), every[number + 1 : number + 2]):
            continue
        if kept and kept[-1].lower() == word.lower() and every[number - 1] != kept[-1]:
            # 'the bass of a tabla and a tabla' keeps the word between the two.
            kept.append("and")
        kept.append(word)
    return " ".join(kept or text.split())


def _dropped(word: str, after: list[str]) -> bool:
    if word == "can":
        return after == ["be"]
    if word in ("has", "have", "had"):
        return bool(after) and words.tag(after[0].lower()) is words.Tag.ED
    return word in words.DROPPED
