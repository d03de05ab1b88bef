"""The saliency audit of a whole dataset, on a built-in checkpoint with clips made of vectors."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.pools import with_queries
from pytest_audioretrieval.benchmarks.cora.analyses.saliency import (
    BOUNDARY,
    SENTENCES,
    Audit,
    audit,
    feature_sets,
    predict,
    saliency_tables,
)
from pytest_audioretrieval.data.reformulate.groups import grouped
from pytest_audioretrieval.data.sounds import recipe, wording
from pytest_audioretrieval.data.types import Caption, Clip, Dataset
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.pinning.protocol import NAMED
from pytest_audioretrieval.pinning.spec import BUILTIN
from pytest_audioretrieval.runs.directions.forms import with_forms

pytestmark = pytest.mark.slow

CLIPS = 40


class Tower(SingleModel):
    """A ``SingleModel`` whose clips resemble their captions; its texts are embedded by the model."""

    def __init__(self, model: Any, dataset: Dataset) -> None:
        super().__init__(SimpleNamespace(id="toy"), SimpleNamespace(protocol=NAMED["short-clip"]))  # type: ignore[arg-type]
        self.model, self.asked = model, list[str]()
        self._texts = {caption.clip: caption.text for caption in dataset.captions}

    @property
    def retriever(self) -> Any:
        return self.model

    def texts(self, texts: list[str]) -> Any:
        self.asked = list(texts)
        return self.retriever.embed_text(texts, self.resources.protocol)

    def clips(self, clips: tuple[Clip, ...]) -> Any:
        vectors = self.retriever.embed_text([self._texts[clip.id] for clip in clips], self.resources.protocol)
        noise = np.random.default_rng(0).standard_normal(vectors.shape)
        noisy = vectors + 0.04 * noise.astype(np.float32)
        return noisy / np.linalg.norm(noisy, axis=1, keepdims=True)

    def sides(self, queries: Any, candidates: Any) -> Any:
        return np.concatenate([self.texts(part) for part in queries]), self.clips(candidates[0])


def dataset() -> Dataset:
    clips = tuple(Clip(f"c{i}", f"{i}", lambda: None) for i in range(CLIPS))  # type: ignore[arg-type,return-value]
    texts = [wording.captions(clip, "test")[0] for clip in recipe.compositions("test")[:CLIPS]]
    captions = tuple(Caption(f"c{i}#0", text, f"c{i}") for i, text in enumerate(texts))
    return Dataset("toy-set", None, clips, captions, "")


@pytest.fixture(scope="module")
def tower() -> Tower:
    return Tower(Clap(BUILTIN / "tiny-clap-fused", device="cpu"), dataset())


@pytest.fixture(scope="module")
def found(tower: Tower) -> Audit:
    return audit(tower, dataset(), per_stratum=5, seed=1)  # type: ignore[arg-type]


def test_strata_are_forms_and_rank_groups(found: Audit) -> None:
    worse = found.rank > found.source_rank
    counts = Counter(zip(found.fixed["form"], worse.tolist(), strict=True))
    assert set(counts) == {(form, side) for form in SENTENCES for side in (False, True)}
    assert set(counts.values()) == {5}
    assert {name: set(values) for name, values in found.fixed.items()} == {
        "dataset": {"toy-set"},
        "model": {"toy"},
        "form": set(SENTENCES),
    }
    assert found.cut == 0
    assert all(clip.startswith("toy-set::c") for clip in found.clip)


def test_margins_are_those_of_the_scores(tower: Tower, found: Audit) -> None:
    """A margin above 0 is rank 1, and TBMD is the loss of margin."""
    assert ((found.margin > 0) == (found.rank == 1)).all()
    given = with_forms(dataset())
    vectors, candidates = tower.texts([c.text for c in given.captions]), tower.clips(given.clips)
    scores = vectors @ candidates.T
    own = np.diag(scores).copy()
    np.fill_diagonal(scores, -2)
    source = dict(zip((f"toy-set::{c.clip}" for c in given.captions), own - scores.max(axis=1), strict=True))
    lost = [source[clip] - margin for clip, margin in zip(found.clip, found.margin, strict=True)]
    np.testing.assert_allclose(found.boundary["tbmd"], lost, atol=1e-5)


def test_masses_add_up_and_every_group_has_some(found: Audit) -> None:
    np.testing.assert_allclose(sum(found.masses.values()), 1, atol=1e-6)
    assert list(found.masses) == [f"{n}{s}" for n in ("content", "intent", "form", "special") for s in "+-"]
    assert all(values.max() > 0.01 for values in found.masses.values())
    # A statement of the caption itself has nobody asking.
    plain = [
        c.forms["statement"]
        for c in with_forms(dataset()).captions
        if all(w.group != "intent" for w in grouped(c.forms["statement"]))
    ]
    statements = np.array(found.fixed["form"]) == "statement"
    intent = found.masses["intent+"] + found.masses["intent-"]
    assert plain
    assert intent[~statements].min() > 0
    assert intent[statements].min() == 0


def test_the_table_is_of_the_sample(found: Audit) -> None:
    table = found.table
    assert [group.pairs for group in table.values()] == [20, 20]
    worse = found.rank > found.source_rank
    assert table["worsened"].mean_rd == (found.rank - found.source_rank)[worse].mean() > 0
    assert table["worsened"].mean_margin == pytest.approx(found.margin[worse].mean())
    assert table["worsened"].mean_margin < table["improved/stable"].mean_margin
    assert table["improved/stable"].masses["form-"] == pytest.approx(found.masses["form-"][~worse].mean())


def test_the_seed_decides_the_sample(tower: Tower, found: Audit) -> None:
    again, other = (audit(tower, dataset(), per_stratum=5, seed=seed) for seed in (1, 2))  # type: ignore[arg-type]
    assert again.clip == found.clip
    assert other.clip != found.clip


def test_feature_sets_are_those_of_table_23(found: Audit) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    sets = feature_sets([found, found])
    fixed, masses = {"dataset", "model", "form"}, set(found.masses)
    assert {name: set(rows[0]) for name, rows in sets.items()} == {
        "fixed effects only": fixed,
        "query movement": fixed | {"move"},
        "token-group saliency": fixed | masses,
        "boundary features": fixed | set(BOUNDARY),
        "boundary + token saliency": fixed | set(BOUNDARY) | masses,
    }
    assert {len(rows) for rows in sets.values()} == {80}
    scores = predict([found])
    assert list(scores) == list(sets)
    assert scores["boundary features"].pearson > scores["fixed effects only"].pearson


def test_another_model_than_clap_is_refused() -> None:
    with pytest.raises(ModelError, match="toy is no CLAP of transformers"):
        audit(Tower(object(), dataset()), dataset())  # type: ignore[arg-type]


def test_a_model_without_gradients_leaves_the_others_their_tables(tower: Tower) -> None:
    other = Tower(object(), dataset())
    other.spec = SimpleNamespace(id="other")
    given = [with_queries(dataset())]
    masses, scores = saliency_tables([other, tower], given)  # type: ignore[list-item]
    assert {row[1] for row in masses.rows} == {"toy"}
    assert masses.note.startswith("other is no CLAP of transformers")
    assert len(scores.rows) == 5
    (none,) = saliency_tables([other], given)  # type: ignore[list-item]
    assert (none.rows, none.note[:40]) == ((), "does not apply: other is no CLAP of tran")
