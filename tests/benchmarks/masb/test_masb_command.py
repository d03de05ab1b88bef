"""The command ``python -m pytest_audioretrieval masb``: its output and exit code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.__main__ import main
from tests.benchmarks.masb.release_files import (
    ANNOTATIONS,
    CAPTIONS,
    REAL_ANNOTATIONS,
    REAL_CAPTIONS,
    changed,
    needs_shared,
    write,
)


def test_cut_names_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    annotations, out = write(tmp_path / "a.csv", ANNOTATIONS), tmp_path / "out"
    (tmp_path / "tracks").mkdir()
    soundfile.write(tmp_path / "tracks/202.wav", np.full(240_000, 0.1), 8_000)
    arguments = ["masb", "cut", str(annotations), str(tmp_path / "tracks"), str(out)]
    assert main(arguments) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"1 of 3 excerpts are in {out}: 1 cut, 0 kept",
        "tracks missing: 1",
        "  01/101.mp3",
        "excerpts that could not be cut: 0",
    ]
    soundfile.write(tmp_path / "tracks/101.wav", np.full(160_000, 0.1), 8_000)
    assert main(arguments) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        f"1 of 3 excerpts are in {out}: 0 cut, 1 kept",
        "tracks missing: 0",
        "excerpts that could not be cut: 2",
    ]
    assert [line.split(" is of")[0] for line in lines[3:]] == [
        "  clip '101_T of 101.wav'",
        "  clip '101_O of 101.wav'",
    ]
    soundfile.write(tmp_path / "tracks/101.wav", np.full(240_000, 0.1), 8_000)
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"3 of 3 excerpts are in {out}: 2 cut, 1 kept"


def test_check_names_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    annotations = write(tmp_path / "a.csv", ANNOTATIONS)
    assert main(["masb", "check", str(annotations), str(write(tmp_path / "c.csv", CAPTIONS))]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 recordings of 2 tracks",
        "6 of 6 caption rows are what their annotations make",
        "6 of 6 swaps hold the words of their caption",
    ]
    other = write(tmp_path / "d.csv", changed(CAPTIONS, 2, caption_neg="a tuba", caption_paraphrase="a horn"))
    assert main(["masb", "check", str(annotations), str(other)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "5 of 6 caption rows are what their annotations make",
        "  101_O_strict caption_neg: found 'a tuba', expected 'the hurdy gurdy enters before the tuba'",
        "  101_O_strict caption_paraphrase: found 'a horn', expected 'the tuba comes in earlier than the hurdy gurdy'",
        "5 of 6 swaps hold the words of their caption",
        "  101_O_strict",
    ]


@needs_shared
def test_the_release_passes_its_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["masb", "check", str(REAL_ANNOTATIONS), str(REAL_CAPTIONS)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "400 recordings of 149 tracks",
        "800 of 800 caption rows are what their annotations make",
        "800 of 800 swaps hold the words of their caption",
    ]


def test_what_cannot_be_read_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["masb", "check", str(tmp_path / "none.csv"), str(tmp_path / "c.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
