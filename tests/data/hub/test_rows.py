"""Rows of sounds and captions: reading, cleaning, grouping, counts and errors."""

from __future__ import annotations

import hashlib
import io
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow.parquet import ParquetFile

from pytest_audioretrieval.data.hub import parquet as reading
from pytest_audioretrieval.data.hub.dataset import load_hub
from pytest_audioretrieval.data.hub.download import Part
from pytest_audioretrieval.data.hub.sets import CaptionRows, Expected, HubSet
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.embedding.prefetch import prefetch
from pytest_audioretrieval.errors import AudioError, DataError, PinError, RetrievalError
from pytest_audioretrieval.pinning.pins import Pin
from tests.data.hub.made import cell, pa, parquet, pq, sound
from tests.models.hub.stub import HubStub

pytestmark = pytest.mark.usefixtures("pins")

FIRST, SECOND = (f"data/test-{n:05}-of-00002.parquet" for n in range(2))
DAMAGED = sound(5)[:200]
STEREO = sound(2, rate=44_100, channels=2)

#: Six clips in seven rows, ``-a.wav`` in two of them.
ROWS_1: dict[str, list[Any]] = {
    "file": ["-a.wav", "Straße, naß.wav", "c", "-a.wav"],
    "audio": [cell(sound(1), "x.wav"), cell(STEREO), cell(sound(3, format="FLAC")), cell(sound(1))],
    "text": ["  a dog barks\n", "rain", "a tone", "a hound"],
    "more": [["a dog barks", ""], ["heavy rain"], [], None],
    "unread": [0, 1, 2, 3],
}
ROWS_2: dict[str, list[Any]] = {
    "file": ["d", "e", "f"],
    "audio": [cell(sound(4, subtype="PCM_24")), cell(DAMAGED), cell(sound(6, subtype="FLOAT"))],
    "text": ["rain", "broken", "\u200b "],
    "more": [["four"], [" twice", "twice "], []],
    "unread": [4, 5, 6],
}
SET = HubSet("rows", "owner/rows", CaptionRows("audio", "file", ("text", "more")), "CC0-1.0", Expected(6, 14, 9))


def files(**changes: list[Any]) -> dict[str, bytes]:
    """Return the two shards; ``changes`` are columns of the second one."""
    second = {name: values for name, values in (ROWS_2 | changes).items() if values}
    return {FIRST: parquet(ROWS_1), SECOND: parquet(second), "README.md": b"# rows", "data/train-0.parquet": b""}


def load(hub: HubStub, one: HubSet = SET, **loading: bool) -> Dataset:
    hub.files = hub.files or files()
    return load_hub(one, None, Loading(None, lambda items, what: items, **loading))


def test_threads_read_a_row_group_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = tmp_path / "part.parquet", Counter[int]()
    path.write_bytes(parquet({"id": [*map(str, range(30))], "audio": [cell(sound(n)) for n in range(30)]}, group=10))
    rows = list(reading.rows(Part("part", path), ["id"], "audio"))
    real = ParquetFile.read_row_group

    def noted(file: Any, group: int, **said: Any) -> Any:
        read[group] += 1
        time.sleep(0.02)  # long enough for the other thread to want it too
        return real(file, group, **said)

    monkeypatch.setattr(ParquetFile, "read_row_group", noted)
    reading._sounds.cache_clear()
    waves = list(prefetch(lambda row: row.sound.read("clip"), rows))
    assert [round(float(wave.samples[0, 0]) * 64) for wave in waves] == list(range(30))
    assert read == {0: 1, 1: 1, 2: 1}


def test_a_text_that_is_no_utf8_is_one_line(hub: HubStub) -> None:
    content = io.BytesIO()
    texts = pa.array([b"x", b"\xff", b"z"]).view(pa.string())
    pq.write_table(pa.table({**ROWS_2, "text": texts}), content)
    hub.files = files() | {SECOND: content.getvalue()}
    assert error(hub) == (
        f"{SECOND} cannot be read as a parquet file "
        "('utf-8' codec can't decode byte 0xff in position 0: invalid start byte): "
        "remove it from the hub's cache"
    )


def error(hub: HubStub, one: HubSet = SET, kind: type[RetrievalError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        load(hub, one)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_captions_are_stripped_cleaned_and_grouped_and_all_is_counted(hub: HubStub) -> None:
    dataset = load(hub)
    assert [clip.id for clip in dataset.clips] == ["-a.wav", "Straße, naß.wav", "c", "d", "e"]
    assert [(c.id, c.text, c.clip) for c in dataset.captions] == [
        ("-a.wav#0", "a dog barks", "-a.wav"),
        ("Straße, naß.wav#0", "rain", "Straße, naß.wav"),
        ("Straße, naß.wav#1", "heavy rain", "Straße, naß.wav"),
        ("c#0", "a tone", "c"),
        ("-a.wav#3", "a hound", "-a.wav"),
        ("d#0", "rain", "d"),
        ("d#1", "four", "d"),
        ("e#0", "broken", "e"),
        ("e#1", "twice", "e"),
    ]
    assert dataset.notes == {
        "rows grouped with an earlier row of their clip": 1,
        "captions with white space around them, stripped": 3,
        "captions repeated within a clip, removed": 2,
        "empty captions, removed": 3,
        "clips without a caption, left out": 1,
        "captions that several clips share": 2,
    }
    assert (dataset.name, dataset.revision) == ("rows", hub.commit)
    assert [c.digest for c in dataset.clips[:2]] == [hashlib.sha256(b).hexdigest() for b in (sound(1), STEREO)]
    assert not [path for path in hub.asked if path.endswith(("README.md", "train-0.parquet"))]


def test_sounds_are_decoded_from_their_row_and_each_row_group_is_read_once(hub: HubStub) -> None:
    dataset = load(hub)
    reading._sounds.cache_clear()
    heard = [clip.read() for clip in dataset.clips[:4]]
    assert [(w.rate, w.samples.shape) for w in heard] == [
        (48_000, (480, 1)),
        (44_100, (480, 2)),
        (48_000, (480, 1)),
        (48_000, (480, 1)),
    ]
    for number, waveform in enumerate(heard, start=1):
        np.testing.assert_allclose(waveform.samples, number / 64, atol=1e-6)
    assert reading._sounds.cache_info().misses == 3  # rows 0 and 1, row 2, and row 0 of the second file
    again = dataset.clips[1].read()
    np.testing.assert_array_equal(again.samples, heard[1].samples)


@pytest.mark.parametrize(
    "form",
    [
        {"subtype": "PCM_16"},
        {"subtype": "PCM_24"},
        {"subtype": "FLOAT"},
        {"format": "FLAC"},
        {"format": "OGG"},
        {"format": "MP3", "subtype": "MPEG_LAYER_III"},
    ],
    ids=str,
)
def test_every_format_of_soundfile_is_read_from_bytes(form: dict[str, str], hub: HubStub) -> None:
    content = sound(8, **form)
    hub.files = files(file=["d"], audio=[cell(content)], text=["eight"], more=[[]], unread=[])
    waveform = load(hub, HubSet("rows", "owner/rows", SET.layout, "", Expected())).clips[-1].read()
    assert (waveform.rate, waveform.samples.shape[1]) == (48_000, 1)
    assert waveform.samples[:480].mean() == pytest.approx(0.125, abs=0.03)


def test_damaged_bytes_are_named_by_clip_file_and_row(hub: HubStub) -> None:
    broken = load(hub).clips[-1]
    with pytest.raises(AudioError, match=rf"clip 'e \({SECOND}, row 1\)': found "):
        broken.read()


def test_bytes_that_changed_after_they_were_hashed(hub: HubStub) -> None:
    clip = load(hub).clips[0]
    place = clip.read.func.__self__.content.args[0]  # type: ignore[attr-defined]
    reading._sounds.cache_clear()
    place.resolve().write_bytes(parquet(ROWS_1 | {"audio": [cell(sound(n)) for n in (9, 2, 3, 9)]}))
    with pytest.raises(AudioError, match="its bytes changed since the dataset was loaded"):
        clip.read()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"text": []}, f"{SECOND}: columns are file, audio, more, unread, expected 'text'"),
        ({"audio": []}, f"{SECOND}: columns are file, text, more, unread, expected 'audio'"),
        ({"audio": ["x", "y", "z"]}, f"{SECOND}: column 'audio' is string, expected a struct with 'bytes'"),
        ({"audio": [cell(b"", "d.wav"), cell(None), None]}, f"{SECOND}, row 1: column 'audio' holds no bytes"),
        ({"audio": [cell(b""), None, cell(None)]}, f"{SECOND}, row 1: column 'audio' holds no bytes"),
        ({"file": ["d", "e", "-a.wav"]}, f"{SECOND}, row 2: an earlier row of clip '-a.wav' holds another sound"),
        ({"file": ["d", "e\n", "f"]}, f"{SECOND}, row 1: clip id is 'e\\n', expected printable characters"),
        ({"file": ["d", None, "f"]}, f"{SECOND}, row 1: id is None, expected a text or a whole number"),
        ({"file": [1.0, 2.0, 3.0]}, f"{SECOND}, row 0: id is 1.0, expected a text or a whole number"),
        ({"text": [1, 2, 3]}, f"{SECOND}, row 0: a caption of clip 'd' is int, expected a text"),
    ],
)
def test_rows_that_are_not_as_stated(changes: dict[str, list[Any]], expected: str, hub: HubStub) -> None:
    hub.files = files(**changes)
    assert error(hub).startswith(expected)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (Expected(957), "6 clips, expected the 957"),
        (Expected(6, 15), "14 texts, expected the 15"),
        (Expected(6, 14, 957), "9 captions, expected the 957"),
    ],
)
def test_a_set_with_other_counts_is_refused_naming_both(counts: Expected, expected: str, hub: HubStub) -> None:
    found = error(hub, HubSet("rows", "owner/rows", SET.layout, "", counts))
    assert found == (
        f"dataset owner/rows@{hub.commit} holds {expected} of the set known as 'rows': name the commit that has them"
    )


def test_the_identity_of_a_clip_may_be_the_name_of_its_file_or_a_number(hub: HubStub) -> None:
    hub.files = files(
        file=[7, 8, 7],
        audio=[cell(sound(4), "p.wav"), cell(sound(5), "q.wav"), cell(sound(4), "p.wav")],
    )
    del hub.files[FIRST]
    hub.files = {"data/test-00000-of-00001.parquet": hub.files[SECOND]}
    for column, names in (("file", ["7", "8"]), ("audio.path", ["p.wav", "q.wav"])):
        one = HubSet("rows", "owner/rows", CaptionRows("audio", column, ("text",)), "", Expected(2, 3, 2))
        assert [clip.id for clip in load(hub, one).clips] == names
    one = HubSet("rows", "owner/rows", CaptionRows("audio", "audio.name", ("text",)), "", Expected())
    assert "expected a struct with 'name'" in error(hub, one)


def test_captions_that_read_the_same_can_be_merged_and_that_changes_the_fingerprint(hub: HubStub) -> None:
    apart, merged = load(hub), load(hub, HubSet("rows", "owner/rows", SET.layout, "", Expected(), merge=True))
    assert merged.merge_identical_captions
    assert merged.fingerprint != apart.fingerprint


def test_a_pinned_fingerprint_must_be_met(hub: HubStub, pins: dict[str, Pin]) -> None:
    dataset = load(hub)
    pins["owner/rows"] = Pin(hub.commit, fingerprint=dataset.fingerprint)
    assert load(hub) == dataset
    pins["owner/rows"] = Pin(hub.commit, fingerprint="0" * 64)
    assert f"fingerprint is {dataset.fingerprint}, expected {'0' * 64} as PINS.json states" in error(hub, kind=PinError)


def test_no_parquet_file(hub: HubStub) -> None:
    hub.files = files() | {SECOND: b"PAR1 nothing PAR1"}
    assert error(hub).startswith(f"{SECOND} cannot be read as a parquet file (")


def test_a_page_that_cannot_be_decompressed(hub: HubStub) -> None:
    content = bytearray(parquet(ROWS_1))
    at = content.index(b"heavy")
    content[at - 40 : at] = b"\xff" * 40
    hub.files = files() | {FIRST: bytes(content)}
    assert error(hub).startswith(f"{FIRST} cannot be read as a parquet file (")


def test_without_pyarrow_one_line_says_what_to_install(hub: HubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert error(hub).endswith("pip install 'pytest-audioretrieval[hub]'")
