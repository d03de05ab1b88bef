"""Captions made from annotations: two templates, the attribute swap and the paraphrase (MASB, 2.1 and Exp. 3).

The caption templates are printed in the paper; its "fixed synonym map" and the wordings of the paraphrases are read off
the released captions (github.com/barry-mir/music-clap-bow, CC BY 4.0), articles that do not agree included.
"""

from __future__ import annotations

import re

from pytest_audioretrieval.benchmarks.masb.caption_set import STYLES, CaptionSet, Style
from pytest_audioretrieval.benchmarks.masb.release.annotations import Annotation
from pytest_audioretrieval.benchmarks.masb.release.rows import Axis

TEMPLATES: dict[Axis, dict[Style, str]] = {
    "T": {
        "strict": "a {timbre_1} {inst_1} and a {timbre_2} {inst_2}",
        "natural": "the {inst_1} sounds {timbre_1} while the {inst_2} is {timbre_2}",
    },
    "R": {
        "strict": "the {inst_1} plays the melody while the {inst_2} accompanies",
        "natural": "the {inst_1} leads with the tune as the {inst_2} backs it",
    },
    "O": {
        "strict": "the {inst_1} enters before the {inst_2}",
        "natural": "first the {inst_1} comes in, then the {inst_2}",
    },
}
PARAPHRASES: dict[Axis, dict[Style, str]] = {
    "T": {
        "strict": "an {timbre_1} {inst_1} over a {timbre_2} {inst_2}",
        "natural": "the {inst_1} comes across as {timbre_1}, the {inst_2} as {timbre_2}",
    },
    "R": {
        "strict": "the melody is carried by the {inst_1}, with the {inst_2} providing accompaniment",
        "natural": "the {inst_1} takes the lead line and the {inst_2} plays the supporting part",
    },
    "O": {
        "strict": "the {inst_1} comes in earlier than the {inst_2}",
        "natural": "the {inst_1} starts first and the {inst_2} joins afterward",
    },
}
#: Timbre -> its word in a paraphrase; any other timbre keeps its word.
SYNONYMS = {
    "ambient": "atmospheric",
    "bouncy": "springy",
    "bright": "trebly",
    "clean": "cleanly played",
    "crisp": "sharp-edged",
    "dark": "muffled-toned",
    "distorted": "overdriven",
    "gritty": "grainy",
    "mellow": "gentle-toned",
    "muted": "damped",
    "punchy": "percussive",
    "smooth": "silky",
    "soft": "softly played",
    "warm": "rounded",
}


def captions_of(annotation: Annotation) -> dict[Style, CaptionSet]:
    """Return both captions of a recording, with swap and paraphrase.

    The swap exchanges the timbres (T) or the instruments (R, O) inside the template.
    """
    words: dict[str, str] = {name: getattr(annotation, name) for name in ("inst_1", "inst_2", "timbre_1", "timbre_2")}
    one, two = ("timbre_1", "timbre_2") if annotation.axis == "T" else ("inst_1", "inst_2")
    swapped = {**words, one: words[two], two: words[one]}
    reworded = {name: SYNONYMS.get(word, word) if name.startswith("timbre") else word for name, word in words.items()}
    caption, paraphrase = TEMPLATES[annotation.axis], PARAPHRASES[annotation.axis]
    return {
        style: CaptionSet(
            caption[style].format_map(words),
            caption[style].format_map(swapped),
            paraphrase[style].format_map(reworded),
        )
        for style in STYLES
    }


def same_words(text: str, swap: str) -> bool:
    """Return whether two texts hold the same words equally often, in any order, case and punctuation."""
    return _words(text) == _words(swap)


def _words(text: str) -> list[str]:
    return sorted(re.findall(r"[\w'-]+", text.casefold()))
