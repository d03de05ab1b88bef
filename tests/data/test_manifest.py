"""A user's own folder: reading, counts, and errors that name file and line."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.manifest import load_folder
from pytest_audioretrieval.data.queries import clip_queries, text_queries
from pytest_audioretrieval.data.query_sets import from_dataset
from pytest_audioretrieval.errors import AudioError, DataError

TOML = 'name = "mine"\nlicence = "CC0"\n'


def make(folder: Path, lines: list[object], toml: str = TOML, files: tuple[str, ...] = ("a.wav", "b.wav")) -> Path:
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(files):
        soundfile.write(folder / name, np.full(480, 0.1 * (number + 1), dtype=np.float32), 48_000)
    (folder / "dataset.toml").write_text(toml)
    rows = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "captions.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("other", [os.mkfifo, os.mkdir])
def test_a_pipe_is_not_waited_for(other: Callable[[Path], None], tmp_path: Path) -> None:
    folder = make(tmp_path / "data", [{"audio": "c.wav", "captions": ["x"]}])
    other(folder / "c.wav")
    with pytest.raises(DataError, match=r"captions.jsonl:1: audio file 'c.wav' cannot be read \(a folder"):
        load_folder(folder)


A = {"audio": "a.wav", "captions": ["a dog barks", "barking"]}
B = {"audio": "b.wav", "captions": ["rain"], "id": "rain-1"}


def test_reads_clips_and_captions(tmp_path: Path) -> None:
    made = load_folder(make(tmp_path / "d", [A, B]))
    assert (made.name, made.revision) == ("mine", None)
    assert [c.id for c in made.clips] == ["a.wav", "rain-1"]
    assert made.clips[0].digest == hashlib.sha256((tmp_path / "d/a.wav").read_bytes()).hexdigest()
    assert [(c.id, c.text, c.clip) for c in made.captions] == [
        ("a.wav#0", "a dog barks", "a.wav"),
        ("a.wav#1", "barking", "a.wav"),
        ("rain-1#0", "rain", "rain-1"),
    ]
    wave = made.clips[1].read()
    assert wave.samples.shape == (480, 1)
    np.testing.assert_allclose(wave.samples, 0.2, atol=1e-4)


def test_strips_and_counts_repeats_within_a_clip(tmp_path: Path) -> None:
    """The pinned protocol strips whitespace and removes duplicates within a clip; both are counted here."""
    made = load_folder(make(tmp_path / "d", [{"audio": "a.wav", "captions": [" rain ", "rain", "wind"]}]))
    assert [c.text for c in made.captions] == ["rain", "wind"]
    assert made.notes == {
        "captions with white space around them, stripped": 1,
        "captions repeated within a clip, removed": 1,
    }


def test_shared_captions_are_counted_and_can_be_merged(tmp_path: Path) -> None:
    """Fault 65: a text that several clips share is counted, or becomes one query with all its clips."""
    lines = [{"audio": "a.wav", "captions": ["x", "a"]}, {"audio": "b.wav", "captions": ["x"]}]
    separate = load_folder(make(tmp_path / "d", lines))
    assert separate.notes == {"captions that several clips share": 2}
    assert text_queries(separate).relevant == ((0,), (0,), (1,))
    merged = load_folder(make(tmp_path / "e", lines, TOML + 'identical_captions = "merge"\n'))
    asked = text_queries(merged)
    assert asked.shown == ("x", "a")
    assert asked.relevant == ((0, 1), (0,))
    assert asked.clusters == ("a.wav", "a.wav")
    back = clip_queries(merged)
    assert back.relevant == ((0, 1), (0,))
    assert back.clusters == ("a.wav", "a.wav")
    assert merged.fingerprint != separate.fingerprint


def test_captions_are_never_split_at_full_stops(tmp_path: Path) -> None:
    """Faults 51 and 52: prose stays whole."""
    made = load_folder(make(tmp_path / "d", [{"audio": "a.wav", "captions": ["A. B. "]}]))
    assert [c.text for c in made.captions] == ["A. B."]


def test_a_caption_of_ten_thousand_words_is_kept(tmp_path: Path) -> None:
    long = "dog " * 10_000
    assert load_folder(make(tmp_path / "d", [{"audio": "a.wav", "captions": [long]}])).captions[0].text == long.strip()


def test_ids_that_begin_with_a_dash_and_hold_odd_characters(tmp_path: Path) -> None:
    """YouTube ids begin with '-', Clotho names hold commas and apostrophes."""
    name = "-cleaning window, glass squeak (it's).wav"
    made = load_folder(make(tmp_path / "d", [{"audio": name, "captions": ["x"]}], files=(name,)))
    assert made.clips[0].id == name


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([A, "{"], "captions.jsonl:2: Input data was truncated"),
        ([A, "", B, {**B, "id": "rain-1"}], "captions.jsonl:4: clip id 'rain-1' stands on line 3 already"),
        ([{"audio": "a.wav", "captions": ["  "]}], "captions.jsonl:1: caption 0 of clip 'a.wav' is empty"),
        ([{"audio": "a.wav", "captions": []}], "captions.jsonl:1: clip 'a.wav' has no captions"),
        ([{"audio": "a.wav", "captions": "rain"}], "captions.jsonl:1: Expected `array`, got `str` - at `$.captions`"),
        (
            [{"audio": "a.wav", "caption": ["x"], "captions": ["x"]}],
            "unknown field 'caption': did you mean 'captions'?",
        ),
        ([{"audio": "a.wav"}], "captions.jsonl:1: Object missing required field `captions`"),
        ([{"audio": "gone.wav", "captions": ["x"]}], "captions.jsonl:1: audio file 'gone.wav' is missing"),
        ([{"audio": "../a.wav", "captions": ["x"]}], "captions.jsonl:1: audio path '../a.wav' leaves"),
        ([{"audio": "/etc/hostname", "captions": ["x"]}], "captions.jsonl:1: audio path '/etc/hostname' leaves"),
        ([{"audio": "a\0.wav", "captions": ["x"]}], "leaves"),
        ([{"audio": "", "captions": ["x"]}], "leaves"),
        ([{**A, "sha256": "0" * 64}], "captions.jsonl:1: 'a.wav': sha256 is"),
        ([{**A, "id": " "}], "captions.jsonl:1: clip id is ' '"),
        ([], "no clips"),
    ],
)
def test_a_bad_line_is_refused_by_number(tmp_path: Path, lines: list[object], expected: str) -> None:
    with pytest.raises(DataError) as caught:
        load_folder(make(tmp_path / "d", lines))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "d", [A, B])
    (tmp_path / "outside.wav").write_bytes(b"secret")
    (tmp_path / "d/a.wav").unlink()
    (tmp_path / "d/a.wav").symlink_to(tmp_path / "outside.wav")
    with pytest.raises(DataError, match="leaves"):
        load_folder(tmp_path / "d")


def test_bytes_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    make(tmp_path / "d", [A])
    (tmp_path / "d/captions.jsonl").write_bytes(b'{"audio": "a.wav", "captions": ["\xff\xfe"]}\n')
    with pytest.raises(DataError, match=r"captions.jsonl:1: .*(UTF|utf)-8"):
        load_folder(tmp_path / "d")


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('name = "x"\n', "missing required field `licence`"),
        ('name = "a/b"\nlicence = "x"\n', "printable characters without slashes"),
        ('name = "x"\nlicense = "x"\n', "unknown field 'license': did you mean 'licence'?"),
        ("name = \n", "dataset.toml"),
        ("name = " + "[" * 100_000, "maximum recursion depth exceeded"),
        (TOML + f'sha256 = "{"0" * 64}"\n', "captions.jsonl: sha256 is"),
    ],
)
def test_a_bad_settings_file_is_refused(tmp_path: Path, toml: str, expected: str) -> None:
    with pytest.raises(DataError) as caught:
        load_folder(make(tmp_path / "d", [A], toml))
    assert expected in str(caught.value)


def test_an_empty_folder_says_what_belongs_in_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"dataset.toml is missing: make a folder of dataset.toml"):
        load_folder(tmp_path)


def test_broken_audio_is_never_replaced(tmp_path: Path) -> None:
    """Fault 22: a clip that cannot be decoded is an error that names it, not silence."""
    folder = make(tmp_path / "d", [A, B])
    (folder / "a.wav").write_bytes(b"RIFF....not audio")
    made = load_folder(folder)
    with pytest.raises(AudioError, match=r"a\.wav.*found an unreadable file"):
        made.clips[0].read()


def test_the_fingerprint_follows_every_part(tmp_path: Path) -> None:
    one = load_folder(make(tmp_path / "d", [A, B])).fingerprint
    assert load_folder(make(tmp_path / "e", [A, B])).fingerprint == one
    assert load_folder(make(tmp_path / "f", [B, A])).fingerprint != one
    assert load_folder(make(tmp_path / "g", [A, {**B, "captions": ["Rain"]}])).fingerprint != one
    assert load_folder(make(tmp_path / "h", [A, {**B, "id": "x"}])).fingerprint != one
    assert load_folder(make(tmp_path / "i", [A, B], files=("b.wav", "a.wav"))).fingerprint != one


@pytest.mark.parametrize("name", ["a\\u0000b", "a\\u001bb", "x" * 65])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="expected a word of at most 64 printable characters"):
        load_folder(make(tmp_path / "d", [A], f'name = "{name}"\nlicence = "x"\n'))


@pytest.mark.parametrize("caption", ["\u200b", "\ufeff \u200b".replace(" ", "")])
def test_a_caption_that_shows_nothing_is_empty(tmp_path: Path, caption: str) -> None:
    with pytest.raises(DataError, match=r"caption 0 of clip 'a\.wav' is empty"):
        load_folder(make(tmp_path / "d", [{"audio": "a.wav", "captions": [caption]}]))


def test_a_loop_of_links_and_a_byte_order_mark_are_named(tmp_path: Path) -> None:
    make(tmp_path / "d", [A, B])
    (tmp_path / "d/a.wav").unlink()
    (tmp_path / "d/a.wav").symlink_to(tmp_path / "d/a.wav")
    with pytest.raises(DataError, match=r"captions\.jsonl:1: audio (path|file) 'a\.wav'"):
        load_folder(tmp_path / "d")
    lines = (tmp_path / "d/captions.jsonl").read_bytes()
    (tmp_path / "d/captions.jsonl").write_bytes(b"\xef\xbb\xbf" + lines)
    with pytest.raises(DataError, match="byte order mark"):
        load_folder(tmp_path / "d")


FIVE = {form: f"{form} rain" for form in FORMS}


def test_forms_stand_per_caption(tmp_path: Path) -> None:
    """A list has one query per caption; a single caption may have strings; missing and empty forms have no key."""
    lines = [
        {**A, "forms": {"question": [" is a dog barking? ", None], "command": ["find a dog", "find barking"]}},
        {**B, "forms": FIVE | {"statement": " ", "indirect": None}},
    ]
    made = load_folder(make(tmp_path / "d", lines))
    assert [dict(c.forms) for c in made.captions] == [
        {"command": "find a dog", "question": "is a dog barking?"},
        {"command": "find barking"},
        {form: text for form, text in FIVE.items() if form not in ("statement", "indirect")},
    ]
    assert list(made.captions[0].forms) == ["command", "question"], "in the order of FORMS"
    assert made.notes == {}
    asked = from_dataset(made, cases="available")
    assert asked.missing["indirect"] == ("a.wav#0", "a.wav#1", "rain-1#0")
    assert len({*made.captions}) == 3, "captions with forms can be hashed"


def test_a_removed_caption_takes_its_forms_along(tmp_path: Path) -> None:
    line = {"audio": "a.wav", "captions": ["rain", "rain", "wind"], "forms": {"command": ["1", "2", "3"]}}
    made = load_folder(make(tmp_path / "d", [line]))
    assert [(c.id, dict(c.forms)) for c in made.captions] == [
        ("a.wav#0", {"command": "1"}),
        ("a.wav#2", {"command": "3"}),
    ]


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (
            {"comand": ["x", "y"]},
            "captions.jsonl:1: clip 'a.wav' has the unknown form 'comand': did you mean 'command'? use command",
        ),
        (
            {"command": "x"},
            "captions.jsonl:1: form 'command' of clip 'a.wav' has 1 queries, expected 2: give one per",
        ),
        ({"command": []}, "form 'command' of clip 'a.wav' has 0 queries, expected 2"),
        ({"command": ["x", 3]}, "captions.jsonl:1: Expected `str | null`, got `int` - at `$.forms[...][1]`"),
        (
            {"command": ["x", "a\u001bb"]},
            "form 'command' of caption 1 of clip 'a.wav' holds the control character U+001B",
        ),
        (["x"], "captions.jsonl:1: Expected `object | null`, got `array` - at `$.forms`"),
    ],
)
def test_bad_forms_are_refused_by_line(tmp_path: Path, forms: object, expected: str) -> None:
    with pytest.raises(DataError) as caught:
        load_folder(make(tmp_path / "d", [{**A, "forms": forms}]))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_forms_change_the_fingerprint_only_where_they_are(tmp_path: Path) -> None:
    plain = load_folder(make(tmp_path / "d", [A, B]))
    rows = [*([c.id, c.digest] for c in plain.clips), *([c.id, c.text, c.clip] for c in plain.captions)]
    content = "separate" + "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert plain.fingerprint == hashlib.sha256(content.encode()).hexdigest(), "as before there were forms"
    none = [{**A, "forms": {}}, {**B, "forms": {"command": None, "question": " "}}]
    assert load_folder(make(tmp_path / "e", none)).fingerprint == plain.fingerprint
    one, other, form, place = (
        load_folder(make(tmp_path / str(number), [{**A, "forms": forms}, B])).fingerprint
        for number, forms in enumerate(
            ({"command": ["x", None]}, {"command": ["y", None]}, {"question": ["x", None]}, {"command": [None, "x"]})
        )
    )
    assert len({plain.fingerprint, one, other, form, place}) == 5
    order = [{**A, "forms": {"question": ["q", "r"], "command": ["c", "d"]}}]
    same = [{**A, "forms": {"command": ["c", "d"], "question": ["q", "r"]}}]
    assert load_folder(make(tmp_path / "f", order)).fingerprint == load_folder(make(tmp_path / "g", same)).fingerprint


@pytest.mark.parametrize("caption", ["\u200b \u200b", "\u2060"])
def test_zero_width_characters_and_spaces_show_nothing(tmp_path: Path, caption: str) -> None:
    with pytest.raises(DataError, match=r"caption 0 of clip 'a\.wav' is empty"):
        load_folder(make(tmp_path / "d", [{"audio": "a.wav", "captions": [caption]}]))


def test_forms_that_are_all_empty_are_counted(tmp_path: Path) -> None:
    none = [{**A, "forms": {}}, {**B, "forms": {"command": None, "question": " "}}]
    said = "clips whose forms are all empty: rules make the queries"
    assert load_folder(make(tmp_path / "d", none)).notes == {said: 1}
    some = [{**A, "forms": {"command": ["x", "y"]}}, {**B, "forms": {"command": ""}}]
    assert said not in load_folder(make(tmp_path / "e", some)).notes


def test_a_file_that_changes_after_it_was_hashed_is_no_clip(tmp_path: Path) -> None:
    """Its vector would be stored under the old hash; on a large set hours lie between the two."""
    made = load_folder(make(tmp_path / "d", [A, B]))
    os.utime(tmp_path / "d/a.wav", (1, 1))
    made.clips[0].read()  # the same bytes, only touched
    soundfile.write(tmp_path / "d/a.wav", np.zeros(480, np.float32), 48_000)
    (tmp_path / "d/b.wav").unlink()
    with pytest.raises(AudioError, match=r"a\.wav changed since the dataset was loaded: run again$"):
        made.clips[0].read()
    with pytest.raises(AudioError, match=r"b\.wav cannot be read \(No such file or directory\)"):
        made.clips[1].read()
