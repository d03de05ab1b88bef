"""Word groups of a query: acoustic content, query intent, and function words.

The three groups are CORA's (Appendix I), which gives no lists: these are by single words, from the lists of ``words``
and the vocabulary of ``openings``. Many words of an opening also name sounds ("play", "hand", "surface"). They count as
intent only until the content begins, and not as the object of a determiner, a preposition or another verb of asking.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple, get_args

from pytest_audioretrieval.data.reformulate import words
from pytest_audioretrieval.data.reformulate.openings import OPENINGS
from pytest_audioretrieval.data.reformulate.words import Tag
from pytest_audioretrieval.data.reformulate.wrapper import FRAMES

Group = Literal["content", "intent", "form"]
#: Acoustic content, query intent, function and form.
GROUPS: tuple[Group, ...] = get_args(Group)


class Word(NamedTuple):
    """One word or mark of a query, ``query[start:end]``, and its group."""

    text: str
    start: int
    end: int
    group: Group


_WORD = re.compile(r"\w[\w'’&/-]*|[^\w\s]")
_APOSTROPHE = re.compile("['’]")
_FUNCTION = frozenset((Tag.DET, Tag.AUX, Tag.PRON, Tag.REL, Tag.SUB, Tag.JOIN, Tag.PREP, Tag.COMMA))


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Verbs of asking, and nouns for recordings: intent wherever they stand.
_SEEK = _listed(
    "find search locate retrieve fetch seek hear heard listen look need want wish obtain request display discover "
    "identify detect browse"
)
_MATERIAL = _listed(
    "audio audios sound sounds recording recordings clip clips file files excerpt excerpts sample samples snippet "
    "snippets soundtrack soundtracks database archive description described matching matches"
)
#: Politeness, hedges and question words: form wherever they stand.
_POLITE = _listed(
    "please kindly sorry excuse thank thanks grateful appreciate favour favor maybe perhaps possible possibly wonder "
    "hope hoping me us not able what how why whether let's"
)
#: Polite words that also name or describe sounds: form in an opening only.
_POLITE_OPENING = _listed(
    "trouble bother busy chance convenience curious glad great happy interested kind love mind minute moment nice "
    "right time"
)
#: Words of order and degree, and auxiliaries that no list of captions tags as such.
_CONNECTIVES = _listed(
    "first next finally afterwards later eventually thereafter meanwhile also too very quite rather just only still "
    "almost instead else all following being having doing"
)
#: Words that the reformulator and the wrapper write beyond the openings.
_FRAMES = " ".join((*FRAMES.values(), "contains features"))
#: Words that precede a verb here ('to', 'can one', 'will a search'), but a noun elsewhere.
_SUBJECTS = _listed("to one search")


def grouped(query: str) -> tuple[Word, ...]:
    """Return the words and marks of ``query`` in order; together they hold all of it but white space."""
    found: list[Word] = []
    opening, before = True, ""
    for match in _WORD.finditer(query):
        word = match.group().lower()
        group = _group(word, before, opening=opening)
        opening = opening and group != "content"
        found.append(Word(match.group(), match.start(), match.end(), group))
        before = word
    return tuple(found)


def _group(word: str, before: str, *, opening: bool) -> Group:
    plain = _APOSTROPHE.split(word)[0]
    if not word[0].isalnum() or words.tag(word) in _FUNCTION or words.tag(plain) in _FUNCTION:
        return "form"
    if {word, plain} & (_POLITE | _CONNECTIVES | words.INDEFINITE):
        return "form"
    if plain in _MATERIAL or _is_of(plain, _SEEK):
        return "intent"
    if opening and plain in _vocabulary() and not (_names_sounds(plain) and _takes_object(before)):
        return "form" if plain in _POLITE_OPENING else "intent"
    return "content"


@cache
def _vocabulary() -> frozenset[str]:
    """Return every word of the openings and frames, with apostrophes cut off."""
    parts = [f"{o.lead} {o.container} {o.noun} {o.clause}" for choices in OPENINGS.values() for o in choices]
    return frozenset(_APOSTROPHE.split(word)[0] for word in _WORD.findall(" ".join((*parts, _FRAMES)).lower()))


def _names_sounds(word: str) -> bool:
    """Return whether captions use ``word`` too: by its tag, or as one of the nouns that no list has."""
    return words.tag(word) is not Tag.NOUN or word in ("hand", "surface", "present", "time", "right", "great", "kind")


def _takes_object(before: str) -> bool:
    if not before or before in _SUBJECTS:
        return False
    return words.tag(before) in (Tag.DET, Tag.PREP) or _is_of(before, _SEEK)


def _is_of(word: str, listed: frozenset[str]) -> bool:
    """Return whether ``word`` or the word that it is a regular form of is ``listed``."""
    forms = {word}
    for ending in ("s", "es", "ing", "ed"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            forms |= {stem, f"{stem}e"}
    return not forms.isdisjoint(listed)
