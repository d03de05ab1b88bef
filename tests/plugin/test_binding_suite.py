"""Suite ``binding`` on a small folder in MASB's layout: against a baseline, and against chance."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.benchmarks.masb.release.wording import PARAPHRASES, TEMPLATES
from tests.benchmarks.masb import release_files
from tests.plugin.toys import Project, counts, failed, has_traceback

pytestmark = pytest.mark.slow

RULES = "pytest_audioretrieval.testing.rule_scorer:RuleScorer"
ARGS = ("--retrieval-suite", "binding", "--model", "told:Told")
#: Tracks; each is a recording of every property and a pair of mixes.
TRACKS = 8
SLICES = ("timbre", "role", "order", "mirror-order")
#: Each claimed twice, and three once more over texts; the others are no part of the folder.
TESTS, ABSENT = 11, 14

#: It has read the answers, and takes the wrong caption where ``HARMED`` says so: a slice, or ``half`` of all tracks.
MODEL = """
import csv, os
from pathlib import Path
import numpy as np
from toy import Toy, unit

FOLDER = Path({folder!r})

def rows(name):
    with (FOLDER / name).open(newline="") as stream:
        return list(csv.DictReader(stream))

SLICE = dict(T="timbre", R="role", O="order")
#: right caption, wrong caption, paraphrase, slice, track; in the order of the values that clips hold.
TOLD = [[] for _ in range({clips})]
for number, row in enumerate(rows("masb_captions.csv")):
    texts = [row[name] for name in ("caption_pos", "caption_neg", "caption_paraphrase")]
    TOLD[number // 2].append((*texts, SLICE[row["axis"]], int(row["clip_id"])))
for number, row in enumerate(rows("masb_order_manifest.csv")):
    first, second = row["caption_A_first"], row["caption_B_first"]
    place = {recordings} + 2 * number
    TOLD[place].append((first, second, None, "mirror-order", number))
    TOLD[place + 1].append((second, first, None, "mirror-order", number))

EVERY = [told for clip in TOLD for told in clip]
AXIS = {{text: place for place, text in enumerate(dict.fromkeys(t for told in EVERY for t in told[:3] if t))}}

def errs(told):
    harmed = os.environ.get("HARMED", "")
    return told[3] == harmed or (harmed == "half" and told[4] % 2 == 0)

def axis(text):
    return np.eye(len(AXIS))[AXIS[text]]

class Told(Toy):
    def embed_audio(self, windows, protocol):
        return unit([sum(axis(told[errs(told)]) for told in TOLD[round(float(w.mean()) * 100) - 1]) for w in windows])

    def embed_text(self, texts, protocol):
        return unit([self.one(text) for text in texts])

    def one(self, text):
        for told in EVERY:
            if told[2] == text:  # leans to its caption, or where it errs to none
                return axis(text) + (0 if errs(told) else 2) * axis(told[0])
            if told[1] == text and told[2] and errs(told):
                return axis(text) + 2 * axis(told[0])
        return axis(text)
"""


def write_folder(folder: Path) -> Path:
    annotations, captions, pairs = [], [], []
    for track in range(TRACKS):
        names = {"inst_1": f"kazoo{track}", "inst_2": f"tuba{track}", "timbre_1": "bright", "timbre_2": "plummy"}
        for axis in ("T", "R", "O"):
            timbres = {name: names[name] for name in ("timbre_1", "timbre_2") if axis == "T"}
            annotations.append(
                release_files.annotation(f"{100 + track}", axis, names["inst_1"], names["inst_2"], **timbres)
            )
            what = "timbre" if axis == "T" else "inst"
            swapped = names | {f"{what}_1": names[f"{what}_2"], f"{what}_2": names[f"{what}_1"]}
            for style in ("strict", "natural"):
                templates = TEMPLATES[axis][style], PARAPHRASES[axis][style]  # type: ignore[index]
                texts = [templates[0].format_map(n) for n in (names, swapped)] + [templates[1].format_map(names)]
                captions.append(release_files.caption(f"{100 + track}", axis, style, *texts))
        pairs.append(
            release_files.ORDER[0] | {
                "pair_id": f"i{track:04d}", "moisesdb_track": f"t{track}", "name_A": f"oboe{track}",
                "name_B": f"bass{track}", "caption_A_first": f"the oboe{track} enters before the bass{track}",
                "caption_B_first": f"the bass{track} enters before the oboe{track}",
            }
        )  # fmt: skip
    release_files.write(folder / "masb_annotations.csv", annotations)
    release_files.write(folder / "masb_captions.csv", captions)
    release_files.write(folder / "masb_order_manifest.csv", pairs)
    (folder / "dataset.toml").write_text('name = "duos"\nlicence = "CC"\nlayout = "masb"\n')
    clips = [f"clips/{row['clip_id']}_{row['axis']}" for row in annotations]
    clips += [f"order/{pair['pair_id']}/{mix}" for pair in pairs for mix in ("A_first", "B_first")]
    for number, clip in enumerate(clips):
        path = folder / f"{clip}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.full(480, (1 + number) / 100), 48_000, subtype="PCM_16")
    return folder


@pytest.fixture(scope="module")
def duos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("binding") / "duos")


@pytest.fixture
def told(project: Project, duos: Path) -> Project:
    project.monkeypatch.delenv("HARMED", raising=False)
    project.pytester.makepyfile(told=MODEL.format(folder=str(duos), clips=5 * TRACKS, recordings=3 * TRACKS))
    project.ini("retrieval_resamples = 1000", clips=duos)
    return project


@pytest.fixture
def recorded(told: Project, duos: Path) -> Project:
    """With a baseline, that the first test to want it records."""
    told.record_once(duos.parent / "baselines", *ARGS)
    return told


def name(test: str, part: str, direction: str = "choice") -> str:
    return f"test_{test}[{part}-told:Told-duos-{direction}]"


def findings(project: Project, file: str = "out.json") -> dict[tuple[str, str, str], dict[str, Any]]:
    found = json.loads((project.path / file).read_text())["findings"]
    return {(f["claim"], f["metric"], f["direction"]): f for f in found}


def table(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if re.match(r"told:Told on |(\S+:\S+ ).*\]  ", line)]


def test_recorded_then_identical_and_above_chance(recorded: Project) -> None:
    """Eight tracks of eight: p = 2 / 2^8, times four slices. Treated as independent, 16 choices of 16: 2 / 2^16."""
    result = recorded.run(*ARGS, "-rs", "--retrieval-json", "out.json", "--retrieval-markdown", "out.md")
    assert (result.ret, counts(result)) == (0, {"passed": TESTS, "skipped": ABSENT})
    assert sum(line.endswith(" identical") for line in result.outlines) == 7
    assert sum(line.endswith(" above_chance") for line in result.outlines) == 4
    found = findings(recorded)
    markdown = (recorded.path / "out.md").read_text().replace("\\", "")
    for part in SLICES:
        finding = found["above_chance", f"{part}:accuracy", "choice"]
        assert (finding["new_value"], finding["baseline_value"], finding["clusters"]) == (1.0, 0.5, TRACKS)
        assert finding["p_corrected"] == pytest.approx(4 * 2 / 2**TRACKS)
        assert finding["chance"][0].endswith("p 0.0078, 0.031 after Holm's correction over 4 slices")
        assert "p 3.1e-05 (exact binomial); 0 ties" in finding["chance"][1]
        assert all(f"- {line}\n" in markdown for line in finding["chance"])
    assert found["non_inferior", "role:sensitivity", "texts"]["new_value"] > 0.5


def test_slices_that_are_not_there_are_said(recorded: Project) -> None:
    result = recorded.run(*ARGS, "-rs")
    said = "\n".join(result.outlines)
    for part in ("loudness", "duration", "mirror-timbre", "mirror-role", "mirror-loudness", "mirror-duration"):
        assert f"duos has no {part}: there are timbre, role, order, mirror-order" in said
    assert "duos has no loudness: there are timbre, role, order\n" in said + "\n"


@pytest.mark.parametrize("part", ["role", "mirror-order"])
def test_a_model_that_errs_in_one_property_fails_in_that_alone(recorded: Project, duos: Path, part: str) -> None:
    recorded.monkeypatch.setenv("HARMED", part)
    result = recorded.run(*ARGS, "--retrieval-json", "out.json", "--retrieval-markdown", "out.md")
    texts = [name("text_sensitivity_kept", part, "texts")] if part == "role" else []
    assert failed(result.outlines) == sorted([name("accuracy_kept", part), name("above_chance", part), *texts])
    assert not has_traceback(result)
    found = findings(recorded)
    kept = found["non_inferior", f"{part}:accuracy", "choice"]
    assert (kept["verdict"], kept["baseline_value"], kept["new_value"]) == ("regressed", 1.0, 0.0)
    assert found["above_chance", f"{part}:accuracy", "choice"]["verdict"] == "below_chance"
    assert "should have" in (recorded.path / "out.md").read_text()
    screen = "\n".join(result.outlines)
    shown = re.findall(r"^ +1 -> 2 +'(.+)'  \[.+\]$", screen, re.MULTILINE)
    assert len(shown) == 3 + 5 * len(texts)
    assert screen.count("first now: the ") == len(shown)
    assert screen.count("should have: the ") == 3
    assert "why: " not in screen  # nothing tells what a caption breaks
    heard = [Path(path) for path in re.findall(r"^ +clip: (.+)$", screen, re.MULTILINE)]
    assert len(heard) == 3
    assert all(path.is_relative_to(duos) and path.is_file() for path in heard)


def test_a_coin_is_inconclusive_and_may_be_warned_of(recorded: Project, duos: Path) -> None:
    """Right for four tracks of eight: nobody can tell it from chance."""
    recorded.monkeypatch.setenv("HARMED", "half")
    chance = sorted(name("above_chance", part) for part in SLICES)
    result = recorded.run(*ARGS, "--retrieval-json", "out.json")
    assert [test for test in failed(result.outlines) if "above_chance" in test] == chance
    result.stdout.fnmatch_lines(
        [
            "role:accuracy of told:Told on duos choice, against chance: inconclusive (claimed: above_chance)",
            "  accuracy 0.5000 of 16 choices in 8 clusters; chance is 0.5",
            "  clustered: 95 % interval *, p 1, 1 after Holm's correction over 4 slices",
            f"      python -m pytest_audioretrieval binding told:Told --dataset {duos}",
        ]
    )
    for part in SLICES:
        finding = findings(recorded)["above_chance", f"{part}:accuracy", "choice"]
        assert (finding["verdict"], finding["new_value"], finding["p_corrected"]) == ("inconclusive", 0.5, 1.0)
    warned = recorded.run(*ARGS, "--retrieval-on-inconclusive", "warn", "-W", "default")
    assert not [test for test in failed(warned.outlines) if "above_chance" in test]
    assert sum("RetrievalWarning: " in line and "claimed: above_chance" in line for line in warned.outlines) == 4


def test_two_processes_record_and_judge_alike(told: Project, recorded: Project) -> None:
    stored = told.stored()
    shutil.rmtree(told.path / "baselines")
    done = told.process("-n2", *ARGS, "--retrieval-record", "new")
    assert (done.returncode, counts(done)) == (0, {"passed": 4, "recorded": 7, "skipped": ABSENT}), done.stdout
    assert told.stored() == stored
    done = told.process("-n2", *ARGS, "--retrieval-json", "two.json", HARMED="order")
    told.monkeypatch.setenv("HARMED", "order")
    alone = told.run(*ARGS, "--retrieval-json", "one.json")
    assert failed(done.stdout.splitlines()) == failed(alone.outlines)
    assert len(failed(alone.outlines)) == 3
    assert table(done.stdout.splitlines()) == table(alone.outlines)
    assert findings(told, "one.json") == findings(told, "two.json")


def test_a_pair_scorer_is_asked_too(told: Project) -> None:
    """Of a sound that is the same throughout it has no opinion: all ties, each one half."""
    args = ("--retrieval-suite", "binding", "--model", RULES, "-k", "choice and kept")
    recorded = told.run(*args, "--retrieval-record", "new")
    assert (recorded.ret, counts(recorded)) == (0, {"recorded": 4, "skipped": 6, "deselected": 15}), recorded.outlines
    (run,) = told.stored().values()
    assert json.loads(run)["metrics"]["role:accuracy"] == 0.5
    assert json.loads(run)["queries"]["tied"] == [1] * (6 + 2) * TRACKS
    assert told.run(*args).ret == 0
