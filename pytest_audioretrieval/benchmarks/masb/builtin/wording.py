"""Captions of a scene, their attribute swaps and paraphrases (after MASB, 2.1 and Exp. 3)."""

from __future__ import annotations

from typing import NamedTuple

from pytest_audioretrieval.benchmarks.masb.builtin.recipe import Phrasing, Property, Scene
from pytest_audioretrieval.benchmarks.masb.caption_set import CaptionSet, Style
from pytest_audioretrieval.data.sounds.recipe import draw
from pytest_audioretrieval.data.sounds.vocabulary import RECORDINGS


class Form(NamedTuple):
    """A sentence form and a synonymous form."""

    text: str
    synonym: str


#: Forms without a verb, so that they take names in singular and plural. The first of two names ``{more}`` first.
FORMS: dict[tuple[Property, Style], tuple[Form, Form]] = {
    ("order", "strict"): (
        Form("{more} before {less}", "{more} earlier than {less}"),
        Form("{less} after {more}", "{less} later than {more}"),
    ),
    ("order", "natural"): (
        Form("first {more}, then {less}", "at the start {more}, afterwards {less}"),
        Form("{less}, preceded by {more}", "{less}, following {more}"),
    ),
    ("loudness", "strict"): (
        Form("{more} louder than {less}", "{more} stronger in level than {less}"),
        Form("{less} quieter than {more}", "{less} weaker in level than {more}"),
    ),
    ("loudness", "natural"): (
        Form("{more} at a high volume and {less} at a low volume", "{more} heard loudly and {less} heard quietly"),
        Form("{less} at a low volume and {more} at a high volume", "{less} heard quietly and {more} heard loudly"),
    ),
    ("duration", "strict"): (
        Form("{more} longer than {less}", "{more} lasting more time than {less}"),
        Form("{less} shorter than {more}", "{less} lasting less time than {more}"),
    ),
    ("duration", "natural"): (
        Form("{more} for a long time and {less} only briefly", "{more} for a good while and {less} just for a moment"),
        Form("{less} only briefly and {more} for a long time", "{less} just for a moment and {more} for a good while"),
    ),
}


def caption_set(scene: Scene, phrasing: Phrasing) -> CaptionSet:
    """Return the captions of a scene; the mirrored scene has caption and swap exchanged.

    The paraphrase names each recording by its next phrase in ``RECORDINGS``.
    """
    form = FORMS[scene.axis, phrasing.style][0 if phrasing.more_first else 1]
    more, less = _name(scene, scene.more), _name(scene, scene.less)
    return CaptionSet(
        caption=form.text.format(more=more, less=less),
        swap=form.text.format(more=less, less=more),
        paraphrase=form.synonym.format(more=_name(scene, scene.more, 1), less=_name(scene, scene.less, 1)),
    )


def _name(scene: Scene, recording: str, further: int = 0) -> str:
    phrases = RECORDINGS[recording]
    return phrases[(draw(f"binding/{scene.couple}/{recording}", len(phrases)) + further) % len(phrases)]
