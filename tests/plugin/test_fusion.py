"""``--model 'fusion:RULE(A,B)'``: recorded, judged and refused as any model is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_audioretrieval import evaluate, load_dataset, load_retriever
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.runs import baselines
from tests.plugin.toys import CAPTIONS, CLIPS, Project, counts, has_traceback

#: Each mistakes other clips, and is not sure of any.
PAIR = """
import re
from toy import Toy, hashed, unit

class Half(Toy):
    turn = 0

    def embed_text(self, texts, protocol):
        numbers = [int(re.search(r"[0-9]+", text).group()) for text in texts]
        sure = [0.6 if n % 2 == self.turn else 0.1 for n in numbers]
        return unit([s * hashed(f"clip {n}") + hashed(f"{self.turn} {t}") for s, n, t in zip(sure, numbers, texts)])

class Even(Half):
    pass

class Odd(Half):
    turn = 1
"""
EVEN_ODD = "fusion:avg-z(pair:Even,pair:Odd)"


@pytest.fixture
def pair(project: Project) -> Project:
    project.pytester.makepyfile(pair=PAIR)
    return project


def scaled(rule: str, scores: np.ndarray) -> np.ndarray:
    if rule == "avg-z":
        return (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return (scores - low) / (high - low)


@pytest.mark.parametrize("direction", ["t2a", "a2t"])
@pytest.mark.parametrize("rule", ["avg-z", "avg-minmax"])
def test_ranks_are_those_of_fused_scores(pair: Project, clips: Path, rule: str, direction: str) -> None:
    pair.monkeypatch.syspath_prepend(str(pair.path))
    dataset, owner = load_dataset(clips), np.arange(CLIPS * CAPTIONS) // CAPTIONS
    texts, sounds = [c.text for c in dataset.captions], [np.full(480, n / 64, np.float32) for n in range(1, CLIPS + 1)]
    total = 0
    for name in ("pair:Even", "pair:Odd"):
        model = load_retriever(name)
        scores = model.embed_text(texts, Protocol()) @ model.embed_audio(sounds, Protocol()).T
        total = total + scaled(rule, (scores if direction == "t2a" else scores.T).astype(np.float64))
    run = evaluate(EVEN_ODD.replace("avg-z", rule), dataset, direction)  # type: ignore[arg-type]
    right = owner[:, None] == np.arange(CLIPS)
    right = right if direction == "t2a" else right.T
    best = np.where(right, total, -np.inf).max(axis=1, keepdims=True)  # type: ignore[call-overload]
    wanted = 1 + ((total > best) & ~right).sum(axis=1)
    np.testing.assert_array_equal(run.queries.first_hit_rank, wanted)
    assert len(set(run.queries.first_hit_rank)) > 3, "neither perfect nor useless"
    assert (run.model.id, run.environment["device"]) == (EVEN_ODD.replace("avg-z", rule), "cpu")
    alone = [evaluate(name, dataset, direction).metrics["mrr"] for name in ("pair:Even", "pair:Odd")]  # type: ignore[arg-type]
    assert run.metrics["mrr"] > max(alone)


def test_recorded_and_judged(pair: Project) -> None:
    model = ("--model", EVEN_ODD, "test_toys.py")
    result = pair.run(*model, "--retrieval-record", "new")
    assert (result.ret, counts(result)) == (0, {"recorded": 3})
    (name,) = pair.stored()
    assert name == "toys/t2a/fusion%3Aavg-z%28pair%3AEven%2Cpair%3AOdd%29.json"
    run = baselines.read(pair.path / "baselines" / name)
    assert (run.model.id, run.model.revision) == (EVEN_ODD, None)
    result = pair.run(*model)
    assert (result.ret, counts(result)) == (0, {"passed": 3})
    assert f"{EVEN_ODD} on toys t2a" in result.outlines


def test_a_fusion_and_its_parts_in_one_run_embed_each_part_once(pair: Project) -> None:
    pair.run(
        "--model",
        "toy:Toy",
        "--model",
        "fusion:avg-z(toy:Toy,toy:Other)",
        "--retrieval-no-cache",
        "test_toys.py",
        "--retrieval-record",
        "new",
    )
    assert pair.logged().count("load") == 2


def test_the_command_of_a_missing_baseline_can_be_pasted(pair: Project) -> None:
    result = pair.run("--model", EVEN_ODD, "test_toys.py")
    result.stdout.fnmatch_lines(
        [f"BaselineError: no baseline of {EVEN_ODD} on toys t2a in baselines: record one with: "
         f"pytest --model '{EVEN_ODD}' test_toys.py --retrieval-record new"]
    )  # fmt: skip


def test_a_suite_that_needs_a_retriever_says_so_in_one_line(pair: Project) -> None:
    result = pair.run("--model", EVEN_ODD, "--retrieval-suite", "protocol")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*SpecError: {EVEN_ODD} fuses the scores of rankings, and has no vectors *"])
    assert not has_traceback(result)


@pytest.mark.parametrize("text", ["fusion:avg-z(toy:Toy)", "fusion:mean(toy:Toy,toy:Other)"])
def test_a_wrong_fusion_ends_pytest_before_anything_is_collected(project: Project, text: str) -> None:
    result = project.run("--model", text)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: model '{text}' is no fusion, expected fusion:RULE(SPEC,SPEC,...), RULE one of avg-z, *"]
    )


def test_parts_of_one_name_in_two_places_are_two_models(project: Project) -> None:
    """Two fusions would share their id, and so their vectors and their baseline."""
    for folder in ("one/ckpt", "two/ckpt"):
        (project.path / folder).mkdir(parents=True)
    models = [word for folder in ("one", "two") for word in ("--model", f"fusion:avg-z(./{folder}/ckpt,toy:Toy)")]
    result = project.run("--collect-only", *models, "test_toys.py")
    assert result.ret != 0
    assert any("two models are called 'ckpt'" in line for line in (*result.outlines, *result.errlines))
    assert not has_traceback(result)


FLAT = """
from toy import Toy, hashed, unit

class Flat(Toy):
    def embed_audio(self, windows, protocol):
        return unit([hashed("any clip")] * len(windows))
"""


def test_a_retriever_that_scores_all_alike_is_one_line(project: Project) -> None:
    project.pytester.makepyfile(flat=FLAT)
    result = project.run("--model", "fusion:avg-z(toy:Toy,flat:Flat)", "test_toys.py")
    result.stdout.fnmatch_lines(
        ["DataError: query 0 scores all 40 candidates alike, so avg-z cannot scale it, expected *: leave that*"]
    )
    assert not has_traceback(result)
