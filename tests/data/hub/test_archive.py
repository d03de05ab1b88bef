"""Tar archives of samples, such as MECAT's: reading, sounds and errors; nothing is unpacked."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants

from pytest_audioretrieval.api import load_dataset
from pytest_audioretrieval.data.hub import archive as reading
from pytest_audioretrieval.data.hub.dataset import load_hub
from pytest_audioretrieval.data.hub.sets import SETS, CaptionRows, Expected, HubSet
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import AudioError, DataError, PinError
from pytest_audioretrieval.pinning.pins import Pin, load_pins
from tests.data.hub.made import archive, sound
from tests.models.hub.stub import HubStub, point_client

pytestmark = pytest.mark.usefixtures("pins")

SHARD = "00A/test_0000-0000000.tar.gz"
SET = HubSet(
    "samples",
    "owner/rows",
    CaptionRows("flac", "__key__", ("json.short", "json.long"), "00A/test_*.tar.gz"),
    "",
    Expected(),
)


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    reading._opened.cache_clear()


def said(number: int, **fields: Any) -> bytes:
    return json.dumps(
        {"short": [f"tone {number}", f" tone {number}"], "long": [f"a tone of {number}/64"]} | fields
    ).encode()


def samples(*numbers: int) -> list[tuple[str, bytes]]:
    """Return two members for each number: the sound holds it, the captions name it."""
    both = ((f"./{n:03}.flac", sound(n, format="FLAC"), f"./{n:03}.json", said(n)) for n in numbers)
    return [pair for flac, held, name, text in both for pair in ((flac, held), (name, text))]


def load(one: HubSet = SET) -> Dataset:
    return load_hub(one, None, Loading(None, lambda items, what: items))


def error(hub: HubStub, members: list[tuple[str, bytes]] | bytes, one: HubSet = SET) -> str:
    hub.files = {SHARD: members if isinstance(members, bytes) else archive(members)}
    with pytest.raises(DataError) as caught:
        load(one)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_samples_are_members_of_one_name(hub: HubStub) -> None:
    hub.files = {SHARD: archive(samples(1, 2)), "00A/train_0000-0000000.tar.gz": b"", "README.md": b"#"}
    dataset = load()
    assert [(c.id, c.text, c.clip) for c in dataset.captions] == [
        ("001#0", "tone 1", "001"),
        ("001#2", "a tone of 1/64", "001"),
        ("002#0", "tone 2", "002"),
        ("002#2", "a tone of 2/64", "002"),
    ]
    assert dataset.notes["captions repeated within a clip, removed"] == 2
    assert [c.digest for c in dataset.clips] == [hashlib.sha256(sound(n, format="FLAC")).hexdigest() for n in (1, 2)]
    assert not [path for path in hub.asked if path.endswith(("README.md", "train_0000-0000000.tar.gz"))]


@pytest.mark.parametrize("form", ["w:gz", "w"])
def test_sounds_are_heard_in_any_order_and_by_several_threads(form: str, hub: HubStub, monkeypatch: Any) -> None:
    """The buffer is smaller than a member, so every step back starts the archive again."""
    monkeypatch.setattr(reading, "_HELD", 512)
    hub.files = {SHARD: archive(samples(*range(1, 21)), form=form)}
    clips = load().clips
    order = [*range(19, -1, -1), *range(20), 7, 3]
    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(lambda place: clips[place].read(), order))
    for place, wave in zip(order, heard, strict=True):
        np.testing.assert_allclose(wave.samples, (place + 1) / 64, atol=1e-4)


def test_a_thread_reads_from_where_it_sought(hub: HubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.files = {SHARD: archive(samples(*range(1, 9)))}
    clips = load().clips
    opened = reading._opened(clips[0].read.func.__self__.content.args[0])  # type: ignore[attr-defined]
    held = opened._bytes

    def seek(start: int) -> None:
        held.seek(start)
        time.sleep(0.01)

    monkeypatch.setattr(opened, "_bytes", SimpleNamespace(seek=seek, read=held.read, close=held.close))
    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(lambda clip: clip.read(), clips))
    for place, wave in enumerate(heard):
        np.testing.assert_allclose(wave.samples, (place + 1) / 64, atol=1e-4)


def test_several_shards_and_members_in_any_order(hub: HubStub) -> None:
    first = sorted(samples(1, 2), key=lambda member: member[0].rpartition(".")[2])
    hub.files = {SHARD: archive(first), SHARD.replace("test_0000", "test_0001"): archive(samples(3)[::-1])}
    clips = load().clips
    assert [clip.id for clip in clips] == ["001", "002", "003"]
    for place in (2, 0, 1):
        np.testing.assert_allclose(clips[place].read().samples, (place + 1) / 64, atol=1e-4)


def test_bytes_that_changed_after_they_were_hashed(hub: HubStub) -> None:
    hub.files = {SHARD: archive(samples(1))}
    clip = load().clips[0]
    place: Path = clip.read.func.__self__.content.args[0]  # type: ignore[attr-defined]
    place.resolve().write_bytes(archive(samples(2)))
    with pytest.raises(AudioError, match="its bytes changed since the dataset was loaded"):
        clip.read()


def link(kind: bytes) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        header = tarfile.TarInfo("001.flac")
        header.type, header.linkname = kind, "/etc/passwd"
        tar.addfile(header)
    return content.getvalue()


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (samples(1)[:1], f"{SHARD}, 001: no member ends in .json, expected one"),
        (samples(1)[1:], f"{SHARD}, 001: no member ends in .flac, expected one"),
        ([*samples(1), ("sub/001.flac", b"")], f"{SHARD}, 001: two members end in .flac, expected one"),
        ([samples(1)[0], ("001.json", b"[]")], f"{SHARD}, 001: .json holds list, expected a field 'short'"),
        ([samples(1)[0], ("001.json", b'{"long": []}')], "001: .json holds long, expected a field 'short'"),
        ([samples(1)[0], ("001.json", b"{")], f"{SHARD}, 001: .json is no JSON (Expecting property name"),
        ([samples(1)[0], ("001.json", b"[" * 10**5)], f"{SHARD}, 001: .json is no JSON ("),
        ([samples(1)[0], ("001.json", b"\xff")], f"{SHARD}, 001: '001.json' is no text in UTF-8"),
        (
            [samples(1)[0], ("001.json", b" " * (2**20 + 1))],
            "'001.json' holds 1048577 bytes, expected a text of 1048576",
        ),
        ([samples(1)[0], ("001.json", said(1, short=3))], "a caption of clip '001' is int, expected a text"),
        (archive(samples(1), form="w")[:700], f"{SHARD} cannot be read as a tar archive ("),
        (b"no archive", f"{SHARD} cannot be read as a tar archive ("),
        (b"\x1f\x8b\x08\x04" + bytes(6), f"{SHARD} cannot be read as a tar archive ("),  # a field of the header is cut
        (link(tarfile.SYMTYPE), f"{SHARD}: member '001.flac' is a link or device, expected a plain file"),
        (link(tarfile.LNKTYPE), f"{SHARD}: member '001.flac' is a link or device, expected a plain file"),
        (link(tarfile.CHRTYPE), f"{SHARD}: member '001.flac' is a link or device, expected a plain file"),
        (archive([]), "no clip with a caption: name another commit"),
    ],
    ids=range(17),
)
def test_what_is_no_archive_of_samples(members: Any, expected: str, hub: HubStub) -> None:
    assert expected in error(hub, members)


def test_a_name_that_leaves_the_folder_writes_nothing(hub: HubStub, tmp_path: Path) -> None:
    """Only the name of a member's path counts, and no member becomes a file."""
    flac, text = samples(1)
    hub.files = {SHARD: archive([("../../001.flac", flac[1]), ("/001.json", text[1])])}
    dataset = load()
    assert [clip.id for clip in dataset.clips] == ["001"]
    dataset.clips[0].read()
    assert not list(tmp_path.parent.rglob("001.*"))


def test_a_text_member_is_a_caption(hub: HubStub) -> None:
    hub.files = {SHARD: archive([("a.flac", sound(1, format="FLAC")), ("a.txt", "  Straße\n".encode())])}
    layout = CaptionRows("flac", "__key__", ("txt",), "00A/test_*.tar.gz")
    assert [c.text for c in load(replace(SET, layout=layout)).captions] == ["Straße"]


def test_mecat_is_its_00a_test_split_held_to_the_hash_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mecat = SETS["mecat"]
    pin = load_pins().datasets["mispeech/MECAT-Caption"]
    assert pin.revision is not None
    files = {SHARD: archive(samples(*range(1, 4)))}
    with HubStub("mispeech/MECAT-Caption", pin.revision, files, kind="datasets").running() as running:
        point_client(running, tmp_path / "mecat", monkeypatch)
        monkeypatch.setattr("pytest_audioretrieval.data.hub.download.project_pins", lambda own: load_pins())
        with pytest.raises(PinError, match=rf"sha256 of {SHARD} is .*, PINS\.json expects {pin.files[SHARD]}"):
            load_dataset("mecat")
        own = Pin(pin.revision)
        monkeypatch.setattr(
            "pytest_audioretrieval.data.hub.download.project_pins",
            lambda _: replace_datasets({"mispeech/MECAT-Caption": own}),
        )
        with pytest.raises(DataError, match="holds 3 clips, expected the 848 of the set known as 'mecat'"):
            load_dataset("mecat")
        monkeypatch.setitem(SETS, "mecat", replace(mecat, expected=Expected(3)))
        dataset = load_dataset("mecat")
    assert [c.text for c in dataset.captions] == ["tone 1", "tone 2", "tone 3"]


def replace_datasets(datasets: dict[str, Pin]) -> Any:
    from pytest_audioretrieval.pinning.pins import Pins

    return Pins({}, datasets)


def test_an_archive_that_is_gone_or_cut_when_somebody_listens(hub: HubStub) -> None:
    hub.files = {SHARD: archive(samples(1, 2))}
    (clip, _) = load().clips
    path = next(Path(constants.HF_HUB_CACHE).rglob(Path(SHARD).name))
    whole = path.read_bytes()
    for left in (whole[: len(whole) // 8], None):
        reading._opened.cache_clear()
        path.unlink()
        if left is not None:
            path.write_bytes(left)
        with pytest.raises(
            AudioError, match=r"^clip '001 \(.*, 001\)': its file can no longer be read \(.*\): run again$"
        ):
            clip.read()
