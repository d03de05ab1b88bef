from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.pools import QueriedDataset, pools, with_queries
from pytest_audioretrieval.errors import DataError, SpecError
from tests.benchmarks.cora.analyses.planted import FORMS, ask, dataset

RAIN = {"a": ["rain falls", "it pours"], "b": ["a dog barks"], "c": ["rain falls"]}
CARS = {"a": ["rain falls"], "b": ["a car passes"]}


def test_each_dataset_is_a_pool_by_itself() -> None:
    rain, cars = pools([ask("rain", RAIN), ask("cars", CARS)])
    assert [clip.id for clip in rain.dataset.clips] == ["rain::a", "rain::b", "rain::c"]
    assert [clip.id for clip in cars.dataset.clips] == ["cars::a", "cars::b"]
    assert [(item.id, item.clip, item.also_relevant) for item in rain.queries.items] == [
        ("rain::a#0", "rain::a", ("rain::c",)),
        ("rain::a#1", "rain::a", ()),
        ("rain::b#0", "rain::b", ()),
        ("rain::c#0", "rain::c", ("rain::a",)),
    ]
    assert cars.name_of == {"cars::a#0": "cars", "cars::b#0": "cars"}
    assert cars.cluster_of == {"cars::a": "cars::a", "cars::b": "cars::b"}


def test_pooled_clips_of_another_dataset_with_the_same_caption_are_relevant_too() -> None:
    (pool,) = pools([ask("rain", RAIN), ask("cars", CARS)], pooled=True)
    assert [clip.id for clip in pool.dataset.clips] == ["rain::a", "rain::b", "rain::c", "cars::a", "cars::b"]
    right = {item.id: item.also_relevant for item in pool.queries.items}
    assert right["rain::a#0"] == ("rain::c", "cars::a")
    assert right["cars::a#0"] == ("rain::a", "rain::c")
    assert right["cars::b#0"] == ()
    assert pool.queries.clips == tuple(clip.id for clip in pool.dataset.clips)
    assert {pool.name_of[item] for item in right} == {"rain", "cars"}


def test_a_caption_that_is_not_asked_is_known_in_the_pool() -> None:
    cars = ask("cars", CARS)
    silent = QueriedDataset(cars.dataset, replace(cars.queries, items=cars.queries.items[1:]))
    (pool,) = pools([ask("rain", RAIN), silent], pooled=True)
    assert pool.queries.items[0].also_relevant == ("rain::c", "cars::a")


def test_merged_captions_tie_their_clips_to_one_cluster() -> None:
    for pooled in (False, True):
        first = pools([ask("rain", RAIN, merge=True), ask("cars", CARS)], pooled=pooled)[0]
        clusters = {clip: first.cluster_of[clip] for clip in ("rain::a", "rain::b", "rain::c")}
        assert clusters == {"rain::a": "rain::a", "rain::b": "rain::b", "rain::c": "rain::a"}


def test_captions_without_forms_are_reformulated_and_given_forms_stay() -> None:
    given = dataset("rain", RAIN)
    assert with_queries(given).queries.items[0].forms["command"] == "rain falls, command"
    bare = replace(given, captions=tuple(replace(caption, forms={}) for caption in given.captions))
    found = with_queries(bare).queries.items[0].forms
    assert tuple(found) == FORMS
    assert all("rain" in text.lower() for text in found.values())


def test_names_stand_for_one_dataset() -> None:
    with pytest.raises(SpecError, match="two datasets are called 'rain'"):
        pools([ask("rain", RAIN), ask("rain", CARS)])


def test_different_forms_have_pools_of_their_own_but_none_together() -> None:
    cars = ask("cars", CARS)
    other = QueriedDataset(cars.dataset, replace(cars.queries, forms=("tagging",), items=()))
    assert len(pools([ask("rain", RAIN), other])) == 2
    with pytest.raises(DataError, match="command, question, indirect, key_phrase, statement and tagging"):
        pools([ask("rain", RAIN), other], pooled=True)
