"""Captions of two instruments and their timbres, without audio, for text distances alone (after MASB, Exp. 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from pytest_audioretrieval.benchmarks.masb.builtin.recipe import LONE
from pytest_audioretrieval.benchmarks.masb.builtin.wording import Form
from pytest_audioretrieval.benchmarks.masb.caption_set import CaptionSet, Style
from pytest_audioretrieval.data.sounds.recipe import draw, shuffled

INSTRUMENTS = (
    "guitar",
    "piano",
    "violin",
    "cello",
    "flute",
    "trumpet",
    "clarinet",
    "saxophone",
    "harp",
    "banjo",
    "marimba",
    "trombone",
    "bassoon",
    "mandolin",
)

#: Timbre -> synonym; none begins with a vowel, so that "a" fits all.
TIMBRES = {
    "bright": "brilliant",
    "clean": "pure",
    "dark": "gloomy",
    "distorted": "fuzzy",
    "full": "rich",
    "harsh": "rough",
    "hollow": "boxy",
    "metallic": "tinny",
    "muffled": "dull",
    "nasal": "reedy",
    "sharp": "piercing",
    "soft": "gentle",
    "thin": "slender",
    "warm": "mellow",
}

FORMS: dict[Style, Form] = {
    "strict": Form("a {x} {i} and a {y} {j}", "a {x} {i} together with a {y} {j}"),
    "natural": Form("the {i} sounds {x} and the {j} sounds {y}", "the {i} has a {x} tone and the {j} a {y} one"),
}


def timbre_captions() -> Iterator[tuple[str, Style, CaptionSet]]:
    """Yield couple, style and captions of couples of instruments, each in both styles."""
    couples = shuffled(list(combinations(INSTRUMENTS, 2)), "binding/timbre/instruments")[:LONE]
    timbres = shuffled(list(combinations(TIMBRES, 2)), "binding/timbre/adjectives")[:LONE]
    for (i, j), drawn in zip(couples, timbres, strict=True):
        x, y = drawn[::-1] if draw(f"binding/timbre/{i}+{j}", 2) else drawn
        for style, form in FORMS.items():
            caption, swap = form.text.format(x=x, y=y, i=i, j=j), form.text.format(x=y, y=x, i=i, j=j)
            paraphrase = form.synonym.format(x=TIMBRES[x], y=TIMBRES[y], i=i, j=j)
            yield f"{i}+{j}", style, CaptionSet(caption, swap, paraphrase)
