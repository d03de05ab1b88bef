"""Rules that read a caption: as a noun phrase, a sentence, or neither, and in its form inside a sentence."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum

from pytest_audioretrieval.data.reformulate import words
from pytest_audioretrieval.data.reformulate.segments import NEGLIGIBLE, TIES, Kind, Segment, Token, segments
from pytest_audioretrieval.data.reformulate.words import Tag
from pytest_audioretrieval.errors import DataError


class Shape(Enum):
    """The kind of a caption, which decides what may precede it."""

    NOUN = "a noun phrase: 'a dog barking while cars pass'"
    CONTAINER = "a noun phrase that names the recording itself: 'a recording of rain'"
    CLAUSE = "a sentence: 'a dog barks'"
    PREDICATE = "a sentence about the recording: '(it) starts with rain'"
    TEXT = "anything else, to be quoted whole"


@dataclass(frozen=True)
class Reading:
    """A caption in the form that it takes inside a sentence.

    Attributes:
        shape: its kind.
        text: the caption without its final mark, its first letter small; for a predicate without its 'it'.
        clause: the same as a sentence, where it is one or where 'is' or 'are' makes it one.
        plural: True where 'there are' agrees with it, rather than 'there is'.
        definite: True where it begins with 'the' or the like, which 'there is' does not take.
    """

    shape: Shape
    text: str
    clause: str | None = None
    plural: bool = False
    definite: bool = False


_TOKEN = re.compile(r"[\w'’&/.%-]+|,")
#: Captions that no rule reads: with a sentence end inside, a comma without a space, or a quotation mark.
_ODD = re.compile(r"\.(\s|$)|\w,\w|(^|\s)['’]|['’][A-Z]|^,")
_MARKS = ".!?,;:…-–—。！？ "
_CONTAINER = re.compile(r"(an? |the |this )?(audio )?(recording|clip|audio|sound clip|soundtrack) of ")
_PREDICATE = re.compile(r"it ((?:starts|begins|opens|ends|finishes) with .*)")


def read(caption: str) -> Reading:
    """Read ``caption`` by the rules.

    Raises:
        DataError: the caption has no letter or digit.
    """
    text = tidy(caption)
    tokens = tuple(Token(t, i, i == 0) for i, t in enumerate(_TOKEN.findall(text)))
    whole = Reading(Shape.TEXT, words.lower_first(text))
    if _joined([t.text for t in tokens]) != text or _ODD.search(text):
        return whole
    predicate = _PREDICATE.fullmatch(whole.text)
    if predicate:
        return Reading(Shape.PREDICATE, predicate.group(1), clause=whole.text)
    found = _Sentence(tokens).reading()
    if found and found.shape is Shape.NOUN and _CONTAINER.match(found.text):
        return Reading(Shape.CONTAINER, found.text)
    return found or whole


def tidy(caption: str) -> str:
    """Return ``caption`` with single spaces and without marks or spaces at its end.

    Raises:
        DataError: the caption has no letter or digit.
    """
    printable = "".join(" " if unicodedata.category(c)[0] in "ZC" else c for c in caption)
    text = " ".join(printable.split()).rstrip(_MARKS)
    if not any(c.isalnum() for c in text):
        raise DataError(
            f"caption {caption[:60]!r} has no word", expected="a text that names a sound", remedy="remove it"
        )
    return text


def _joined(parts: list[str]) -> str:
    return " ".join(parts).replace(" ,", ",")


class _Sentence:
    """The tokens of a caption, with the rules that insert words and mend articles."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens

    def reading(self) -> Reading | None:
        """Return the reading of the caption; ``None`` if no rule fits."""
        if self.tokens[0].tag is Tag.SUB:
            return self._after_opening_clause()
        parts = segments(self.tokens)
        if not parts:
            return None
        shape, verbs = _combine(parts)
        if shape is Shape.TEXT:
            return None
        articles = _articles(parts, sentence=shape is Shape.CLAUSE)
        clause = self._text(articles | verbs) if verbs or shape is Shape.CLAUSE else None
        if clause and shape is Shape.CLAUSE:
            return Reading(shape, clause, clause)
        first = next((t for t in self.tokens if t.tag is not Tag.ADV), self.tokens[0])
        definite = first.lower in words.DEFINITE
        return Reading(shape, self._text(articles), clause, parts[0].plural, definite)

    def _after_opening_clause(self) -> Reading | None:
        """Read 'After a bang, a dog barks': the part after some comma has to be a sentence."""
        for comma in (t.at for t in self.tokens if t.tag is Tag.COMMA):
            rest = segments(self.tokens[comma + 1 :])
            if not rest:
                continue
            shape, verbs = _combine(rest)
            if shape is Shape.CLAUSE:
                text = self._text(verbs)
                return Reading(Shape.CLAUSE, text, text)
        return None

    def _text(self, inserted: dict[int, str]) -> str:
        """Return the caption as it stands inside a sentence: words ``inserted`` at their places, articles mended."""
        parts: list[str] = []
        for token in self.tokens:
            if token.at in inserted:
                parts.append(inserted[token.at])
            parts.append(self._mended(token))
        return _joined(parts)

    def _mended(self, token: Token) -> str:
        text = words.lower_first(token.text) if token.first else token.text
        following = self.tokens[token.at + 1] if token.at + 1 < len(self.tokens) else None
        if text in ("a", "an") and following and following.text[0].isalnum():
            return words.article(following.text)
        return text


def _articles(parts: list[Segment], *, sentence: bool) -> dict[int, str]:
    """Map the place of each part that lacks 'a' or 'an' ('dog barking') to the article."""
    subjects = [p for p in parts if p is parts[0] or p.kind in (Kind.PARTICIPLE, Kind.CLAUSE)]
    lacking = [_article(part.tokens, sentence=sentence) for part in subjects]
    return dict(filter(None, lacking))


def _article(tokens: list[Token], *, sentence: bool) -> tuple[int, str] | None:
    """Return the place and article of a countable noun that stands alone in the singular."""
    first = tokens[0]
    # In a sentence the last of these words may be its verb.
    name = (Tag.NOUN, Tag.ADJ) if sentence else (Tag.NOUN, Tag.ADJ, Tag.BASE, Tag.S)
    leads = first.tag is Tag.BASE or (first.tag is Tag.ING and first.lower not in words.TAKE_OBJECTS)
    end = next((i for i, t in enumerate(tokens) if t.tag not in name and not (i == 0 and leads)), len(tokens))
    if not end or tokens[end - 1].lower not in words.COUNTABLE:
        return None
    return first.at, words.article(first.text)


def _combine(parts: list[Segment]) -> tuple[Shape, dict[int, str]]:
    """Return the shape of the whole, and the 'is' or 'are' that would make a sentence of it."""
    kinds = [segment.kind for segment in parts]
    if Kind.UNKNOWN in kinds or kinds[0] in (Kind.VERB, Kind.REST) or any(map(_ill_tied, parts)):
        return Shape.TEXT, {}
    subject = _common_subject(parts)
    if subject:
        kinds[: subject + 1] = [Kind.CLAUSE] * (subject + 1)
    kinds = _settled(parts, kinds)
    finite = Kind.CLAUSE in kinds or Kind.VERB in kinds
    loose = any(_loose(parts, kinds, number) for number in range(1, len(kinds)))
    if finite and (loose or kinds[0] is Kind.NOUN):
        return Shape.TEXT, {}
    verbs = {s.verb: "are" if s.plural else "is" for s in parts if s.verb >= 0 and not s.scoped}
    if finite:
        return Shape.CLAUSE, verbs
    return Shape.NOUN, verbs if kinds[0] is Kind.PARTICIPLE and not loose else {}


def _settled(parts: list[Segment], kinds: list[Kind]) -> list[Kind]:
    """Settle words that may be verb or noun: verbs in a caption that has a sentence, nouns in one that has none."""
    sentence = kinds[0] is Kind.CLAUSE or (kinds[0] in (Kind.EITHER, Kind.PARTICIPLE) and Kind.CLAUSE in kinds)
    either = Kind.CLAUSE if sentence else Kind.NOUN
    return [
        either if k is Kind.EITHER else _continued(s, kinds[0], sentence=sentence) if k is Kind.CONTINUED else k
        for s, k in zip(parts, kinds, strict=True)
    ]


def _continued(segment: Segment, first: Kind, *, sentence: bool) -> Kind:
    """Decide whether 'and clicks' or 'then starts' is a second verb or a second noun."""
    verb = next(t for t in segment.tokens if t.tag not in NEGLIGIBLE)
    surely = first is Kind.PARTICIPLE and verb.tag is Tag.S and verb.lower not in words.EITHER
    return Kind.VERB if (sentence and first is not Kind.NOUN) or surely else Kind.NOUN


def _ill_tied(segment: Segment) -> bool:
    """Return whether a sentence follows a word that takes a noun phrase: 'followed by a dog barks'."""
    return bool(TIES & set(segment.joint)) and segment.kind is Kind.CLAUSE


def _loose(parts: list[Segment], kinds: list[Kind], number: int) -> bool:
    """Return whether a part belongs to no verb: 'a man speaks and a bang', 'a man speaking and a bang'."""
    segment = parts[number]
    if segment.scoped or kinds[number] not in (Kind.NOUN, Kind.GERUND):
        return False
    clause = next((n for n in reversed(range(number)) if kinds[n] is not Kind.NOUN), 0)
    if kinds[number] is Kind.GERUND:
        return parts[clause].closed and segment.joint != (",",)
    return parts[clause].closed or kinds[clause] not in (Kind.CLAUSE, Kind.VERB)


def _common_subject(parts: list[Segment]) -> int:
    """Return the index of the part that ends 'a man, a woman and a child talk'; 0 if there is none."""
    for number, segment in enumerate(parts[1:], start=1):
        if segment.several and not segment.scoped:
            return number
        if segment.kind is not Kind.NOUN or "then" in segment.joint:
            break
    return 0
