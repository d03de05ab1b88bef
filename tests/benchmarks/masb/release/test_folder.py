"""A folder in MASB's layout: choices and rewordings, counts and errors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.benchmarks.masb.release.folder import load_masb
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.registry import source
from pytest_audioretrieval.data.types import Choice, Option, Rewording
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.masb.release_files import ANNOTATIONS, CAPTIONS, ORDER, changed, write

TOML = 'name = "masb"\nlicence = "CC"\nlayout = "masb"\n'


def sound(path: Path, value: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.full(480, value), 48_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "masb"
    write(made / "masb_annotations.csv", ANNOTATIONS)
    write(made / "masb_captions.csv", CAPTIONS)
    write(made / "masb_order_manifest.csv", ORDER[:2])
    (made / "dataset.toml").write_text(TOML)
    for number, name in enumerate(["clips/101_T.wav", "clips/101_O.flac", "clips/202_R.wav"]):
        sound(made / name, 0.1 + number / 100)
    for pair in ("i0000", "i0001"):
        sound(made / f"order/{pair}/A_first.wav", 0.3)
        sound(made / f"order/{pair}/B_first.wav", 0.4)
    return made


def test_every_caption_is_a_choice_and_a_rewording(folder: Path) -> None:
    made = load_masb(folder)
    assert (made.name, made.revision, made.captions, made.queries, dict(made.notes)) == ("masb", None, (), (), {})
    assert [clip.id for clip in made.clips[:4]] == ["101_T", "101_O", "202_R", "i0000_A_first"]
    assert made.clips[1].path == (folder / "clips/101_O.flac").resolve()
    np.testing.assert_allclose(made.clips[1].read().samples, 0.11, atol=1e-4)
    assert made.choices[1] == Choice(
        id="101_T_natural",
        right=Option("the tuba sounds bright while the hurdy gurdy is plummy", "101_T"),
        wrong=Option("the tuba sounds plummy while the hurdy gurdy is bright", "101_T"),
        cluster="101",
        slice="timbre",
    )
    assert made.rewordings[4] == Rewording(
        id="202_R_strict",
        text="the kazoo plays the melody while the tuba accompanies",
        swap="the tuba plays the melody while the kazoo accompanies",
        paraphrase="the melody is carried by the kazoo, with the tuba providing accompaniment",
        recording="202_R",
        cluster="202",
        slice="role",
    )
    assert [(r.recording, r.cluster) for r in made.rewordings] == [
        ("101_T", "101"), ("101_T", "101"), ("101_O", "101"), ("101_O", "101"), ("202_R", "202"), ("202_R", "202"),
    ]  # fmt: skip
    assert [c.slice for c in made.choices] == ["timbre"] * 2 + ["order"] * 2 + ["role"] * 2 + ["mirror-order"] * 4


def test_each_caption_of_a_pair_is_right_once_and_wrong_once(folder: Path) -> None:
    """MASB, Exp. 4: a+ wins with c+ over c-, a- with c- over c+; no prior over texts can win both."""
    plus, minus = "the kazoo enters before the bass", "the bass enters before the kazoo"
    assert load_masb(folder).choices[6:8] == (
        Choice("i0000_A_first", Option(plus, "i0000_A_first"), Option(minus, "i0000_A_first"), "aa-bb", "mirror-order"),
        Choice("i0000_B_first", Option(minus, "i0000_B_first"), Option(plus, "i0000_B_first"), "aa-bb", "mirror-order"),
    )


def test_a_users_folder_may_have_this_layout(folder: Path) -> None:
    assert source(str(folder), folder).load(Loading(None, iter)) == load_masb(folder)


def test_what_is_missing_is_left_out_and_counted(folder: Path) -> None:
    (folder / "clips/101_T.wav").unlink()
    (folder / "order/i0000/B_first.wav").unlink()
    sound(folder / "clips/999_T.wav", 0.5)
    sound(folder / "clips/.hidden.wav", 0.5)
    made = load_masb(folder)
    assert dict(made.notes) == {
        "choices left out: their clip is missing": 2,
        "order pairs left out: a mix is missing": 1,
        "files in clips that no annotation names": 1,
    }
    assert [clip.id for clip in made.clips] == ["101_O", "202_R", "i0001_A_first", "i0001_B_first"]
    assert len(made.choices) == 4 + 2
    assert len(made.rewordings) == 6, "they need no sound"
    assert {c.right.clip for c in made.choices} == {clip.id for clip in made.clips}


def test_without_a_manifest_there_are_no_mixes(folder: Path) -> None:
    (folder / "masb_order_manifest.csv").unlink()
    with pytest.raises(
        DataError, match=r"masb_order_manifest\.csv is missing, but its mixes are there: add it or remove"
    ):
        load_masb(folder)
    shutil.rmtree(folder / "order")
    assert {choice.slice for choice in load_masb(folder).choices} == {"timbre", "order", "role"}


CHANGES: dict[str, Callable[[Path], object]] = {
    "sound": lambda folder: sound(folder / "clips/101_T.wav", 0.77),
    "mix": lambda folder: sound(folder / "order/i0001/B_first.wav", 0.77),
    "no clip": lambda folder: (folder / "clips/101_T.wav").unlink(),
    "caption": lambda folder: write(folder / "masb_captions.csv", changed(CAPTIONS, 0, caption_pos="a tuba")),
    "swap": lambda folder: write(folder / "masb_captions.csv", changed(CAPTIONS, 0, caption_neg="a tuba")),
    "paraphrase": lambda folder: write(folder / "masb_captions.csv", changed(CAPTIONS, 0, caption_paraphrase="a tuba")),
    "track": lambda folder: write(folder / "masb_order_manifest.csv", changed(ORDER[:2], 0, moisesdb_track="z")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_is_over_everything(folder: Path, change: str) -> None:
    before = load_masb(folder).fingerprint
    assert load_masb(folder).fingerprint == before
    CHANGES[change](folder)
    assert load_masb(folder).fingerprint != before


def no_sound(folder: Path) -> None:
    for name in ("clips", "order"):
        shutil.rmtree(folder / name)


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "no sound": (no_sound, r"clips holds no clip, expected <clip_id>_<axis>\.wav: cut them \(command masb cut\)"),
    "two files": (
        lambda folder: sound(folder / "clips/101_T.flac", 0.1),
        r"clips: 101_T\.flac and 101_T\.wav are files of one recording: keep one",
    ),
    "two mixes": (
        lambda folder: sound(folder / "order/i0000/A_first.ogg", 0.1),
        r"i0000: A_first\.ogg and A_first\.wav are files of one recording: keep one",
    ),
    "no captions": (lambda folder: (folder / "masb_captions.csv").unlink(), r"masb_captions\.csv is missing: name a"),
    "pinned": (
        lambda folder: (folder / "dataset.toml").write_text(TOML + 'sha256 = "aa"\n'),
        r"dataset\.toml: sha256 is for layout 'captions': remove it",
    ),
    "merged": (
        lambda folder: (folder / "dataset.toml").write_text(TOML + 'identical_captions = "merge"\n'),
        r"dataset\.toml: identical_captions is for layout 'captions': remove it",
    ),
    "another layout": (
        lambda folder: (folder / "dataset.toml").write_text('name = "masb"\nlicence = "CC"\n'),
        r"dataset\.toml: layout is 'captions', expected 'masb'",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_folder_is_refused(folder: Path, wrong: str) -> None:
    change, says = WRONG[wrong]
    change(folder)
    with pytest.raises(DataError, match=says) as error:
        load_masb(folder)
    assert "\n" not in str(error.value)
