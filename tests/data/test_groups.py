"""CORA's three groups of query words, on sentences labelled by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.reformulate import reformulate
from pytest_audioretrieval.data.reformulate.groups import GROUPS, grouped
from pytest_audioretrieval.data.reformulate.openings import OPENINGS
from pytest_audioretrieval.data.reformulate.wrapper import wrapped
from pytest_audioretrieval.data.sounds import recipe, wording

#: Upper case is content, [brackets] are intent, the rest is function or form.
LABELLED = [
    # CORA, Table 10
    "would you be able to [help] me [locate] the [audio] where a TRAIN is RUNNING on TRAIN TRACKS and a STEAM ENGINE "
    "HORN is WHISTLING ?",
    "does the [recording] [feature] PIGEONS COOING , BIRD WINGS FLAPPING , GRAVEL SHUFFLING , and WOOD CLACKING ?",
    "[retrieve] SPEECH and LAUGHTER from many PEOPLE .",
    "many PEOPLE are SPEAKING and LAUGHING .",
    # words that open a query and name a sound
    "[hand] me a [sample] with a HAND CLAPPING .",
    "can you [hear] a HAND CLAPPING ?",
    "[play] me a PIANO PLAYING .",
    "[surface] any [audio] [containing] METAL on a HARD SURFACE",
    "[rank] first the [recording] of a TIME BOMB",
    "[find] HAPPY MUSIC",
    "we would be happy to [receive] a [recording] of HAPPY MUSIC .",
    "is there a [recording] in which CHILDREN PLAY in the DISTANCE ?",
    # 'sound' is intent wherever it stands (Appendix I), politeness is form
    "[locate] an AIRCRAFT ENGINE TAKING off [sound] , please",
    "excuse me , could you [show] me the [clip] of a MAN FILING METAL ?",
    "i'm curious whether you have a [recording] with a MAN SPEAKING , followed by APPLAUSE .",
    "there is a LOUD BANG and then a BABY CRIES REPEATEDLY .",
    "first a DOG BARKS , next a CAT'S MEOW is being DROWNED out",
    "i'd love to [hear] the ROBOT’S VOICE , which isn't LOUD .",
    "this [recording] [matches] the following [description] : someone SNORES",
]


def label(written: str) -> tuple[str, str]:
    if written.startswith("["):
        return written.strip("[]"), "intent"
    return written.lower(), "content" if written.upper() == written and written[0].isalpha() else "form"


@pytest.mark.parametrize("sentence", LABELLED)
def test_sentences_labelled_by_hand(sentence: str) -> None:
    expected = [label(written) for written in sentence.split()]
    query = " ".join(word for word, _ in expected)
    assert [(word.text, word.group) for word in grouped(query)] == expected
    capital = query[0].upper() + query[1:]
    assert [word.group for word in grouped(capital)] == [group for _, group in expected]


@pytest.mark.parametrize("form", list(OPENINGS))
def test_no_opening_has_content(form: str) -> None:
    for opening in OPENINGS[form]:
        query = " ".join(filter(None, (opening.lead, opening.container, opening.noun or opening.clause, "rain")))
        *words, last = grouped(query)
        assert not [word.text for word in words if word.group == "content"], query
        assert "intent" in {word.group for word in words} or opening.lead in ("Put on", "Is there"), query
        assert last.group == "content"


def captions() -> Iterator[str]:
    for clip in recipe.compositions("test")[:80]:
        yield from wording.captions(clip, "test")[:1]


@pytest.mark.slow
def test_all_forms_of_a_caption_have_the_same_content() -> None:
    """Only the way of asking changes between forms."""
    for caption in captions():
        expected = sorted(word.text.lower() for word in grouped(caption) if word.group == "content")
        for queries in (reformulate(caption, "k"), wrapped(caption)):
            for form in FORMS:
                found = [word.text.lower() for word in grouped(queries[form]) if word.group == "content"]
                assert sorted(found) == expected, (caption, queries[form])


@given(st.text(max_size=60))
def test_words_hold_everything_but_white_space(query: str) -> None:
    words = grouped(query)
    assert all(word.text == query[word.start : word.end] and word.group in GROUPS for word in words)
    assert "".join(word.text for word in words) == "".join(query.split())
    assert all(one.end <= two.start for one, two in pairwise(words))
