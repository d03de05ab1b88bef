"""Direction ``forms``: recorded, judged form by form, explained, and shown whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.report.columns import FORM_HEADINGS, HEAVY
from pytest_audioretrieval.runs import baselines
from pytest_audioretrieval.runs.form_rows import ALL, FormRow
from tests.plugin import forms_toys
from tests.plugin.forms_toys import SPEC, STORED, use, write_forms
from tests.plugin.toys import CAPTIONS, CLIPS, Project, counts, has_traceback, write_clips

QUERIES = CLIPS * CAPTIONS


@pytest.fixture(scope="module")
def asked_clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_forms(tmp_path_factory.mktemp("data") / "toys")


@pytest.fixture
def asked(project: Project, asked_clips: Path) -> Project:
    return use(project, asked_clips)


@pytest.fixture
def stored(asked: Project) -> Project:
    asked.record()
    return asked


def astray(project: Project, how: str) -> None:
    project.monkeypatch.setenv("ASTRAY", how)


def failed(result: pytest.RunResult) -> set[str]:
    """Metrics of the claims that failed."""
    return {line.split("[")[1].split(f"-{SPEC}")[0] for line in result.outlines if line.startswith("FAILED ")}


def table(lines: list[str]) -> list[list[str]]:
    """Rows of the table of forms, split at gaps."""
    start = next(i for i, line in enumerate(lines) if re.split(r" {2,}", line.strip()) == list(FORM_HEADINGS))
    return [re.split(r" {2,}", line.strip()) for line in lines[start + 2 : start + 2 + len(FORMS) + 1]]


@pytest.mark.slow
def test_what_is_recorded(asked: Project) -> None:
    result = asked.run("--retrieval-record", "new")
    assert (result.ret, counts(result)) == (0, {"recorded": 7})
    assert list(asked.stored()) == [STORED]
    run = baselines.read(asked.path / "baselines" / STORED)
    assert (run.direction, run.dataset.queries, run.queries.source_rank) == ("forms", QUERIES, [1] * QUERIES)
    assert {form: outcomes.rank for form, outcomes in (run.queries.forms or {}).items()} == {
        form: [1] * QUERIES for form in FORMS
    }
    assert "test_found[R@1-asked:Asked-toys-forms]" in asked.run("--collect-only", "-q").outlines[0]


@pytest.mark.slow
def test_recorded_and_judged_again_is_identical(stored: Project) -> None:
    result = stored.run()
    assert (result.ret, counts(result)) == (0, {"passed": 7})
    assert sum(line.endswith(" identical") for line in result.outlines) == 7
    before = stored.stored()
    assert counts(stored.run("--retrieval-record", "changed")) == {"passed": 7}
    astray(stored, "indirect:away")
    assert counts(stored.run("--retrieval-record", "changed")) == {"recorded": 7}
    assert stored.stored() != before


@pytest.mark.slow
@pytest.mark.parametrize("form", ["indirect", "key_phrase"])
def test_a_model_harmed_in_one_form_fails_there_alone(stored: Project, form: str) -> None:
    """Captions and other forms pass; what is claimed of all forms fails with the worst of them."""
    astray(stored, f"{form}:away")
    result = stored.run()
    assert (result.ret, counts(result)) == (1, {"failed": 2, "passed": 5})
    assert failed(result) == {f"{form}:R@1", "worst:R@1"}


@pytest.mark.slow
def test_the_packaged_suite(stored: Project) -> None:
    suite = ("--retrieval-suite", "reformulation")
    assert counts(stored.run(*suite)) == {"passed": 18}
    astray(stored, "question:rival")
    result = stored.run(*suite)
    assert failed(result) == {
        *(f"question:{what}" for what in ("rank_loss", "TBMD")),
        "worst:rank_loss",
        "spread:log2_rank",
    }, "every rank is 2, so that R@5 holds"


def test_the_screen_says_that_the_target_moved_away(stored: Project) -> None:
    astray(stored, "indirect:away")
    lines = stored.run("-k", "indirect").outlines
    start = lines.index(f"indirect:R@1 of {SPEC} on toys forms: regressed (claimed: non_inferior)")
    screen = lines[start : start + 32]
    why = screen.index("why: the target moved away")
    figures = re.fullmatch(
        r"     over the \d\d queries that lost: target alignment loss \+0\.(\d+) \(TAL\), "
        r"hard negative pull ([+-]0\.0\d+) \(HNP\), margin of the caption itself \+0\.0000",
        screen[why + 1],
    )
    assert figures, screen[why + 1]
    assert float(f"0.{figures[1]}") == pytest.approx(0.6, abs=0.03)
    shown = [line for line in screen if " -> " in line and "wording" in line]
    assert len(shown) == 5
    assert all(re.match(r" +1 -> \d+ +'indirect of tone \d+, wording [01]'  \[clips/", line) for line in shown)
    ranks = [int(line.split()[2]) for line in shown]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > 30
    assert any("--retrieval-json out.json" in line for line in screen), "more than a screen"


@pytest.mark.slow
def test_the_screen_says_that_a_rival_came_closer(stored: Project) -> None:
    astray(stored, "command:rival")
    result = stored.run("-k", "command")
    result.stdout.fnmatch_lines(
        [
            "why: a rival came closer",
            f"     over the {QUERIES} queries that lost: target alignment loss [+-]0.0* (TAL), "
            "hard negative pull +0.6* (HNP), margin of the caption itself +0.0000",
            "     1 -> 2    'command of tone 1, wording 0'  *",
            "               first now: clips/02.wav",
        ]
    )


def test_the_screen_says_that_captions_and_forms_lost_alike(stored: Project) -> None:
    """TAL and HNP stay where the source query loses as much: that is no loss of robustness."""
    stored.pytester.makepyfile(asked=forms_toys.MODEL.replace("if FORM and text.startswith(FORM)", "if FORM"))
    astray(stored, "all:rival")
    lines = stored.run("-k", "statement").outlines
    why = lines.index("why: the captions themselves lost ground, in whatever form")
    assert re.search(r"margin of the caption itself -0\.6\d+$", lines[why + 1])


@pytest.mark.slow
def test_a_claim_on_all_forms_shows_each_query_in_its_worst(stored: Project) -> None:
    """Two forms go astray in turn: even clips as questions, odd ones as statements."""
    stored.pytester.makepyfile(
        asked=forms_toys.MODEL.replace(
            "if FORM and text.startswith(FORM)",
            'if FORM and text.startswith(("question", "statement")[number % 2])',
        )
    )
    astray(stored, "both:away")
    stored.claim("non_inferior(metrics.worst_hit_rate(1), margin=0.03)")
    path = stored.path / "test_toys.py"
    path.write_text(path.read_text().replace("t2a", "forms"))
    shown = [line for line in stored.run().outlines if " -> " in line and "wording" in line]
    assert len(shown) == 5
    for line in shown:
        before, after, form, number = re.match(r" +(\d+) -> (\d+) +'(\w+) of tone (\d+),", line).groups()  # type: ignore[union-attr]
        assert before == "1"
        assert int(after) > 1
        assert form == ("question", "statement")[int(number) % 2]


@pytest.mark.slow
def test_a_claim_on_captions_shows_captions(stored: Project) -> None:
    """``R@1`` of this direction is that of the source queries; ranks in some form would not explain it."""
    astray(stored, "tone:away")
    result = stored.run()
    assert failed(result) == {"R@1"}
    shown = [line for line in result.outlines if " -> " in line and "wording" in line]
    assert len(shown) == 5
    assert all(re.match(r" +1 -> \d+ +'tone \d+, wording", line) for line in shown)
    assert not any(line.startswith("why: ") for line in result.outlines)


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_no_figure_in_the_terminal_is_cut_short(stored: Project, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    astray(stored, "indirect:away")
    lines = stored.run().outlines
    tables = lines[next(i for i, line in enumerate(lines) if re.fullmatch(r"=+ retrieval =+", line)) :]
    assert not any("…" in line for line in tables)
    rows = table(tables)
    assert [row[0] for row in rows] == [*FORMS, ALL]
    assert {len(row) for row in rows} == {len(FORM_HEADINGS)}
    indirect, command = rows[FORMS.index("indirect")], rows[0]
    assert float(indirect[1]) < 0.2
    assert (command[1], command[2], command[4]) == ("1.0000", "+0.00", "+0.000")
    assert command[8:] == ["-", "-", "-"], "a rank that never fell goes together with nothing"
    assert float(indirect[2].rstrip("!")) > 10
    assert float(indirect[5]) == pytest.approx(0.6, abs=0.03)
    assert "captions as they are: R@5 1.0000; r: correlation with the rank drop" in tables


@pytest.mark.slow
def test_forms_stand_once_a_run(stored: Project) -> None:
    lines = stored.run("--model", "asked:Asked", "test_toys.py").outlines
    assert sum(line.split()[:2] == ["form", "R@5"] for line in lines) == 1


@pytest.mark.slow
def test_a_table_of_captions_has_no_forms(stored: Project) -> None:
    stored.claim("non_inferior(metrics.hit_rate(1), margin=0.03)")
    stored.record()
    assert not any("MeanRD" in line for line in stored.run().outlines)


@pytest.mark.slow
def test_markdown(stored: Project) -> None:
    astray(stored, "indirect:away")
    stored.run("--retrieval-markdown", "out.md")
    lines = (stored.path / "out.md").read_text(encoding="utf-8").splitlines()
    start = lines.index(f"### Forms of {SPEC} on toys forms")
    assert lines[start + 2] == "captions as they are: R@5 1.0000; r: correlation with the rank drop"
    assert lines[start + 4] == "| " + " | ".join(FORM_HEADINGS) + " |"
    assert [line.split(" | ")[0][2:].replace("\\", "") for line in lines[start + 6 : start + 12]] == [*FORMS, ALL]
    assert {line.count("|") for line in lines[start + 4 : start + 12]} == {len(FORM_HEADINGS) + 1}
    claim = lines.index(f"### indirect:R@1 of {SPEC} on toys forms")
    assert claim > start
    assert lines[claim + 2].startswith("Why: the target moved away: over the ")
    assert lines[claim + 3] == ""
    assert lines[claim + 6].startswith("| indirect of tone ")


@pytest.mark.slow
def test_json(stored: Project) -> None:
    astray(stored, "indirect:away")
    stored.run("--retrieval-json", "out.json")
    findings = {f["metric"]: f for f in json.loads((stored.path / "out.json").read_text())["findings"]}
    assert list(findings) == ["R@1", *(f"{form}:R@1" for form in FORMS), "worst:R@1"]
    rows = findings["R@1"]["forms"]
    assert [row["form"] for row in rows] == [*FORMS, ALL]
    assert set(rows[0]) == set(FormRow.__struct_fields__)
    assert rows[0]["r_tal"] is None
    assert rows[2]["hit_rate"] < 0.2 < 1.0 == rows[2]["source_hit_rate"]
    assert findings["command:R@1"]["causes"] == findings["R@1"]["causes"] == []
    assert findings["indirect:R@1"]["causes"][0] == findings["worst:R@1"]["causes"][0] == "the target moved away"


@pytest.mark.slow
def test_a_heavy_tail_is_said(stored: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert HEAVY not in stored.run().outlines
    monkeypatch.setattr("pytest_audioretrieval.stats.tails.heavy_tailed", lambda drop: bool(drop.any()))
    astray(stored, "indirect:away")
    result = stored.run("--retrieval-markdown", "out.md")
    assert result.outlines.count(HEAVY) == 1
    assert [row[2].endswith("!") for row in table(result.outlines)] == [
        form in ("indirect", ALL) for form in (*FORMS, ALL)
    ]
    assert sum("heavy tail" in line for line in (stored.path / "out.md").read_text().splitlines()) == 1


@pytest.mark.slow
def test_two_processes_find_what_one_finds(stored: Project) -> None:
    astray(stored, "indirect:away")
    done = stored.process("-n2", "--retrieval-json", "two.json")
    alone = stored.run("--retrieval-json", "one.json")
    assert counts(done) == counts(alone) == {"failed": 2, "passed": 5}, done.stdout
    assert (stored.path / "two.json").read_text() == (stored.path / "one.json").read_text()
    assert table(done.stdout.splitlines()) == table(alone.outlines)


def test_who_names_no_direction_asks_captions_and_clips(asked: Project) -> None:
    path = asked.path / "test_toys.py"
    path.write_text(path.read_text().replace('directions=["forms"]', ""))
    lines = [line for line in asked.run("--collect-only", "-q").outlines if "::" in line]
    assert [line.rpartition("-")[2] for line in lines] == ["t2a]"] * 7 + ["a2t]"] * 7


def test_a_missing_baseline_names_the_direction(asked: Project) -> None:
    result = asked.run()
    assert counts(result) == {"failed": 7}
    result.stdout.fnmatch_lines(
        [f"BaselineError: no baseline of {SPEC} on toys forms in baselines: record one with: *"]
    )


@pytest.mark.slow
def test_another_models_baseline(stored: Project) -> None:
    result = stored.run("--model", "asked:Other", "--retrieval-baseline", SPEC, "test_toys.py")
    assert (result.ret, counts(result)) == (0, {"passed": 7})
    result.stdout.fnmatch_lines([f"asked:Other on toys forms, against {SPEC}"])


@pytest.mark.slow
def test_other_forms_are_refused(stored: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    use(stored, write_forms(tmp_path_factory.mktemp("other") / "toys", indirect="perhaps"))
    result = stored.run()
    assert counts(result) == {"failed": 7}
    result.stdout.fnmatch_lines([f"BaselineError: baselines/{STORED} is not comparable: its dataset.fingerprint is *"])


@pytest.mark.slow
def test_recording_says_what_was_left_out(asked: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Complete cases: a caption that lacks a form is no query, and whoever records must see it."""
    folder = write_forms(tmp_path_factory.mktemp("fewer") / "toys")
    path = folder / "captions.jsonl"
    first, *rest = path.read_text().splitlines()
    line = json.loads(first)
    line["forms"]["indirect"][0] = None
    path.write_text("\n".join([json.dumps(line), *rest]) + "\n")
    result = use(asked, folder).run("--retrieval-record", "new")
    result.stdout.fnmatch_lines(
        [
            f"recorded baselines/{STORED}: new, commit it",
            "  1 items left out because a form is missing (complete cases)",
        ]
    )


@pytest.mark.slow
def test_forms_that_are_added_leave_runs_of_captions_comparable(
    asked: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked.claim("non_inferior(metrics.hit_rate(1), margin=0.03)")
    bare = write_clips(tmp_path_factory.mktemp("bare") / "clips")
    for record, clips in ((True, bare), (False, write_forms(tmp_path_factory.mktemp("added") / "clips"))):
        asked.ini(clips=clips)
        result = asked.run("--model", SPEC, *(("--retrieval-record", "new") if record else ()), "test_toys.py")
        assert counts(result) == {"recorded" if record else "passed": 1}


@pytest.mark.slow
def test_captions_that_are_all_one_are_one_line(asked: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    clips = write_forms(tmp_path_factory.mktemp("same") / "clips")
    lines = [json.loads(line) for line in (clips / "captions.jsonl").read_text().splitlines()]
    forms = {form: f"{form} of tone 1" for form in FORMS}
    same = [{**line, "captions": ["tone 1"], "forms": forms} for line in lines]
    (clips / "captions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in same))
    result = asked.run("--model", SPEC, "--retrieval-dataset", str(clips), "test_toys.py")
    assert not has_traceback(result)
    result.stdout.fnmatch_lines(["DataError: toys: all 40 candidates are right for 'clips/01.wav#0', expected a *"])


def test_a_damaged_baseline_is_one_line(stored: Project) -> None:
    path = stored.path / "baselines" / STORED
    content = json.loads(path.read_text())
    del content["queries"]["forms"]["indirect"]
    path.write_text(json.dumps(content))
    result = stored.run()
    result.stdout.fnmatch_lines([f"BaselineError: *{STORED}: queries.forms are *, expected {', '.join(FORMS)}: *"])
    assert not has_traceback(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("form_hit_rate('indirekt', 5)", "no form 'indirekt' in this run, expected one of command, question, *"),
        ("median_rank()", "median_rank is a median over queries, *"),
    ],
)
def test_a_wrong_metric_is_one_line(stored: Project, claim: str, said: str) -> None:
    stored.claim(f"non_inferior(metrics.{claim}, margin=0.03)")
    path = stored.path / "test_toys.py"
    path.write_text(path.read_text().replace("t2a", "forms"))
    result = stored.run()
    result.stdout.fnmatch_lines([f"SpecError: {said}"])
    assert not has_traceback(result)


def test_a_form_in_a_run_of_captions_is_one_line(stored: Project) -> None:
    stored.claim("non_inferior(metrics.rank_loss('indirect'), margin=0.25)")
    stored.record()
    result = stored.run()
    result.stdout.fnmatch_lines(["SpecError: this run has no forms: ask in direction 'forms'"])
    assert not has_traceback(result)
