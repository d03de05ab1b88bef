"""Download of files: the pinned commit, hashes, resumption and offline use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_audioretrieval.data.hub import download
from pytest_audioretrieval.data.hub.dataset import load_hub
from pytest_audioretrieval.data.hub.sets import CaptionRows
from pytest_audioretrieval.data.loading import Loading
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import DataError, PinError, RetrievalError
from pytest_audioretrieval.pinning.pins import Pin, Revision
from tests.data.hub.conftest import OTHER, digests
from tests.data.hub.test_rows import FIRST, SECOND, SET, files
from tests.models.hub.stub import ALWAYS, HubStub
from tests.versions import needs

BREAKS = needs("huggingface-hub", "1", "it resumes a transfer that breaks")
COLD = "download it once with a network connection"
ADD = "python -m pytest_audioretrieval pins add datasets/owner/rows@"


@pytest.fixture(autouse=True)
def rows(hub: HubStub, pins: dict[str, Pin]) -> None:
    hub.files = files()


def load(commit: str | None = None, *, offline: bool = False, allow_unpinned: bool = False) -> Dataset:
    return load_hub(SET, commit, Loading(None, lambda items, what: items, offline, allow_unpinned))


def error(
    commit: str | None = None,
    kind: type[RetrievalError] = DataError,
    *,
    offline: bool = False,
    allow_unpinned: bool = False,
) -> str:
    with pytest.raises(kind) as caught:
        load(commit, offline=offline, allow_unpinned=allow_unpinned)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_offline_cold_then_warm(hub: HubStub) -> None:
    assert error(offline=True) == (
        f"dataset owner/rows@{hub.commit}: it is not, or not whole, in the local cache: "
        f"{COLD}, without --retrieval-offline and HF_HUB_OFFLINE"
    )
    assert hub.asked == []
    online = load()
    hub.asked.clear()
    assert load(offline=True) == online
    assert hub.asked == []


@BREAKS
def test_offline_with_half_of_it(hub: HubStub) -> None:
    """A broken transfer leaves a cache that lacks a file; it never passes as complete, and is completed online."""
    hub.broken[SECOND] = ALWAYS
    assert "could not be downloaded" in error()
    assert "it is not, or not whole, in the local cache: " in error(offline=True)
    hub.broken.clear()
    assert len(load().clips) == 5


@pytest.mark.parametrize(("offline", "why"), [(True, "--retrieval-offline forbids"), (False, "the network or the hub")])
def test_a_cache_that_lacks_a_shard(offline: bool, why: str, tmp_path: Path) -> None:
    """Older clients return what they have; file names state the number of files."""
    (tmp_path / "data").mkdir()
    (tmp_path / SECOND).touch()
    with pytest.raises(
        DataError, match=rf"set: 1 of the 2 files data/test-\*\.parquet are in the local cache, and {why}"
    ):
        download._parts(tmp_path, ["data/test-*.parquet"], "set", offline=offline)


def test_offline_with_another_split_only(hub: HubStub) -> None:
    hub.files = {"README.md": b"", "data/train-0.parquet": b""}
    assert "has no file data/test-*.parquet: name a commit that is laid out so" in error()
    from huggingface_hub import snapshot_download

    snapshot_download("owner/rows", repo_type="dataset", revision=hub.commit, allow_patterns=["data/train*"])
    assert "no file data/test-*.parquet is in the local cache" in error(offline=True)


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "data/../../*", ""])
def test_a_pattern_that_leaves_the_repository(pattern: str, hub: HubStub) -> None:
    load()
    hub.asked.clear()
    with pytest.raises(DataError, match=r"^dataset owner/rows@\w+: files is '.*', expected a pattern of paths inside"):
        download.fetch("owner/rows", Pin(hub.commit), [(pattern,)], offline=False)
    assert hub.asked == []


def test_a_folder_is_no_file(hub: HubStub) -> None:
    (found,) = download.fetch("owner/rows", Pin(hub.commit), [("*",)], offline=False)
    assert [part.name for part in found] == [name for name in hub.files if "/" not in name]


def test_several_splits_at_once(hub: HubStub) -> None:
    """Each split has as many files as its names state."""
    ((*found,),) = download.fetch("owner/rows", Pin(hub.commit), [("data/*.parquet",)], offline=False)
    assert [part.name for part in found] == sorted(name for name in hub.files if name.endswith(".parquet"))
    assert len({part.name.partition("-")[0] for part in found}) == 2


@BREAKS
def test_a_broken_transfer_is_resumed_where_it_broke(hub: HubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 256)
    hub.broken[SECOND] = 1
    assert load().captions[-1].text == "twice"
    half = len(hub.files[SECOND]) // 2
    begins = [int(asked[len("bytes=") : -1]) for path, asked in hub.ranges if path == SECOND]
    assert len(begins) == 1
    assert half - 256 <= begins[0] <= half


def test_an_unreachable_hub_serves_what_is_cached(hub: HubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    online = load()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert load() == online
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "/nonexistent/cache")
    assert error().endswith(": the hub was not reached: run this again with a network connection")


def test_wrong_bytes_are_refused_before_they_are_opened(hub: HubStub, pins: dict[str, Pin]) -> None:
    expected = digests(files())[SECOND]
    pins["owner/rows"] = Pin(hub.commit, files={FIRST: None, SECOND: expected, "data/train-0.parquet": "0" * 64})
    load()
    hub.commit = OTHER
    hub.files[SECOND] = b"no parquet at all, which only the hash may notice"
    pins["owner/rows"] = Pin(OTHER, files={FIRST: None, SECOND: expected})
    for offline in (False, True):
        text = error(kind=PinError, offline=offline)
        assert f"sha256 of {SECOND} is {digests(hub.files)[SECOND]}, PINS.json expects {expected}" in text


def test_a_file_that_the_pin_does_not_name(hub: HubStub, pins: dict[str, Pin]) -> None:
    pins["owner/rows"] = Pin(hub.commit, files={FIRST: digests(hub.files)[FIRST]})
    assert f"{SECOND} is not among the files that PINS.json names" in error(kind=PinError)


@pytest.mark.parametrize(
    ("pin", "commit", "allow", "expected"),
    [
        (None, None, True, f"dataset owner/rows is not pinned: {ADD}<40 hex digits>"),
        (Pin(None, note="begins 4d18"), None, True, f"dataset owner/rows is not pinned (begins 4d18): {ADD}<40 hex"),
        (Pin("a" * 40), OTHER, False, f"expected a pinned commit or --retrieval-allow-unpinned: {ADD}{OTHER}"),
        (Pin(None), OTHER, False, "PINS.json does not pin it, expected a pinned commit or --retrieval-allow-unpinned"),
        (Pin("a" * 40), OTHER, False, f"PINS.json pins {'a' * 40}, expected "),
    ],
)
def test_an_unpinned_commit_is_refused_before_anything_is_asked(
    pin: Pin | None, commit: str | None, allow: bool, expected: str, pins: dict[str, Pin], hub: HubStub
) -> None:
    del pins["owner/rows"]
    if pin is not None:
        pins["owner/rows"] = pin
    assert expected in error(commit, PinError, allow_unpinned=allow)
    assert hub.asked == []


def test_an_unpinned_commit_is_read_when_allowed(hub: HubStub, pins: dict[str, Pin]) -> None:
    """The pin of another commit does not apply."""
    pins["owner/rows"] = Pin("a" * 40, files={FIRST: "0" * 64}, fingerprint="0" * 64)
    assert load(hub.commit, allow_unpinned=True).revision == hub.commit


def test_a_commit_that_the_hub_does_not_have() -> None:
    text = error(OTHER, allow_unpinned=True)
    assert text == (
        f"dataset owner/rows@{OTHER}: the hub has no such id or commit (404): check both, and set HF_TOKEN if it is "
        "private"
    )


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_a_refusal_says_what_to_do(status: int, hub: HubStub) -> None:
    """The refusals are those of models, see ``tests/models/hub``."""
    hub.refuse(status)
    assert f"dataset owner/rows@{hub.commit}: " in error()
    assert f"({status}): " in error()


def test_a_second_pinned_commit_is_read_by_its_name_and_held_to_its_hashes(hub: HubStub, pins: dict[str, Pin]) -> None:
    pins["owner/rows"] = Pin("a" * 40, other_revisions={hub.commit: Revision(dict(digests(hub.files)))})
    assert load(hub.commit).revision == hub.commit
    pins["owner/rows"] = Pin("a" * 40, other_revisions={hub.commit: Revision({FIRST: "0" * 64, SECOND: None})})
    assert f"sha256 of {FIRST} is " in error(hub.commit, PinError)


def test_the_command_that_pins_names_files_that_are_not_those_of_a_test_split(pins: dict[str, Pin]) -> None:
    del pins["owner/rows"]
    layout = CaptionRows("audio", "file", ("text",), "data/test/*.parquet")
    with pytest.raises(PinError) as caught:
        load_hub(replace(SET, layout=layout), OTHER, Loading(None, lambda items, what: items))
    assert str(caught.value).endswith(f": {ADD}{OTHER} --files 'data/test/*.parquet'")
