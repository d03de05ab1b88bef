"""Fusion of several retrievers: identity, device, and fused ranks."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.embedding.assembly import Answerers
from pytest_audioretrieval.embedding.fusion import Fusion, single
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.metrics.fusion import fuse
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import parse

RESOURCES = Resources(Protocol(), None, Tracker())
TEXT = "fusion:avg-z(m:A,m:B)"


class Part:
    """Embeds items, which are integers, by seeded draws; notes what it was asked."""

    resources = RESOURCES

    def __init__(self, digest: str, device: str = "cpu", seed: int = 0) -> None:
        self.identity, self.device, self.seed = ModelIdentity("part", None, digest), device, seed

    def sides(self, queries, candidates):
        return tuple(
            np.concatenate([self.unit(part, side) for part in group])
            for side, group in enumerate((queries, candidates))
        )

    def unit(self, items, side):
        rows = np.stack([np.random.default_rng((self.seed, side, item)).normal(size=6) for item in items])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fused(*parts: Part, text: str = TEXT) -> Fusion:
    return Fusion(parse(text), parts)  # type: ignore[arg-type]


def test_it_is_named_after_its_parts_and_known_by_their_weights() -> None:
    one = fused(Part("a" * 64), Part("b" * 64)).identity
    assert (one.id, one.revision) == (TEXT, None)
    assert len(one.weights_sha256) == 64
    others = [
        fused(Part("a" * 64), Part("c" * 64)).identity,
        fused(Part("c" * 64), Part("b" * 64)).identity,
        fused(Part("a" * 64), Part("b" * 64), text=TEXT.replace("avg-z", "avg-minmax")).identity,
    ]
    assert len({one.weights_sha256, *(other.weights_sha256 for other in others)}) == 4
    assert fused(Part("a" * 64), Part("b" * 64)).identity == one


def test_weights_that_one_part_does_not_know_are_not_known() -> None:
    assert fused(Part("a" * 64), Part("")).identity.weights_sha256 == ""


@pytest.mark.parametrize(
    ("devices", "shown"), [(("cpu", "cpu"), "cpu"), (("cuda:1", "cpu"), "cpu, cuda:1"), (("auto", "auto"), "auto")]
)
def test_its_device_is_where_its_parts_ran(devices: tuple[str, str], shown: str) -> None:
    assert fused(*(Part("a" * 64, device) for device in devices)).device == shown


def test_it_is_no_single_model() -> None:
    with pytest.raises(SpecError) as caught:
        single(fused(Part("a" * 64), Part("b" * 64)))
    found = f"{TEXT} fuses the scores of rankings, and has no vectors and no scores of pairs"
    assert str(caught.value) == f"{found}: name one of its parts"


def test_one_model_is_itself() -> None:
    model = SingleModel(parse("m:A"), RESOURCES)
    assert single(model) is model


@pytest.mark.parametrize("rule", ["avg-z", "avg-minmax"])
def test_sides_are_those_of_its_parts_fused(rule: str) -> None:
    parts = [Part("a" * 64, seed=1), Part("b" * 64, seed=2)]
    groups = ([[0, 1], [2]], [[3, 4, 5, 6]])
    queries, candidates = fused(*parts, text=TEXT.replace("avg-z", rule)).sides(*groups)
    assert (queries.shape, candidates.shape) == ((3, 12), (4, 12))
    wanted = fuse([part.sides(*groups) for part in parts], rule)
    np.testing.assert_array_equal(queries, wanted[0])
    np.testing.assert_array_equal(candidates, wanted[1])


def test_a_part_judged_by_itself_too_is_loaded_once() -> None:
    answerers = Answerers(RESOURCES)
    alone, together, other = answerers.named(["m:A", TEXT, "m:B"])
    assert isinstance(alone, SingleModel)
    assert isinstance(together, Fusion)
    assert [*together.parts] == [alone, other]
    assert together.parts[0] is alone
    assert together.resources is alone.resources is RESOURCES
    assert answerers.of(parse(TEXT)) is together
