"""Query sets: the complete-case rule and its counts, the order of pairs, shared captions, and matching of ids."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.query_sets import QueryItem, QueryPair, QuerySet, collect, from_dataset, positions
from pytest_audioretrieval.data.types import Caption, Dataset
from pytest_audioretrieval.errors import DataError


def item(name: str, source: str | None = None, **changed: str) -> QueryItem:
    forms = {form: f"{form} {name}" for form in FORMS} | changed
    return QueryItem(name, name, source or f"source {name}", forms)


def dataset(*captions: Caption) -> Dataset:
    return Dataset("mine", None, (), captions, fingerprint((), captions, merged=False))


def test_the_five_forms_stand_in_the_order_of_the_taxonomy() -> None:
    """The taxonomy is that of CORA, Appendix A.1."""
    assert FORMS == ("command", "question", "indirect", "key_phrase", "statement")


def test_pairs_go_item_by_item_in_the_order_of_the_forms() -> None:
    backwards = replace(item("b"), forms=dict(reversed(item("b").forms.items())))
    made = collect("s", [backwards, item("a")])
    assert made.pairs == tuple(QueryPair(i, form, f"{form} {name}") for i, name in enumerate("ba") for form in FORMS)
    assert made.clips == ("b", "a")
    assert (made.missing, made.excluded, made.notes) == ({}, (), {})


def test_an_item_that_lacks_a_form_is_left_out_counted_and_listed() -> None:
    """CORA, Section 4.1: an empty query excludes the item; so do a missing one and one of spaces here."""
    absent = replace(item("c"), forms={form: "x" for form in FORMS if form != "statement"})
    made = collect("s", [item("a"), item("b", indirect="  "), absent, item("d", indirect="", key_phrase="")])
    assert [i.id for i in made.items] == ["a"]
    assert made.excluded == ("b", "c", "d")
    assert made.missing == {"indirect": ("b", "d"), "key_phrase": ("d",), "statement": ("c",)}
    assert made.clips == ("a", "b", "c", "d"), "an excluded item's clip is still ranked"
    assert made.notes == {
        "items without a query of form indirect": 2,
        "items without a query of form key_phrase": 1,
        "items without a query of form statement": 1,
        "items left out because a form is missing (complete cases)": 3,
    }


def test_available_cases_keep_the_forms_there_are() -> None:
    nothing = replace(item("c"), forms={})
    made = collect("s", [item("a"), item("b", indirect=" "), nothing], cases="available")
    assert [i.id for i in made.items] == ["a", "b"]
    assert [pair.form for pair in made.pairs if pair.item == 1] == ["command", "question", "key_phrase", "statement"]
    assert made.excluded == ("c",)
    assert made.missing["indirect"] == ("b", "c")
    assert made.notes["items left out because no form is there (available cases)"] == 1


def test_queries_are_stripped() -> None:
    assert collect("s", [item("a", command=" find it \n")]).pairs[0].text == "find it"


def test_no_item_left_is_an_error_that_counts() -> None:
    with pytest.raises(DataError) as caught:
        collect("s", [item("a", indirect=""), item("b", indirect="", command="")])
    assert str(caught.value) == (
        "s: no item to ask among 2 (items that lack a form: command 1, indirect 2), "
        "expected all of command, question, indirect, key_phrase, statement for one item at least: "
        "write the missing queries"
    )
    with pytest.raises(DataError, match="no item to ask among 0"):
        collect("s", [])


def test_a_form_that_the_set_has_not_is_refused() -> None:
    with pytest.raises(DataError, match="item 'a' has the form 'tagging', expected only command, question"):
        collect("s", [item("a", tagging="x")])


def test_clips_with_the_very_same_source_are_also_relevant_and_counted() -> None:
    """The caption 'a woman speaking' belongs to 11 AudioCaps clips. The clip of an excluded item counts too."""
    lost = item("c", "rain", indirect="")
    made = collect("s", [item("a", "rain"), item("b", "Rain"), lost, item("d", "rain", command="command a")])
    assert {i.id: i.also_relevant for i in made.items} == {"a": ("c", "d"), "b": (), "d": ("a", "c")}
    assert made.notes["items whose source caption other clips have too"] == 2
    assert made.notes["queries that read the same for several clips"] == 2, "command a: asked for a and for d"


def test_two_items_of_one_clip_do_not_share_with_another_clip() -> None:
    first = item("a", "rain")
    made = collect("s", [first, replace(first, id="a2")])
    assert [i.also_relevant for i in made.items] == [(), ()]
    assert made.clips == ("a",)
    assert made.notes == {}


def test_positions_put_the_target_first() -> None:
    made = collect("s", [item("a", "rain"), item("b"), item("c", "rain")])
    assert positions(made, ["x", "c", "b", "a"]) == ((3, 1), (2,), (1, 3))


def test_ids_that_do_not_match_are_an_error_that_shows_both_sides() -> None:
    """A silent inner join on 'Santa Motor' and 'Santa Motor.wav' loses every query."""
    made = collect("s", [item("Santa Motor"), item("b", indirect=""), item("c")])
    with pytest.raises(DataError) as caught:
        positions(made, ["Santa Motor.wav", "c", "d", "e", "f"])
    assert str(caught.value) == (
        "s: 2 of 3 audio ids are not among the 5 clips that are ranked: 'Santa Motor', 'b' "
        "(1 of these match a clip but for the ending of its name); "
        "4 of those clips have no query: 'Santa Motor.wav', 'd', 'e', ...: "
        "spell the ids alike or load the dataset that the queries were written for"
    )


@pytest.mark.parametrize(
    ("asked", "ranked"), [("a", "a.wav"), ("a.wav", "a"), ("a.wav", "a.ogg"), ("v1.2", "v1.2.wav")]
)
def test_ids_that_differ_in_their_ending_are_hinted_at(asked: str, ranked: str) -> None:
    with pytest.raises(DataError, match=r"\(1 of these match a clip but for the ending of its name\)"):
        positions(collect("s", [item(asked)]), [ranked])
    with pytest.raises(DataError, match=r": 'b'; 1 of those clips have no query"):
        positions(collect("s", [item("b")]), [ranked])


def test_a_dataset_s_captions_with_forms_become_items() -> None:
    asked = dict(item("a").forms)
    made = from_dataset(
        dataset(
            Caption("a#0", "rain", "a", asked),
            Caption("a#1", "wind", "a"),
            Caption("b#0", "rain", "b"),
            Caption("b#1", "dogs", "b", {**asked, "statement": "dogs bark"}),
            Caption("c#0", "cats", "c", {"command": "find cats"}),
        )
    )
    assert [(i.id, i.clip, i.source, i.also_relevant) for i in made.items] == [
        ("a#0", "a", "rain", ("b",)),
        ("b#1", "b", "dogs", ()),
    ]
    assert made.name == "mine"
    assert made.excluded == ("c#0",)
    assert made.notes["captions without any form, not asked"] == 2
    assert made.notes["queries that read the same for several clips"] == 8, "four forms of a#0 and of b#1"


def test_the_order_in_which_forms_were_made_does_not_change_a_dataset() -> None:
    forms = item("a").forms
    one, other = (
        dataset(Caption("a#0", "rain", "a", dict(order))) for order in (forms.items(), reversed(forms.items()))
    )
    assert one.fingerprint == other.fingerprint != dataset(Caption("a#0", "rain", "a")).fingerprint


def test_a_dataset_without_forms_says_what_to_add() -> None:
    with pytest.raises(DataError, match=r"mine: no caption has forms: add 'forms' \(command, question"):
        from_dataset(dataset(Caption("a#0", "rain", "a")))


lacks = st.lists(st.sets(st.sampled_from(FORMS)), min_size=1, max_size=12)


@pytest.mark.slow
@given(lacks)
def test_every_item_and_query_is_accounted_for(holes: list[set[str]]) -> None:
    """Kept and excluded items are all items; pairs and missing queries are items times forms."""
    items = [item(str(n), **dict.fromkeys(hole, "")) for n, hole in enumerate(holes)]
    made: dict[str, QuerySet] = {}
    for cases, enough in (("complete", not all(holes)), ("available", any(len(hole) < 5 for hole in holes))):
        if not enough:
            with pytest.raises(DataError, match="no item to ask"):
                collect("s", items, cases=cases)  # type: ignore[arg-type]
            continue
        made[cases] = collect("s", items, cases=cases)  # type: ignore[arg-type]
        kept = [i.id for i in made[cases].items]
        assert sorted([*kept, *made[cases].excluded], key=int) == [i.id for i in items]
        assert sum(map(len, made[cases].missing.values())) == sum(map(len, holes))
    if "complete" in made:
        assert len(made["complete"].pairs) == 5 * sum(not hole for hole in holes)
        assert {i.id for i in made["complete"].items} <= {i.id for i in made["available"].items}
    if "available" in made:
        assert len(made["available"].pairs) == sum(5 - len(hole) for hole in holes)
