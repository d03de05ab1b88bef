"""Segments of a caption, between "and", "then" and commas, and the kind of each: a thing, a scene, a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from pytest_audioretrieval.data.reformulate import words
from pytest_audioretrieval.data.reformulate.words import Tag

NEGLIGIBLE = (Tag.ADV, Tag.COMMA)


@dataclass(frozen=True)
class Token:
    """One word or comma; ``at`` is its place in the caption."""

    text: str
    at: int
    first: bool

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def tag(self) -> Tag:
        return words.tag(self.lower)


class Kind(Enum):
    """The kind of one part of a caption, between 'and', 'then' or commas."""

    NOUN = "a dog"
    PARTICIPLE = "a dog barking"
    CLAUSE = "a dog barks"
    VERB = "barks"
    EITHER = "dog barks"
    CONTINUED = "and clicks"
    GERUND = "and barking"
    REST = "in the distance"
    UNKNOWN = "not understood"


@dataclass
class Segment:
    """One part of a caption, between 'and', 'then' or commas.

    Attributes:
        tokens: its words.
        joint: the words that link it to the part before.
        scoped: True if it depends on an earlier 'with' or 'followed by'.
        verb: place in the caption at which 'is' or 'are' would stand.
        several: True if its finite verb needs more than one subject.
        closed: True for a sentence with nothing behind its verb.
    """

    tokens: list[Token]
    joint: tuple[str, ...] = ()
    scoped: bool = False
    kind: Kind = Kind.NOUN
    verb: int = -1
    plural: bool = False
    several: bool = False
    closed: bool = False


@dataclass
class _Scan:
    """A walk over one segment from left to right until its kind is known."""

    segment: Segment
    determiner: str = ""
    nouns: int = 0
    head: str = ""
    last_plural: bool = False
    head_plural: bool = False
    prepositions: list[str] = field(default_factory=list)
    participle: bool = False
    before: Tag | None = None
    single: bool = False

    def run(self, *, opens: bool) -> None:
        """Fill in the segment's kind."""
        tokens = self.segment.tokens
        start = next((i for i, t in enumerate(tokens) if t.tag not in NEGLIGIBLE), len(tokens))
        tokens = tokens[start:]
        kind = self._lead(tokens, opens=opens)
        for number, token in enumerate(tokens):
            if kind is not None:
                break
            after = tokens[number + 1] if number + 1 < len(tokens) else None
            kind = self._step(token, after)
            if kind is Kind.CLAUSE:
                self.segment.closed = all(t.tag in NEGLIGIBLE for t in tokens[number + 1 :])
            self.before = token.tag
        if kind is None and not opens and self._goes_on(tokens):
            kind = Kind.GERUND
        if kind is Kind.CLAUSE:
            self.segment.verb = -1
        self.segment.kind = kind or (Kind.PARTICIPLE if self.segment.verb >= 0 else Kind.NOUN)
        self.segment.plural = kind is Kind.EITHER or self._agrees_with_are()

    def _goes_on(self, tokens: list[Token]) -> bool:
        """Return whether the tokens are like 'and barking at a cat', and not like 'and barking dogs'."""
        things = (Tag.NOUN, Tag.S, Tag.BASE, Tag.ADJ, Tag.ING)
        return tokens[0].tag is Tag.ING and not any(t.tag in things for t in tokens[1:2])

    def _lead(self, tokens: list[Token], *, opens: bool) -> Kind | None:
        """Return the kind that the first word alone decides; ``None`` if it decides none."""
        if not tokens:
            return Kind.REST
        first = tokens[0].tag
        if first is Tag.PRON or (tokens[0].lower == "one" and len(tokens) > 1 and tokens[1].tag is Tag.S):
            after = next((t.tag for t in tokens[1:] if t.tag is not Tag.ADV), None)
            return Kind.CLAUSE if after in (Tag.AUX, Tag.S, Tag.BASE, Tag.PAST) else Kind.UNKNOWN
        if first is Tag.PREP:
            return Kind.REST
        if first in (Tag.AUX, Tag.PAST):
            return Kind.VERB
        if opens or self.segment.scoped or [t.lower for t in tokens[1:2]] == ["of"]:
            return None
        return Kind.CONTINUED if first in (Tag.S, Tag.BASE) and not self._finite_later(tokens) else None

    def _finite_later(self, tokens: list[Token]) -> bool:
        if words.stem(tokens[0].lower) in words.PLAIN_VERBS:
            return False
        return any(t.tag in (Tag.S, Tag.AUX, Tag.ING) for t in tokens[1:])

    def _step(self, token: Token, after: Token | None) -> Kind | None:
        match token.tag:
            case Tag.S:
                return self._s(token, after)
            case Tag.ING:
                return self._ing(token, after)
            case Tag.AUX | Tag.PAST:
                return self._finite(token, after)
            case Tag.PRON | Tag.REL | Tag.SUB:
                return Kind.UNKNOWN
        alone = {
            Tag.DET: self._det,
            Tag.PREP: self._prep,
            Tag.BASE: self._base,
            Tag.ED: self._ed,
            Tag.NOUN: self._noun,
        }
        return alone[token.tag](token) if token.tag in alone else None

    def _finite(self, token: Token, after: Token | None) -> Kind | None:
        """Read 'is' or 'began' as a finite verb, but not the can that is opened."""
        if token.lower == "can" and (after is None or after.tag not in (Tag.AUX, Tag.BASE)):
            return self._noun(token)
        self.segment.several = token.lower in ("are", "were", "have", "do")
        return Kind.CLAUSE if self.before else Kind.UNKNOWN

    def _prep(self, token: Token) -> None:
        self.prepositions.append(token.lower)
        self.single = False

    def _name(self, word: str) -> None:
        """Take ``word`` as a noun."""
        self.nouns += 1
        self.last_plural = words.plural(word) and not self.single
        if not self.prepositions and not self.participle:
            self.head, self.head_plural = word, words.plural(word)

    def _det(self, token: Token) -> Kind | None:
        self.single = token.lower in words.SINGULAR_DET
        if not self.nouns and not self.determiner:
            self.determiner = token.lower
        elif self.before in (Tag.NOUN, Tag.S) and not self.participle:
            return Kind.UNKNOWN
        return None

    def _noun(self, token: Token) -> Kind | None:
        """Read a noun; after 'a' and another noun, a plural one is more likely a verb that is not listed."""
        late = self.nouns and not self.prepositions and not self.participle and self.before is Tag.NOUN
        late = late and not self._owned_by(token)
        if late and self.determiner in words.SINGULAR_DET and words.plural(token.lower):
            return Kind.UNKNOWN
        self._name(token.lower)
        return None

    def _owned_by(self, token: Token) -> bool:
        return any(t.at == token.at - 1 and t.lower.endswith("'s") for t in self.segment.tokens)

    def _s(self, token: Token, after: Token | None) -> Kind | None:
        """Read 'barks': the verb of the sentence, or a plural noun."""
        follows = after.tag if after else None
        names = not self.nouns or self.before in (Tag.ADJ, Tag.DET, Tag.PREP, Tag.ED) or self._owned_by(token)
        if names or (after and after.lower == "of"):
            self._name(token.lower)
            return None
        if self.participle:
            if token.lower in words.EITHER and (self.before is Tag.ING or self.prepositions):
                self._name(token.lower)
                return None
            return Kind.UNKNOWN
        single = self.determiner in words.SINGULAR_DET or self.head in words.INDEFINITE
        if follows in (Tag.ING, Tag.AUX, Tag.S, Tag.BASE):
            self._name(token.lower)
            if single:
                return Kind.UNKNOWN if token.lower in words.EITHER else Kind.CLAUSE
            return None
        if self._lists_events() or (self.determiner in words.PLURAL_DET and not self.last_plural):
            self._name(token.lower)
            return None
        if single or self.last_plural or words.stem(token.lower) in words.PLAIN_VERBS:
            return Kind.CLAUSE
        if self.prepositions:
            return Kind.UNKNOWN
        return Kind.EITHER if token.lower in words.EITHER else Kind.CLAUSE

    def _lists_events(self) -> bool:
        return bool(self.prepositions) and self.prepositions[0] == "of" and self.head in words.EVENTS

    def _base(self, token: Token) -> Kind | None:
        """Read 'bark': the verb after a plural, a noun elsewhere."""
        plain = token.lower in words.PLAIN_VERBS
        if self.participle and plain and self.before is Tag.ING:
            self.segment.several, self.segment.verb = True, -1
        if self.nouns and not self.participle and self.before in (Tag.NOUN, Tag.S, Tag.BASE, Tag.ADV, Tag.ING):
            self.segment.several = plain
            many = self.last_plural or (self.head_plural and plain) or (self.head in words.COLLECTIVE and plain)
            if many and (plain or not self._lists_events()):
                self.segment.several = True
                return Kind.CLAUSE
        self._name(token.lower)
        return None

    def _ing(self, token: Token, after: Token | None) -> Kind | None:
        """Read 'barking': what somebody does, or a noun ('the barking', 'a railroad crossing bell')."""
        names = not self.nouns or self.before in (Tag.DET, Tag.PREP, Tag.ADJ)
        if names or self.participle or (after and after.lower in words.COMPOUND_HEADS):
            if not self.participle:
                self._name(token.lower)
            return None
        self.participle = True
        if not self.prepositions or (self.prepositions == ["of"] and self.head in words.COLLECTIVE):
            self.segment.verb = self._before_adverbs(token)
        return None

    def _before_adverbs(self, token: Token) -> int:
        place = token.at
        earlier = {t.at: t for t in self.segment.tokens}
        while place - 1 in earlier and earlier[place - 1].tag is Tag.ADV:
            place -= 1
        return place

    def _ed(self, token: Token) -> Kind | None:
        if self.nouns and self.before in (Tag.NOUN, Tag.S, Tag.ADV, Tag.BASE):
            if token.lower in words.INTRANSITIVE_PAST:
                return Kind.UNKNOWN
            self.participle = True
        return None

    def _agrees_with_are(self) -> bool:
        if self.determiner in words.SINGULAR_DET:
            return self.head_plural and any(t.lower.endswith("'s") for t in self.segment.tokens)
        if self.determiner in words.PLURAL_DET:
            return True
        return self.head_plural


#: Words whose object may go on: 'with a dog barking and a cat meowing'.
_OPEN = frozenset(("with", "including", "hear", "hears", "contains", "features"))
#: Words that link a noun phrase to the part before: 'followed by rain'.
TIES = frozenset(("followed", "preceded", "proceeded", "accompanied"))


def segments(tokens: tuple[Token, ...]) -> list[Segment]:
    """Return the parts before the first 'as', 'while' or 'that': what follows those fits behind anything."""
    found = [Segment([])]
    scoped = False
    for token in _head(tokens):
        last = found[-1]
        if token.tag in (Tag.JOIN, Tag.COMMA) or token.lower in TIES:
            scoped = scoped or token.lower in TIES
            if last.tokens:
                found.append(Segment([], scoped=scoped))
            found[-1].joint += (token.lower,)
        elif token.lower == "by" and TIES & set(last.joint) and all(t.tag is Tag.ADV for t in last.tokens):
            last.tokens.clear()
        else:
            last.tokens.append(token)
            scoped = scoped or token.lower in _OPEN
        found[-1].scoped = found[-1].scoped or bool(TIES & set(found[-1].joint))
    found = _with_lone_adjectives([segment for segment in found if segment.tokens])
    for number, segment in enumerate(found):
        _Scan(segment).run(opens=number == 0)
    return found


def _with_lone_adjectives(parts: list[Segment]) -> list[Segment]:
    """Join adjectives that stand alone to what follows: 'Fast and loud | typing' is one part."""
    found: list[Segment] = []
    for segment in parts:
        lone = bool(found) and all(t.tag in (Tag.ADJ, Tag.ADV, Tag.DET) for t in found[-1].tokens)
        if lone and "then" not in segment.joint:
            found[-1].tokens += segment.tokens
        else:
            found.append(segment)
    return found


def _head(tokens: tuple[Token, ...]) -> list[Token]:
    head: list[Token] = []
    for token in tokens:
        if token.tag in (Tag.SUB, Tag.REL) and head:
            break
        head.append(token)
    return head
