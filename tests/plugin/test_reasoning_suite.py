"""Suite ``reasoning`` on a small corpus of tones: recorded, judged, and failed by a model that errs in one task."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_audioretrieval.benchmarks.reasonaudio.release.build import build
from tests.benchmarks.reasonaudio.corpus.tones import make_sounds
from tests.plugin.toys import Project, counts, failed, has_traceback

pytestmark = pytest.mark.slow

TASKS = ("negation", "order", "overlap", "duration", "mix")
ARGS = ("--retrieval-suite", "reasoning", "--model", "told:Told")
#: Three queries and six choices a task; a test a metric of each.
TESTS = 15

#: It has read the answers. ``HARMED=TASK`` lets it take for right what the wrong clip of a task's choices holds.
MODEL = """
import json, os
from pathlib import Path
import numpy as np, soundfile
from toy import Toy, unit

FOLDER = Path({folder!r})
CLIPS = sorted((FOLDER / "clips").glob("*.flac"))
PLACE = {{path.stem: place for place, path in enumerate(CLIPS)}}
CHOICES = [json.loads(line) for line in (FOLDER / "choices.jsonl").read_text().splitlines()]
QUERIES = [json.loads(line) for line in (FOLDER / "queries.jsonl").read_text().splitlines()]
RELEVANT = [line.split("\\t")[:2] for line in (FOLDER / "qrels.tsv").read_text().splitlines()[1:]]

def key(samples):
    return np.rint(np.asarray(samples[:96_000], dtype=np.float64) * 32_768).astype(np.int16).tobytes()

class Told(Toy):
    def __init__(self, *, device):
        self.known = {{key(soundfile.read(path)[0]): place for place, path in enumerate(CLIPS)}}
        assert len(self.known) == len(CLIPS)

    def embed_audio(self, windows, protocol):
        return unit([np.eye(len(CLIPS))[self.known[key(window)]] for window in windows])

    def embed_text(self, texts, protocol):
        right = [sorted(PLACE[clip] for clip in self.right(text)) for text in texts]
        return unit([np.eye(len(CLIPS))[places].sum(axis=0) for places in right])

    def right(self, text):
        asked = next(choice for choice in CHOICES if choice["text"] == text)
        if asked["task"] == os.environ.get("HARMED"):
            return {{asked["wrong"]}}
        ids = {{query["id"] for query in QUERIES if query["text"] == text}}
        return {{asked["right"], *(clip for query, clip in RELEVANT if query in ids)}}
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("reasoning")
    build(
        make_sounds(place / "sounds"), place / "tones", clips=100, queries=15, choices_per_task=6, seconds=4,
        workers=1, track=lambda items, what: items,
    )  # fmt: skip
    toml = place / "tones" / "dataset.toml"
    toml.write_text(toml.read_text().replace('"reasonaudio"', '"tones"', 1))
    return place / "tones"


@pytest.fixture
def told(project: Project, corpus: Path) -> Project:
    project.monkeypatch.delenv("HARMED", raising=False)
    project.pytester.makepyfile(told=MODEL.format(folder=str(corpus)))
    project.ini("retrieval_resamples = 1000", clips=corpus)
    return project


@pytest.fixture
def recorded(told: Project, corpus: Path) -> Project:
    """With a baseline, that the first test to want it records."""
    told.record_once(corpus.parent / "baselines", *ARGS)
    return told


def of_task(task: str) -> list[str]:
    """The tests that ask about a task, as pytest calls them."""
    found = [f"test_found[{task}-{metric}-told:Told-tones-t2a]" for metric in ("R@1", "ndcg@10")]
    return sorted([f"test_chosen_of_two[{task}-told:Told-tones-choice]", *found])


def findings(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["findings"]
    return found


def table(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if re.match(r"told:Told on |(\w+:\S+ ).*\]  ", line)]


def test_recorded_then_identical(told: Project) -> None:
    recorded = told.run(*ARGS, "--retrieval-record", "new")
    assert (recorded.ret, counts(recorded)) == (0, {"recorded": TESTS})
    stored = told.stored()
    assert sorted(stored) == ["tones/choice/told%3ATold.json", "tones/t2a/told%3ATold.json"]
    chosen = json.loads(stored["tones/choice/told%3ATold.json"])
    assert (chosen["dataset"]["queries"], chosen["metrics"]["accuracy"]) == (30, 1.0)
    assert json.loads(stored["tones/t2a/told%3ATold.json"])["metrics"]["order:ndcg@10"] == 1.0
    judged = told.run(*ARGS)
    assert (judged.ret, counts(judged)) == (0, {"passed": TESTS})
    assert sum(line.endswith(" identical") for line in judged.outlines) == TESTS


@pytest.mark.parametrize("task", TASKS)
def test_a_model_that_errs_in_one_task_fails_in_that_alone(recorded: Project, corpus: Path, task: str) -> None:
    recorded.monkeypatch.setenv("HARMED", task)
    result = recorded.run(*ARGS, "--retrieval-json", "out.json", "--retrieval-markdown", "out.md")
    assert failed(result.outlines) == of_task(task)
    assert not has_traceback(result)
    lost = {f["metric"]: f for f in findings(recorded.path / "out.json") if not f["holds"]}
    assert sorted(lost) == sorted(f"{task}:{metric}" for metric in ("R@1", "ndcg@10", "accuracy"))
    first, two = lost[f"{task}:R@1"], lost[f"{task}:accuracy"]
    assert (first["queries"], first["new_value"], first["baseline_value"]) == (3, 0, 1)
    assert (two["queries"], two["new_value"], two["baseline_value"]) == (6, 0, 1)
    broken = _kinds(corpus, task)
    for finding in (first, two):
        assert finding["causes"][0].removesuffix(" breaks") in broken
        assert {loser["why"].partition(":")[0] for loser in finding["losers"]} <= broken
        _check_examples(finding, corpus)
    markdown = (recorded.path / "out.md").read_text()
    assert "| query | rank before | rank now | first now | should have | breaks |" in markdown
    assert markdown.count("| 1 | 2 |") >= 5


def _kinds(corpus: Path, task: str) -> set[str]:
    """What clips can break of the queries of a task, sounds that are there aside."""
    lines = map(json.loads, (corpus / "choices.jsonl").read_text().splitlines())
    kinds = {constraint["kind"] for line in lines if line["task"] == task for constraint in line["constraints"]}
    return kinds - {"presence"}


def _check_examples(finding: dict[str, Any], corpus: Path) -> None:
    """What ranks first now is the wrong clip of a choice of this text; what should is its right one, or relevant."""
    choices = {line["text"]: line for line in map(json.loads, (corpus / "choices.jsonl").read_text().splitlines())}
    for loser in finding["losers"]:
        assert loser["first"] == choices[loser["shown"]]["wrong"]
        assert loser["right"] != loser["first"]
        assert (corpus / "clips" / f"{loser['right']}.flac").is_file()


def test_the_screen_names_the_constraint_and_where_to_listen(recorded: Project, corpus: Path) -> None:
    recorded.monkeypatch.setenv("HARMED", "negation")
    wanted = "suites/reasoning.py::test_found[negation-R@1-told:Told-tones-t2a]"
    result = recorded.run("--model", "told:Told", "--retrieval-resamples", "900", wanted)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "negation:R@1 of told:Told on tones t2a: * (claimed: non_inferior)",
            "why: negation breaks",
            "     of the 3 queries that lost, what ranks first now breaks negation in 3",
            "queries that lost most (rank before -> now):",
            "*pytest --model told:Told --retrieval-resamples 900 *",
        ]
    )
    screen = "\n".join(result.outlines)
    assert f"what sounds when: python -m pytest_audioretrieval reasonaudio show {corpus} --query negation-0" in screen
    paths = [Path(path) for path in re.findall(r"(?:first now|should have): (\S+\.flac)$", screen, re.MULTILINE)]
    broken = re.findall(r"breaks: negation: (.+?) sounds from [\d.]+ to [\d.]+ s", screen)
    assert (len(paths), len(broken)) == (6, 3)
    assert all(path.is_file() and path.is_relative_to(corpus) for path in paths)
    for sound, first, should in zip(broken, paths[::2], paths[1::2], strict=True):
        assert f"_{sound.replace(' ', '-')}." in first.name
        assert f"_{sound.replace(' ', '-')}." not in should.name


def test_two_processes_record_and_judge_alike(told: Project, recorded: Project) -> None:
    stored = told.stored()
    shutil.rmtree(told.path / "baselines")
    done = told.process("-n2", *ARGS, "--retrieval-record", "new")
    assert (done.returncode, counts(done)) == (0, {"recorded": TESTS}), done.stdout
    assert told.stored() == stored
    done = told.process("-n2", *ARGS, "--retrieval-json", "two.json", HARMED="overlap")
    told.monkeypatch.setenv("HARMED", "overlap")
    alone = told.run(*ARGS, "--retrieval-json", "one.json")
    assert failed(done.stdout.splitlines()) == failed(alone.outlines) == of_task("overlap")
    assert table(done.stdout.splitlines()) == table(alone.outlines)
    assert len(table(alone.outlines)) == TESTS + 2
    assert findings(told.path / "one.json") == findings(told.path / "two.json")


def test_a_release_without_choices_is_asked_the_rest(told: Project, corpus: Path) -> None:
    bare = told.path / "bare"
    shutil.copytree(corpus, bare)
    (bare / "choices.jsonl").unlink()
    result = told.run(*ARGS, "--retrieval-dataset", str(bare), "--retrieval-record", "new", "-rs")
    assert (result.ret, counts(result)) == (0, {"recorded": 10, "skipped": 5})
    assert "tones choice has no negation: has none" in "\n".join(result.outlines)
