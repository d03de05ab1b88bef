"""Captions of a composition in varied natural wording: the sounds, and their order."""

from __future__ import annotations

from pytest_audioretrieval.data.sounds.recipe import Composition, Split, draw, shuffled
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS

ALONE = ("{a}", "only {a}", "{a} and nothing else", "the sound of {a}", "{a} can be heard", "a recording of {a}")

TOGETHER = (
    "{a} and {b} at the same time",
    "{a} together with {b}",
    "{a} over {b}",
    "{a} at once with {b}",
    "{a} mixed with {b}",
    "{a} and {b} sounding together",
    "{a} along with {b}, simultaneously",
)

TOGETHER_THREE = (
    "{a}, {b} and {c} at the same time",
    "{a} together with {b} and {c}",
    "{a}, {b} and {c} all at once",
    "{a} mixed with {b} and {c}",
    "{a}, {b} and {c} sounding together",
)

#: Two moments in order; ``{a}`` is heard first.
SEQUENCE = (
    "{a}, then {b}",
    "{a} followed by {b}",
    "first {a}, then {b}",
    "{a} and afterwards {b}",
    "{a} before {b}",
    "{b} after {a}",
    "{a}, next {b}",
    "after {a}, one hears {b}",
    "{b}, preceded by {a}",
    "it starts with {a} and ends with {b}",
)

SEQUENCE_THREE = (
    "{a}, then {b}, then {c}",
    "{a} followed by {b} and then {c}",
    "first {a}, then {b}, and finally {c}",
    "{a}, next {b}, and at last {c}",
    "{a} before {b}, with {c} at the end",
    "it starts with {a}, goes on with {b} and ends with {c}",
    "after {a}, one hears {b} and later {c}",
    "{c} at the end, {b} in the middle, {a} at the start",
)


def captions(composition: Composition, split: Split, count: int = 3, phrases: int = 4) -> list[str]:
    """Return captions with different sentence forms, from the first ``phrases`` wordings of each recording.

    There are ``count``, or as many as the composition has forms: 6 for one sound, 7 or 5 for two or three at once,
    10 or 8 for two or three moments. The same arguments always give the same captions.
    """
    key = f"{split}/{composition!r}"
    forms = shuffled(_forms(composition), f"{key}/form")[:count]
    return [_fill(form, composition, f"{key}/{number}", phrases) for number, form in enumerate(forms)]


def every_caption_word() -> list[str]:
    """Return all forms and phrases, for a tokenizer's vocabulary."""
    phrases = [phrase for names in RECORDINGS.values() for phrase in names]
    return [*ALONE, *TOGETHER, *TOGETHER_THREE, *SEQUENCE, *SEQUENCE_THREE, *phrases]


def _forms(composition: Composition) -> list[str]:
    if len(composition) == 1:
        return list((ALONE, TOGETHER, TOGETHER_THREE)[len(composition[0]) - 1])
    return list(SEQUENCE if len(composition) == 2 else SEQUENCE_THREE)


def _fill(form: str, composition: Composition, key: str, phrases: int) -> str:
    if len(composition) == 1:
        parts = [_phrase(name, key, phrases) for name in shuffled(composition[0], f"{key}/swap")]
    else:
        parts = [_moment(moment, key, phrases) for moment in composition]
    return form.format(**dict(zip("abc", parts, strict=False)))


def _moment(moment: tuple[str, ...], key: str, phrases: int) -> str:
    """Return the words for one moment of a sequence; two sounds at once have their own form."""
    parts = [_phrase(name, key, phrases) for name in shuffled(moment, f"{key}/swap")]
    if len(parts) == 1:
        return parts[0]
    return ("{} together with {}", "{} over {}", "{} mixed with {}")[draw(f"{key}/both", 3)].format(*parts)


def _phrase(name: str, key: str, phrases: int) -> str:
    return RECORDINGS[name][draw(f"{key}/{name}/phrase", phrases)]
