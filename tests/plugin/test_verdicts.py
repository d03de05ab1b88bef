"""What a claim says of a run that lost, gained, or changed too little to tell."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from pytest_audioretrieval.runs import baselines, stored
from tests.plugin.toys import Project, counts, errors, has_traceback

R1 = "metrics.hit_rate(1), margin=0.03"
STORED = "baselines/toys/t2a/toy%3AToy.json"


def change(project: Project, **fields: object) -> None:
    """Rewrite the stored run."""
    path = project.path / STORED
    path.write_text(stored.encode(msgspec.structs.replace(baselines.read(path), **fields)))


@pytest.mark.slow
def test_a_loss_is_explained_on_one_screen(project: Project) -> None:
    """12 of 40 clips lose both captions: R@1 falls from 1 to 0.7, shown by 40 clusters."""
    project.record()
    stored = baselines.read(project.path / STORED)
    change(project, environment={**stored.environment, "torch": "1.0"})
    project.wrong(12)
    project.claim(f"non_inferior({R1})")
    result = project.run()
    assert (result.ret, counts(result)) == (1, {"failed": 1})
    result.stdout.fnmatch_lines(
        [
            "R@1 of toy:Toy on toys t2a: regressed (claimed: non_inferior)",
            f"  baseline 1.0000   new 0.7000   difference -0.3000   ({STORED})",
            "  95% one-sided bounds [[]-0.*, -0.*[]]   margin 0.03",
            "  plain 95 % percentile interval [[]-0.*, -0.*[]]",
            "  24 of 80 queries changed, in 40 clusters; smallest margin these data can certify: 0.*",
            "  more clips would not settle it: the difference itself is at or past the margin",
            "queries that lost most (rank before -> now):",
            "     1 -> * 'tone *, wording *'  [[]clips/*.wav#*[]]",
            "               first now: clips/*.wav",
            "differs from the baseline's environment:",
            "  torch 1.0 -> *",
            "next: find what changed (weights, libraries, audio); all figures: "
            "pytest --model toy:Toy . --retrieval-json out.json",
            "      or accept the new state as the baseline: pytest --model toy:Toy . --retrieval-record changed",
        ],
        consecutive=False,
    )
    screen = result.outlines
    start = screen.index("R@1 of toy:Toy on toys t2a: regressed (claimed: non_inferior)")
    end = next(i for i, line in enumerate(screen) if "--retrieval-record changed" in line)
    assert end - start < 30, "more than a screen"


@pytest.mark.slow
def test_the_queries_shown_are_those_that_lost_most(project: Project) -> None:
    """The ranks on the screen are those of the two runs, the widest fall first."""
    project.record()
    project.wrong(12)
    project.claim(f"non_inferior({R1})")
    shown = [line.split() for line in project.run().outlines if " -> " in line and "wording" in line]
    project.record()
    queries = baselines.read(project.path / STORED).queries
    ranks = dict(zip(queries.id, queries.first_hit_rank, strict=True))
    found = [(line[-1][1:-1], int(line[0]), int(line[2])) for line in shown]
    worst = sorted(ranks.values(), reverse=True)[:5]
    assert [after for _, _, after in found] == worst
    assert all(before == 1 and ranks[name] == after for name, before, after in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "ret", "outcome"),
    [("fail", 1, {"failed": 1}), ("warn", 0, {"passed": 1, "warning": 1}), ("pass", 0, {"passed": 1})],
)
def test_inconclusive(project: Project, rule: str, ret: int, outcome: dict[str, int]) -> None:
    """One clip of 40 lost: 2.5 points, and an interval on both sides of 3."""
    project.record()
    project.wrong(1)
    project.claim(f"non_inferior({R1})")
    result = project.run("--retrieval-on-inconclusive", rule, "-W", "default")
    assert (result.ret, counts(result)) == (ret, outcome)
    assert any(line.endswith(" inconclusive") for line in result.outlines)
    if rule == "fail":
        assert sum(" -> " in line and "'tone 1, wording" in line for line in result.outlines) == 2
        assert sum("first now:" in line for line in result.outlines) == 2, "only those that lost are shown"
        result.stdout.fnmatch_lines(
            ["  about * clusters would settle it at this spread", "next: ask for a margin these data can certify, or *"]
        )
    if rule == "warn":
        result.stdout.fnmatch_lines(["*RetrievalWarning: R@1 of toy:Toy on toys t2a: inconclusive (claimed: non_*"])


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["warn", "pass"])
def test_a_loss_fails_whatever_inconclusive_does(project: Project, rule: str) -> None:
    project.record()
    project.wrong(12)
    assert project.run("--retrieval-on-inconclusive", rule).ret == 1


CLAIMS = [
    ("superior", 12, 0, 0.03, "improved", True),
    ("non_inferior", 12, 0, 0.03, "improved", True),
    ("equivalent", 12, 0, 0.03, "improved", False),
    ("equivalent", 12, 12, 0.03, "identical", True),
    ("superior", 0, 0, 0.03, "identical", False),
    ("superior", 12, 0, 0.6, "equivalent", True),
    ("equivalent", 0, 1, 0.5, "equivalent", True),
    ("superior", 0, 12, 0.03, "regressed", False),
]


@pytest.mark.slow
@pytest.mark.parametrize(("claim", "before", "after", "margin", "verdict", "holds"), CLAIMS)
def test_claims(
    project: Project, claim: str, before: int, after: int, margin: float, verdict: str, holds: bool
) -> None:
    project.wrong(before)
    project.record()
    project.wrong(after)
    project.claim(f"{claim}(metrics.hit_rate(1), margin={margin})")
    result = project.run()
    assert counts(result) == ({"passed": 1} if holds else {"failed": 1})
    assert any(line.startswith("R@1 ") and line.endswith(f" {verdict}") for line in result.outlines)


@pytest.mark.slow
def test_a_failed_superior_speaks_of_gains(project: Project) -> None:
    project.record()
    project.wrong(1)
    project.claim(f"superior({R1})")
    result = project.run()
    result.stdout.fnmatch_lines(
        ["  more clips would not settle it: there is no gain", "next: add clips until a gain of this size shows, or *"]
    )
    result.stdout.no_fnmatch_line("*smallest margin these data can certify*")


@pytest.mark.slow
def test_a_metric_of_which_less_is_better(project: Project) -> None:
    """The mean rank falls where a model gains; the difference is positive then."""
    project.wrong(12)
    project.record()
    project.wrong(0)
    project.claim("superior(metrics.mean_rank(), margin=0.5)")
    result = project.run()
    assert counts(result) == {"passed": 1}
    row = next(line for line in result.outlines if line.startswith("mean_rank"))
    before, after, difference = (float(word) for word in row.split()[1:4])
    assert after == 1 < before
    assert difference == pytest.approx(before - after, abs=1e-4)


@pytest.mark.slow
def test_a_median_is_refused_in_one_line(project: Project) -> None:
    project.record()
    project.claim("non_inferior(metrics.median_rank(), margin=1)")
    result = project.run()
    assert counts(result) == {"failed": 1}
    result.stdout.fnmatch_lines(["SpecError: median_rank is a median over queries, and only means are compared: *"])
    assert not has_traceback(result)


@pytest.mark.parametrize("margin", ["0", "-0.03", "float('nan')", "'3 %'", "True"])
def test_a_wrong_margin_is_one_line_before_anything_is_embedded(project: Project, margin: str) -> None:
    project.claim(f"non_inferior(metrics.hit_rate(1), margin={margin})")
    result = project.run()
    result.stdout.fnmatch_lines(["SpecError: margin is *, expected a number above 0, in the metric's own unit*"])
    assert project.logged() == []


@pytest.mark.slow
def test_another_models_run(project: Project) -> None:
    project.wrong(12)
    project.record()
    project.wrong(0)
    args = ("--model", "toy:Other", "--retrieval-baseline", "toy:Toy", "test_toys.py")
    result = project.run(*args)
    assert (result.ret, counts(result)) == (0, {"passed": 3})
    result.stdout.fnmatch_lines(["toy:Other on toys t2a, against toy:Toy"])
    project.wrong(20)
    result = project.run(*args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "R@1 of toy:Other on toys t2a, against toy:Toy: regressed (claimed: non_inferior)",
            "next: *: pytest --model toy:Other --retrieval-baseline toy:Toy test_toys.py --retrieval-json out.json",
        ]
    )
    result.stdout.no_fnmatch_line("*accept the new state as the baseline*")


@pytest.mark.slow
def test_a_missing_run_of_another_model_names_what_there_is(project: Project) -> None:
    project.record()
    result = project.run("--retrieval-baseline", "toy:Other")
    result.stdout.fnmatch_lines(
        [
            "BaselineError: no baseline of toy:Other on toys t2a in baselines; there are toy:Toy: record one with: "
            "pytest --model toy:Other . --retrieval-record new"
        ]
    )


def test_of_many_models_with_a_run_the_three_nearest_are_named(project: Project) -> None:
    folder = project.path / "baselines/toys/t2a"
    folder.mkdir(parents=True)
    for name in ("toy%3AOthers", "owner--name", "toy%3AAnother", "owner--other", "toy%3AOther2", "builtin--x"):
        (folder / f"{name}.json").touch()
    project.run("--retrieval-baseline", "toy:Other").stdout.fnmatch_lines(
        [
            "BaselineError: no baseline of toy:Other on toys t2a in baselines; there are toy:Others, toy:Other2, "
            "toy:Another and 3 more: record one with: *"
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "field"),
    [
        (["--retrieval-protocol", "full-clip"], "protocol.window is first, this run's is tiles"),
        (["--retrieval-dataset", "more"], "number of clips is 40, this run's is 41"),
        (["--retrieval-dataset", "reworded"], "dataset.fingerprint is *, this run's is *"),
    ],
    ids=["protocol", "clips", "captions"],
)
def test_a_run_that_is_not_comparable_is_refused_by_field(project: Project, args: list[str], field: str) -> None:
    from tests.plugin.toys import write_clips

    project.record()
    write_clips(project.path / "more", clips=41)
    write_clips(project.path / "reworded", ["the 1st tone"])
    result = project.run(*args)
    assert counts(result) == {"failed": 3}
    result.stdout.fnmatch_lines([f"BaselineError: {STORED} is not comparable: its {field}*"])


PUBLISHED = {"source": "a paper, table 2", "protocol": "short-clip", "figures": []}


def publish(project: Project, **figure: object) -> Path:
    path = project.path / "baselines/published/mine.json"
    path.parent.mkdir(parents=True)
    known = {"model": "toy:Toy", "dataset": "toys", "direction": "t2a", "metric": "R@1", "value": 0.9}
    path.write_text(json.dumps(PUBLISHED | {"figures": [known | figure]}))
    return path


@pytest.mark.parametrize(("value", "holds"), [(0.985, True), (0.975, False)])
def test_consistent_with_a_published_figure(project: Project, value: float, holds: bool) -> None:
    """The run's R@1 is 1; the tolerance is 2 points."""
    publish(project, value=value)
    project.claim("consistent(metrics.hit_rate(1))")
    result = project.run()
    assert counts(result) == ({"passed": 1} if holds else {"failed": 1})
    if not holds:
        result.stdout.fnmatch_lines(
            [
                "R@1 of toy:Toy on toys t2a, against published: inconsistent (claimed: consistent)",
                "  baseline 0.9750   new 1.0000   difference +0.0250   (a paper, table 2)",
                "  tolerance 0.02",
                "next: compare protocol and dataset revision with the published run (a paper, table 2)",
            ]
        )


def test_consistent_reads_a_median(project: Project) -> None:
    publish(project, metric="median_rank", value=1.0)
    project.wrong(12)
    project.claim("consistent(metrics.median_rank(), tolerance=0.5)")
    result = project.run()
    assert counts(result) == {"passed": 1}, "the mean rank is well above 1"


def test_no_published_figure_is_one_line(project: Project) -> None:
    publish(project, metric="R@5")
    project.claim("consistent(metrics.hit_rate(1))")
    result = project.run()
    assert counts(result) == {"failed": 1}
    result.stdout.fnmatch_lines(
        ["BaselineError: no published figure for R@1 of toy:Toy-toys-t2a: there are R@5 on toys t2a: add one to *"]
    )


def test_a_damaged_table_is_named(project: Project) -> None:
    path = publish(project)
    path.write_text(path.read_text()[:-5])
    project.claim("consistent(metrics.hit_rate(1))")
    result = project.run()
    result.stdout.fnmatch_lines([f"BaselineError: {path}: no readable table of published figures: *"])


@pytest.mark.slow
def test_in_ci_the_summary_holds_one_line_of_a_failure(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """There pytest repeats a failure's message whole, and the screen would stand twice."""
    monkeypatch.setenv("CI", "true")
    project.record()
    project.wrong(12)
    lines = project.run("--retrieval-on-inconclusive", "fail").outlines
    summary = lines[next(i for i, line in enumerate(lines) if "short test summary" in line) + 1 : -1]
    assert [line for line in summary if not line.startswith("FAILED ")] == []
    assert "R@1 of toy:Toy on toys t2a: regressed (claimed: non_inferior)" in summary[0]


def test_the_device_stored_is_the_one_that_made_the_vectors(project: Project) -> None:
    project.record("--retrieval-device", "auto")
    assert baselines.read(project.path / STORED).environment["device"] == "cpu"


@pytest.mark.slow
def test_a_baseline_needs_its_stored_run_and_no_weights(project: Project) -> None:
    """CI keeps the baselines, seldom the folders of old checkpoints."""
    project.record()
    stored = project.path / STORED
    old = stored.with_name("my-checkpoint.json")
    old.write_text(stored.read_text().replace('"id": "toy:Toy"', '"id": "my-checkpoint"'))
    for name in ("./my-checkpoint", "my-checkpoint"):
        result = project.run("--retrieval-baseline", name)
        assert (result.ret, counts(result)) == (0, {"passed": 3})
        assert "toy:Toy on toys t2a, against my-checkpoint" in result.outlines
    assert "model folder './gone' does not exist" in errors(project.run("--retrieval-baseline", "./gone"))[0]
