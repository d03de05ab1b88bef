from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.pairs import Pairs, check_varies, effects_note, measure
from pytest_audioretrieval.benchmarks.cora.analyses.pools import pools
from pytest_audioretrieval.errors import DataError, SpecError
from tests.benchmarks.cora.analyses.planted import FORMS, VectorModel, ask, hashed, make_pairs, random_pairs

RAIN = {f"r{i}": [f"rain {i}", f"shower {i}"] for i in range(5)} | {"twin": ["rain 0"]}
CARS = {f"c{i}": [f"car {i}"] for i in range(4)} | {"wet": ["rain 0"]}
GIVEN = [ask("rain", RAIN), ask("cars", CARS)]


def brute(
    model: str, candidates: list[tuple[str, str]], dataset: str, item: tuple[str, str], form: str
) -> dict[str, Any]:
    """Compute one pair from the definitions: ``candidates`` are (dataset, clip), ``item`` is (clip, caption)."""
    clip, text = item
    captions = {"rain": RAIN, "cars": CARS}
    others = [c for c in candidates if text in captions[c[0]][c[1]] and c != (dataset, clip)]
    pool = [c for c in candidates if c not in others]
    target = pool.index((dataset, clip))

    def vector(what: str) -> np.ndarray:
        found = hashed(f"{model} {what}")
        return found / np.linalg.norm(found)

    def stand(query: np.ndarray) -> tuple[np.ndarray, int, float]:
        scores = np.array([query @ vector(f"sound of {d} {c}") for d, c in pool])
        return scores, 1 + int((scores > scores[target]).sum()), np.delete(scores, target).max()

    old, new = vector(text), vector(f"{text}, {form}")
    (before, source_rank, rival), (after, rank, new_rival) = stand(old), stand(new)
    tal = before[target] - after[target]
    return {
        "source_rank": source_rank,
        "rank": rank,
        "rank_drop": rank - source_rank,
        "move": 1 - old @ new,
        "tal": tal,
        "hnp": new_rival - rival,
        "tbmd": tal + new_rival - rival,
        "pool": len(candidates),
    }


@pytest.mark.parametrize("pooled", [False, True], ids=["per-dataset", "pooled"])
def test_pairs_are_what_their_definitions_say(pooled: bool) -> None:
    models = [VectorModel(name, lambda text, name=name: hashed(f"{name} {text}")) for name in ("m1", "m2")]
    found = measure(models, pools(GIVEN, pooled=pooled))
    everything = [("rain", clip) for clip in RAIN] + [("cars", clip) for clip in CARS]
    expected = [
        {"model": model, "dataset": name, "form": form, "item": f"{name}::{clip}#{number}", "clip": f"{name}::{clip}"}
        | brute(model, [c for c in everything if pooled or c[0] == name], name, (clip, text), form)
        for model in ("m1", "m2")
        for name, captions in (("rain", RAIN), ("cars", CARS))
        for clip, texts in captions.items()
        for number, text in enumerate(texts)
        for form in FORMS
    ]
    assert len(found) == len(expected) == 2 * (11 + 5) * 5
    for column in ("model", "dataset", "form", "item", "clip", "source_rank", "rank", "rank_drop", "pool"):
        assert getattr(found, column).tolist() == [row[column] for row in expected], column
    for column in ("move", "tal", "hnp", "tbmd"):
        np.testing.assert_allclose(getattr(found, column), [row[column] for row in expected], atol=1e-6)
    assert len(set(found.rank_drop.tolist())) > 5


def test_the_two_candidate_sets_differ_in_ranks_and_not_in_move_or_tal() -> None:
    alone, together = (measure([VectorModel("m")], pools(GIVEN, pooled=pooled)) for pooled in (False, True))
    np.testing.assert_array_equal(alone.item, together.item)
    np.testing.assert_allclose(alone.tal, together.tal)
    np.testing.assert_allclose(alone.move, together.move)
    assert (together.rank >= alone.rank).all()
    assert (together.rank > alone.rank).any()
    assert set(together.pool.tolist()) == {11}


def test_clips_that_merged_captions_tie_are_one_cluster() -> None:
    found = measure([VectorModel("m")], pools([ask("rain", RAIN, merge=True)]))
    clusters = dict(zip(found.item.tolist(), found.clip.tolist(), strict=True))
    assert (clusters["rain::twin#0"], clusters["rain::r0#0"], clusters["rain::r1#0"]) == (
        "rain::r0", "rain::r0", "rain::r1",
    )  # fmt: skip


def test_groups_hold_every_pair_once_sorted() -> None:
    pairs = random_pairs(200)
    keys, parts = zip(*pairs.groups("dataset", "form"), strict=True)
    assert keys == tuple(sorted({(d, f) for d in ("x", "y") for f in FORMS}))
    assert sum(map(len, parts)) == len(pairs)
    assert all(set(part.dataset) == {d} and set(part.form) == {f} for (d, f), part in zip(keys, parts, strict=True))
    ((key, whole),) = pairs.groups()
    assert key == ()
    np.testing.assert_array_equal(whole.tal, pairs.tal)
    assert pairs.levels("form") == sorted(FORMS)


def test_where_takes_all_columns_along() -> None:
    kept = make_pairs(rank_drop=[1, 2, 3], tal=[0.1, 0.2, 0.3]).where(np.array([True, False, True]))
    assert isinstance(kept, Pairs)
    assert (kept.rank_drop.tolist(), kept.tal.tolist(), len(kept)) == ([1, 3], [0.1, 0.3], 2)


def test_what_cannot_be_measured() -> None:
    with pytest.raises(SpecError, match="two models are called 'm'"):
        measure([VectorModel("m"), VectorModel("m")], pools(GIVEN))
    with pytest.raises(SpecError, match="no model to ask"):
        measure([], pools(GIVEN))
    with pytest.raises(DataError, match="no dataset to ask about"):
        measure([VectorModel("m")], [])


def test_labels_that_do_not_vary() -> None:
    pairs = make_pairs(model=["a", "b"], dataset="d", rank_drop=[0, 0])
    check_varies(pairs, "model")
    with pytest.raises(DataError, match="all pairs are of one dataset, d"):
        check_varies(pairs, "model", "dataset")
    assert effects_note(pairs, "dataset", "model", "form") == "no effect of: one dataset, d; one form, form"
    assert effects_note(pairs, "model") == ""
