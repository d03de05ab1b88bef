"""The command ``python -m pytest_audioretrieval cora`` on a folder of tones, with models that cost nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.__main__ import main
from pytest_audioretrieval.api import evaluate, load_dataset
from pytest_audioretrieval.benchmarks.cora.analyses.saliency import TITLES
from tests.plugin.toys import MODEL, write_clips

CANON = """
def lower(text):
    return text.lower()

def spoken(text, form):
    return f"{form}: {text}"

number = 3
"""
#: Most of a text's vector is noise of its own, so that forms gain and lose ranks.
NOISY = MODEL.replace("0.1 * hashed(t)", "2 * hashed(t + type(self).__name__)")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cora")
    write_clips(folder / "toys", clips=20)
    write_clips(folder / "tones", name="tones", clips=12)
    (folder / "noisy_toy.py").write_text(NOISY)
    (folder / "toy_canon.py").write_text(CANON)
    return folder


def process(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_audioretrieval", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture(scope="module")
def done(project: Path) -> subprocess.CompletedProcess[str]:
    return process(
        project, "cora", "noisy_toy:Toy", "noisy_toy:Other", "--dataset", "toys", "--dataset", "tones", "--json",
        "out/cora.json", "--canonicalizer", "toy_canon:lower", "--canonicalizer", "toy_canon:spoken", "--cache", "kept",
    )  # fmt: skip


@pytest.fixture(scope="module")
def content(project: Path, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads((project / "out/cora.json").read_text())
    return found


def rows(content: dict[str, Any], title: str) -> list[dict[str, Any]]:
    (table,) = (table for table in content["tables"] if table["title"].startswith(title))
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_every_table_is_printed(done: subprocess.CompletedProcess[str], content: dict[str, Any]) -> None:
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "candidates: the clips of each dataset by itself",
        "toys: 20 clips, 40 source queries in 5 forms",
        "tones: 12 clips, 24 source queries in 5 forms",
    ]
    titles = [table["title"] for table in content["tables"]]
    assert len(set(titles)) == len(titles) == 23
    assert [line for line in lines if line in titles] == titles
    # The toy is no CLAP; MiniLM may not be installed.
    silent = {table["title"] for table in content["tables"] if table["note"].startswith("does not apply")}
    assert silent - {"Diversity of the queries (CORA, Appendix A.4)"} == {TITLES[0]}


def test_json_says_what_was_asked(content: dict[str, Any]) -> None:
    assert content["candidates"] == "per-dataset"
    assert [model["id"] for model in content["models"]] == ["noisy_toy:Toy", "noisy_toy:Other"]
    assert [(d["name"], d["clips"], d["items"]) for d in content["datasets"]] == [("toys", 20, 40), ("tones", 12, 24)]
    assert content["protocol"]["name"] == "short-clip"
    assert content["environment"]["device"] == "cpu"


def test_means_are_those_of_a_run(project: Path, content: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate's own runs of direction ``forms`` give the same ranks."""
    monkeypatch.syspath_prepend(project)
    runs: dict[tuple[str, str], Any] = {}
    for row in rows(content, "By dataset, model and form"):
        key = row["dataset"], row["model"]
        if key not in runs:
            runs[key] = evaluate(row["model"], load_dataset(project / row["dataset"]), "forms").queries
        rank, source = np.array(runs[key].forms[row["form"]].rank), np.array(runs[key].source_rank)
        assert row["N"] == len(rank)
        assert row["MeanRD"] == pytest.approx((rank - source).mean())
        assert row["R@5"] == pytest.approx((rank <= 5).mean())
    assert len(runs) == 4


def test_canonicalizers_have_their_rows(content: dict[str, Any]) -> None:
    names = ["no canonicalizer", "toy_canon:lower", "toy_canon:spoken"]
    assert [row["queries"] for row in rows(content, "Query preprocessing (")] == names
    assert [row["queries"] for row in rows(content, "What query preprocessing changes")] == names[1:]


@pytest.mark.slow
def test_pooled_ranks_all_clips_together(project: Path, capsys: pytest.CaptureFixture[str], content: Any) -> None:
    sys.path.insert(0, str(project))
    try:
        datasets = ["--dataset", str(project / "toys"), "--dataset", str(project / "tones")]
        path = project / "pooled.json"
        assert main(["cora", "noisy_toy:Toy", *datasets, "--pooled", "--json", str(path)]) == 0
    finally:
        sys.path.remove(str(project))
    assert capsys.readouterr().out.startswith("candidates: the clips of all datasets together\n")
    pooled = json.loads(path.read_text())
    assert pooled["candidates"] == "pooled"
    alone = {(r["dataset"], r["model"], r["form"]): r for r in rows(content, "By dataset, model and form")}
    both = [(r, alone[r["dataset"], r["model"], r["form"]]) for r in rows(pooled, "By dataset, model and form")]
    assert all(together["R@5"] <= apart["R@5"] for together, apart in both)
    assert any(together["MeanRD"] != apart["MeanRD"] for together, apart in both)
    assert any(
        table["note"] == "does not apply: all pairs are of one model, noisy_toy:Toy: add another model"
        for table in pooled["tables"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["coral"], "invalid choice: 'coral'"),
        (["cora"], "the following arguments are required: SPEC"),
        (["cora", "builtin/nothing"], "no built-in model 'nothing'"),
        (["cora", "builtin/tiny-clap-fused", "--dataset", "nowhere"], "dataset 'nowhere' is neither a folder"),
        (["cora", "m", "--canonicalizer", "toy_canon:upper"], "canonicalizer 'toy_canon:upper'"),
        (["cora", "m", "--canonicalizer", "toy_canon:number"], "canonicalizer 'toy_canon:number' is int"),
        (["cora", "a:b", "a:b", "--dataset", "toys"], "two models are called 'a:b'"),
        (["cora", "a:b", "--dataset", "toys", "--dataset", "toys"], "two datasets are called 'toys'"),
        (["cora", "noisy_toy:Toy", "--dataset", "tones", "--json", "toy_canon.py/x"], "--json toy_canon.py/x was not"),
    ],
)
def test_an_error_is_one_line(
    project: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(project)
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = stopped.code  # type: ignore[assignment]
    error = capsys.readouterr().err
    assert code == 2
    assert error.startswith("python -m pytest_audioretrieval")
    assert message in error
    assert error.count("\n") == 1


def test_a_file_that_cannot_be_written_is_said_before_the_work(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(project)
    assert main(["cora", "noisy_toy:Toy", "--dataset", "tones", "--json", "tones"]) == 2
    assert capsys.readouterr().out == ""
    assert main(["cora", "m:nothing", "--dataset", "tones", "--json", "new/never.json"]) == 2
    assert not (project / "new/never.json").exists()


@pytest.mark.slow
def test_the_exit_code_of_the_process(project: Path) -> None:
    found = process(project, "cora", "builtin/nothing")
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert "cora" in process(project, "--help").stdout


COLUMNS = "audio_id,caption,command,question,indirect,key_phrase,statement"


def asked_again(project: Path, clips: list[str]) -> Path:
    rows = [f"{clip},tone {n},Play {n}.,Is it {n}?,I want {n}.,{n},It is {n}." for n, clip in enumerate(clips, start=1)]
    path = project / f"queries-{len(clips)}.csv"
    path.write_text("\n".join([COLUMNS, *rows]) + "\n")
    return path


def test_queries_of_a_file_in_the_papers_shape(project: Path) -> None:
    queries = asked_again(project, [f"clips/{n:02}.wav" for n in range(1, 13)])
    found = process(project, "cora", "noisy_toy:Toy", "--dataset", "tones", "--queries", str(queries))
    assert found.returncode == 0, found.stderr
    assert "tones: 12 clips, 12 source queries in 5 forms" in found.stdout


def test_queries_for_other_clips_are_refused_on_both_sides(project: Path) -> None:
    queries = asked_again(project, ["Y1.wav", "clips/02.wav"])
    found = process(project, "cora", "noisy_toy:Toy", "--dataset", "tones", "--queries", str(queries))
    assert found.returncode == 2
    assert "1 of 2 audio ids are not among the 12 clips that are ranked: 'tones::Y1.wav'" in found.stderr
    assert "11 of those clips have no query: 'tones::clips/01.wav'" in found.stderr
    several = ["--dataset", "tones", "--dataset", "toys", "--queries", str(queries)]
    assert "--queries is given with 2 datasets" in process(project, "cora", "noisy_toy:Toy", *several).stderr
