"""Builds: the same bytes for any number of processes and after any stop; foreign files stay untouched."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.__main__ import main
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.atomic_sounds import read_sounds
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.render import render
from pytest_audioretrieval.benchmarks.reasonaudio.release.build import LOCK, Built, build
from pytest_audioretrieval.benchmarks.reasonaudio.release.folder import load_reasonaudio
from pytest_audioretrieval.benchmarks.reasonaudio.release.reader import read_release
from pytest_audioretrieval.errors import DataError, SpecError
from tests.benchmarks.reasonaudio.corpus.tones import make_sounds, tone, write

pytestmark = pytest.mark.slow

CLIPS, SECONDS = 60, 3
COMMAND = [sys.executable, "-m", "pytest_audioretrieval", "reasonaudio", "build"]
#: As many as so few short clips allow.
ASKED = {"queries": 5, "choices_per_task": 1}
OPTIONS = [
    *("--clips", str(CLIPS), "--seconds", str(SECONDS), "--workers", "2"),
    *("--queries", str(ASKED["queries"]), "--choices-per-task", str(ASKED["choices_per_task"])),
]


def again(sounds: Path, out: Path, *, workers: int = 1, clips: int = CLIPS, seed: int = 20261028) -> Built:
    return build(
        sounds, out, clips=clips, **ASKED, seconds=SECONDS, seed=seed, workers=workers, track=lambda items, what: items
    )


def contents(out: Path) -> dict[str, str]:
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != LOCK)
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sounds(tmp_path_factory.mktemp("reasonaudio") / "sounds")


@pytest.fixture(scope="module")
def whole(sounds: Path) -> Path:
    """A corpus built by two processes without a stop."""
    again(sounds, sounds.parent / "whole", workers=2)
    return sounds.parent / "whole"


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    """A copy of the corpus that tests may damage."""
    return Path(shutil.copytree(whole, tmp_path / "out"))


def a_clip(out: Path, ending: str = "flac") -> Path:
    return sorted((out / "clips").glob(f"*.{ending}"))[17]


# What is built


def test_files_are_clips_with_their_metadata(whole: Path, sounds: Path) -> None:
    release = read_release(whole)
    composites, digests = release.composites.values(), release.digests
    ids = [composite.id for composite in composites]
    expected = {
        "corpus.json",
        "clips.jsonl",
        "dataset.toml",
        "queries.jsonl",
        "qrels.tsv",
        "choices.jsonl",
        *(f"clips/{name}.{end}" for name in ids for end in ("flac", "json")),
    }
    assert set(contents(whole)) == expected
    assert len(ids) == CLIPS
    assert len(load_reasonaudio(whole).queries) == ASKED["queries"]
    lines = (whole / "clips.jsonl").read_bytes().splitlines(keepends=True)
    atoms = read_sounds(sounds)
    for composite, line in zip(composites, lines, strict=True):
        told, clip = json.loads(line), whole / "clips" / f"{composite.id}.flac"
        assert (whole / "clips" / f"{composite.id}.json").read_bytes() == line
        assert [(e["sound"], e["start_ms"], e["end_ms"]) for e in told["events"]] == [*map(tuple, composite.events)]
        assert digests[composite.id] == told["sha256"] == hashlib.sha256(clip.read_bytes()).hexdigest()
        samples, rate = soundfile.read(clip, dtype="int16")
        assert (rate, soundfile.info(clip).subtype) == (48_000, "PCM_16")
        np.testing.assert_array_equal(samples, render(composite, atoms, SECONDS))


@pytest.mark.parametrize("workers", [1, 4])
def test_bytes_do_not_depend_on_the_number_of_processes(
    sounds: Path, whole: Path, tmp_path: Path, workers: int
) -> None:
    built = again(sounds, tmp_path / "out", workers=workers)
    assert contents(tmp_path / "out") == contents(whole)
    assert built.sha256 == contents(whole)["clips.jsonl"]
    release = read_release(whole)
    assert (built.composites, built.digests) == (list(release.composites.values()), release.digests)


# Stopped and damaged


def kill_when(files: int, sounds: Path, out: Path) -> None:
    """Start the command and kill -9 it once that many files of clips exist; its processes end with it."""
    process = subprocess.Popen([*COMMAND, str(sounds), str(out), *OPTIONS], stderr=subprocess.PIPE)
    folder = out / "clips"
    while not folder.is_dir() or sum(1 for _ in folder.iterdir()) < files:
        assert process.poll() is None
        time.sleep(0.001)
    process.kill()
    process.communicate(timeout=20)  # until every process that inherited stderr has ended
    assert process.returncode == -signal.SIGKILL


def test_killed_at_any_moment_and_run_again(sounds: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for clips in (1, 31, 70):
        kill_when(clips, sounds, out)
        assert not (out / "clips.jsonl").exists()
    done = {path: path.stat().st_mtime_ns for path in (out / "clips").glob("*.json")}
    again(sounds, out, workers=2)
    assert contents(out) == contents(whole)
    assert sum(path.stat().st_mtime_ns == then for path, then in done.items()) == len(done) > 20


def damage(out: Path) -> None:
    """Damage clips: cut, with a wrong bit, lost, without metadata or half of them; leave unfinished files."""
    clips = sorted((out / "clips").glob("*.flac"))
    clips[3].write_bytes(clips[3].read_bytes()[:1000])
    flipped = bytearray(clips[20].read_bytes())
    flipped[len(flipped) // 2] ^= 1
    clips[20].write_bytes(flipped)
    clips[21].unlink()
    clips[40].with_suffix(".json").unlink()
    clips[59].with_suffix(".json").write_bytes(clips[59].with_suffix(".json").read_bytes()[:50])
    (out / "clips" / f".{clips[5].name[:100]}.abc.tmp").write_bytes(b"fLaC")
    (out / ".clips.jsonl.abc.tmp").write_bytes(b"{")
    (out / "clips.jsonl").write_bytes(b"")


def empty(out: Path) -> None:
    for path in (out / "clips").iterdir():
        path.unlink()
    (out / "clips.jsonl").unlink()


def lose_recipe(out: Path) -> None:
    (out / "corpus.json").unlink()


@pytest.mark.parametrize("harm", [damage, empty, lose_recipe])
def test_whatever_was_damaged_is_made_again(sounds: Path, whole: Path, out: Path, harm: Callable[[Path], None]) -> None:
    harm(out)
    assert contents(out) != contents(whole)
    again(sounds, out, workers=2)
    assert contents(out) == contents(whole)


def test_what_is_whole_is_left_alone(sounds: Path, out: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (out / "clips").iterdir()}
    a_clip(out).write_bytes(b"damaged")
    again(sounds, out)
    after = {path: path.stat().st_mtime_ns for path in (out / "clips").iterdir()}
    assert {path.stem for path in after if after[path] != before[path]} == {a_clip(out).stem}


# Refused


def test_another_corpus_is_not_built_over(sounds: Path, out: Path, tmp_path: Path) -> None:
    before = contents(out)
    with pytest.raises(DataError, match=r"out holds a corpus of seed 20261028, expected 5: build into another"):
        again(sounds, out, seed=5)
    with pytest.raises(DataError, match="holds a corpus of clips 60, expected 61"):
        again(sounds, out, clips=61)
    other = make_sounds(tmp_path / "other")
    write(other / "dog.wav", tone(1.5, pitch=99))
    with pytest.raises(DataError, match=r"holds a corpus of sounds 'dog': [0-9a-f]{64}, expected 'dog': [0-9a-f]"):
        again(other, out)
    write(other / "wolf.wav", tone(1.0))
    (other / "dog.wav").unlink()
    with pytest.raises(DataError, match=r"sounds 'dog': [0-9a-f]{64}, expected 'dog': none"):
        again(other, out)
    assert contents(out) == before


def test_sounds_that_change_meanwhile_are_noticed(sounds: Path, tmp_path: Path) -> None:
    other = tmp_path / "sounds"
    shutil.copytree(sounds, other)

    def change(items: Sequence[object], what: str) -> Sequence[object]:
        write(other / "dog.wav", tone(1.5, pitch=99))
        return items

    with pytest.raises(DataError, match="sounds changed while clips were made of them: run this again"):
        build(other, tmp_path / "out", clips=CLIPS, **ASKED, seconds=SECONDS, workers=1, track=change)


def test_foreign_files_are_named(sounds: Path, tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "mine.flac").write_bytes(b"")
    with pytest.raises(DataError, match=r"clips/mine\.flac is no file of this corpus \(1 such\): move it elsewhere"):
        again(sounds, tmp_path)
    assert list(contents(tmp_path)) == ["clips/mine.flac"]


@pytest.mark.parametrize("name", ["dataset.toml", "queries.jsonl", "queries.csv", "qrels.csv", "clips.jsonl"])
def test_another_dataset_is_not_written_over(sounds: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(DataError, match=rf"{name} is no file of this corpus: move it elsewhere"):
        again(sounds, tmp_path)
    assert list(contents(tmp_path)) == [name]


def test_a_second_build_at_the_same_time_is_refused(sounds: Path, whole: Path, tmp_path: Path) -> None:
    """It would take the first one's unfinished files for foreign or abandoned ones."""
    out = tmp_path / "out"

    def meanwhile(items: Sequence[object], what: str) -> Sequence[object]:
        with pytest.raises(DataError, match=rf"{out}: another build is at work there: let it end, or build into"):
            again(sounds, out)
        return items

    build(sounds, out, clips=CLIPS, **ASKED, seconds=SECONDS, workers=1, track=meanwhile)
    assert contents(again(sounds, out) and out) == contents(whole)


def test_places_that_cannot_be(sounds: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match=r"file.* was not written \((Not a directory|File exists)\)"):
        again(sounds, tmp_path / "file")
    with pytest.raises(SpecError, match="lies in the folder of sounds: build elsewhere"):
        again(sounds, sounds / "out")
    with pytest.raises(SpecError, match="workers is 0, expected at least 1"):
        again(sounds, tmp_path / "out", workers=0)
    with pytest.raises(SpecError, match="choices per task is -1, expected at least 0"):
        build(sounds, tmp_path / "out", choices_per_task=-1)
    assert not (sounds / "out").exists()
    assert not (tmp_path / "out").exists()


def test_a_clip_that_cannot_be_written_is_named(sounds: Path, out: Path) -> None:
    clip = a_clip(out)
    clip.unlink()
    clip.mkdir()
    with pytest.raises(DataError, match=rf"{clip} was not written \(Is a directory\)"):
        again(sounds, out)


# Read


def replaced(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new, 1))


def test_metadata_and_audio_that_disagree(out: Path) -> None:
    beside, clip, listed = a_clip(out, "json"), a_clip(out), out / "clips.jsonl"
    told, heard, lines = beside.read_bytes(), clip.read_bytes(), listed.read_bytes()
    end = json.loads(told)["events"][-1]["end_ms"]

    def refused(message: str) -> None:
        with pytest.raises(DataError, match=message):
            load_reasonaudio(out)

    replaced(beside, f'"end_ms":{end}', f'"end_ms":{end - 1}')
    refused(rf"{beside} differs from .*clips\.jsonl:18: build the corpus again")
    beside.write_bytes(told)
    soundfile.write(clip, soundfile.read(clip, dtype="int16")[0][:96_000], 48_000)
    refused(rf"{clip}: sha256 is [0-9a-f]+, expected [0-9a-f]+ as clips\.jsonl states: build the corpus again")
    clip.unlink()
    refused(rf"clips\.jsonl:18: clip '{clip.stem}' has no file in clips/")
    clip.write_bytes(heard)
    replaced(listed, f"-{end}", f"-{end - 1}")
    refused(r"clips\.jsonl:\d+: clip .* has no file in clips/")
    listed.write_bytes(lines)
    replaced(listed, f'"end_ms":{end}', f'"end_ms":{end - 1}')
    refused(r"clips\.jsonl:\d+: events differ from those of the clip's name")
    listed.write_bytes(b"".join(lines.splitlines(keepends=True)[:-1]))
    refused(r"clips\.jsonl: clip .* is missing \(1 such\)")


def test_a_recipe_of_another_schema_or_none(sounds: Path, out: Path) -> None:
    replaced(out / "corpus.json", '"schema": 1', '"schema": 2')
    with pytest.raises(DataError, match=r"corpus\.json: schema is 2, expected 1"):
        again(sounds, out)
    (out / "corpus.json").write_text("{")
    with pytest.raises(DataError, match=r"corpus\.json: .*restore it or build into an empty folder"):
        again(sounds, out)


# The command


def test_the_command_tells_hash_and_errors(
    sounds: Path, whole: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reasonaudio", "build", str(sounds), str(out), *OPTIONS]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{out}: 60 clips, corpus sha256 {contents(whole)['clips.jsonl']}"
    asked = f"--retrieval-suite reasoning --retrieval-dataset {out} --retrieval-record new"
    assert told[1].startswith(f"next: pytest --model MODEL {asked}, ")
    assert main(["reasonaudio", "build", str(out / "clips"), str(out / "new"), *OPTIONS]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "rename it to what it sounds like" in error
