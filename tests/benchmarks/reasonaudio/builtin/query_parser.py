"""A parser of ReasonAudio's English queries into conditions, and a check of them against detected sounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

Spans = Mapping[str, tuple[float, float]]

#: What stands in a text, and what it asks: ``A`` and ``B`` are one sound each, ``ALL`` several that are there, ``NONE``
#: several that are not, ``T`` is a time; ``A < B`` says that A is over when B starts, ``A & B`` that they overlap.
PHRASES = {
    "the sounds of ALL": "ALL",
    "a recording in which ALL can be heard": "ALL",
    "a clip that has ALL in it": "ALL",
    "ALL in the same clip": "ALL",
    ", with ALL somewhere in the clip": "ALL",
    "; the clip has ALL too": "ALL",
    ", and ALL at any time": "ALL",
    ", with no NONE at any point": "NONE",
    "; NONE must not occur": "NONE",
    "; the clip is free of NONE": "NONE",
    ", and no NONE anywhere in the clip": "NONE",
    "A, and after it B": "A < B",
    "A that starts only once B is over": "B < A",
    "A finishes before B begins": "A < B",
    "a clip where A comes after B has ended": "B < A",
    "A is heard earlier and B later": "A < B",
    "A, then B, then C": "A < B < C",
    "A is over before B starts, and B before C": "A < B < C",
    "A, B and C one after another, in this order": "A < B < C",
    "A after B, and B after C": "C < B < A",
    "A, later B, and later still C": "A < B < C",
    ", and A is over before B starts": "A < B",
    ", with A only after B has ended": "B < A",
    "; A ends before B begins": "A < B",
    "A and B at the same time": "A & B",
    "A overlapping with B": "A & B",
    "a moment at which A and B both sound": "A & B",
    "A that can be heard while B goes on": "A & B",
    ", and A and B at the same time": "A & B",
    ", with a moment of A and B at once": "A & B",
    "; A and B overlap": "A & B",
    "A that goes on for at least T": "A >= T",
    "A lasting T or more": "A >= T",
    "at least T of A without a break": "A >= T",
    "A, kept up for no less than T": "A >= T",
    ", and A lasts at least T": "A >= T",
    ", with A going on for T or more": "A >= T",
    "; A is heard for T at least": "A >= T",
}
#: Milliseconds. An end is heard up to 20 late, and up to 100 early where a sound's last pause is: 40 early in the mean.
EARLY = 40
#: Two sounds that share less are one after the other: what is in order is 100 apart, what overlaps shares 300.
SHARED = 60
#: Nothing that is asked may be a matter of less.
DOUBTFUL = 100


class Condition(NamedTuple):
    """One condition of a query: ``kind`` is one of ``there``, ``not there``, ``<``, ``&`` and ``>=``."""

    kind: str
    sounds: tuple[str, ...]
    ms: float = 0.0


class QueryParser:
    """A parser of texts about sounds with known labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        sound = "(?:{})".format("|".join(label.replace("-", " ") for label in sorted(labels, key=len, reverse=True)))
        slots = {
            "ALL": f"{sound}(?: and {sound})*",
            "NONE": f"{sound}(?: or {sound})*",
            "T": r"(?:1 second\b|[\d.]+ seconds)",
            **dict.fromkeys("ABC", sound),
        }
        self._phrases = [(_pattern(phrase, slots), meaning) for phrase, meaning in PHRASES.items()]

    def parse(self, text: str) -> list[Condition]:
        """Return the conditions of a text; raise ``AssertionError`` where it has two readings or none."""
        readings = list(self._read(text))
        assert len(readings) == 1, (text, readings)
        return readings[0]

    def _read(self, text: str) -> Iterator[list[Condition]]:
        if not text:
            yield []
        for pattern, meaning in self._phrases:
            if found := pattern.match(text):
                yield from ([*_asked(meaning, found.groupdict()), *rest] for rest in self._read(text[found.end() :]))


def _pattern(phrase: str, slots: Mapping[str, str]) -> re.Pattern[str]:
    words = re.split(r"\b(ALL|NONE|[ABCT])\b", phrase)
    seen: set[str] = set()
    made = ""
    for word in words:
        made += f"(?P={word})" if word in seen else f"(?P<{word}>{slots[word]})" if word in slots else re.escape(word)
        seen |= {word} & set(slots)
    return re.compile(rf"{made}(?=$|[,;])")


def _asked(meaning: str, found: Mapping[str, str]) -> list[Condition]:
    sounds = {slot: tuple(_label(name) for name in re.split(" and | or ", said)) for slot, said in found.items()}
    match meaning.split():
        case ["ALL"]:
            return [Condition("there", (sound,)) for sound in sounds["ALL"]]
        case ["NONE"]:
            return [Condition("not there", (sound,)) for sound in sounds["NONE"]]
        case [a, ">=", _]:
            return [Condition(">=", sounds[a], 1000 * float(found["T"].split()[0]))]
        case [a, sign, b]:
            return [Condition(sign, sounds[a] + sounds[b])]
        case [a, "<", b, "<", c]:
            return [Condition("<", sounds[a] + sounds[b]), Condition("<", sounds[b] + sounds[c])]
    raise AssertionError(meaning)


def _label(name: str) -> str:
    return name.replace(" ", "-")


def is_met(ask: Condition, heard: Spans) -> bool:
    """Return whether detected sounds meet a condition; raise ``AssertionError`` where they leave a doubt."""
    if ask.kind == "not there":
        return ask.sounds[0] not in heard
    if not all(sound in heard for sound in ask.sounds):
        return False
    if ask.kind == "there":
        return True
    start, end = heard[ask.sounds[0]]
    if ask.kind == ">=":
        return _is_above(ask.ms - EARLY, end - start)
    other_start, other_end = heard[ask.sounds[1]]
    if ask.kind == "&":
        return _is_above(SHARED, min(end, other_end) - max(start, other_start))
    return not _is_above(SHARED, end - other_start)


def _is_above(bound: float, measured: float) -> bool:
    assert abs(measured - bound) > DOUBTFUL, f"{measured} ms, asked about {bound} ms: who could tell?"
    return measured > bound
