"""Commands ``pins add``, ``list`` and ``verify`` for a dataset, by the real client against a hub on loopback."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_audioretrieval.pinning.pins import Pin, Pins
from tests.data.hub.made import cell, pairs, parquet, sound
from tests.models.hub.conftest import COMMIT
from tests.models.hub.stub import HubStub, Place, told

DATASET, OTHER = f"datasets/tiny/tones@{COMMIT}", "f" * 40
FIRST, SECOND = (f"data/test-{n:05}-of-00002.parquet" for n in range(2))
COLD = (
    f"dataset tiny/tones@{COMMIT}: it is not, or not whole, in the local cache: download it once with a network "
    "connection, without --retrieval-offline and HF_HUB_OFFLINE"
)


def rows(*numbers: int) -> bytes:
    return parquet(
        {
            "file": [f"{n}.wav" for n in numbers],
            "audio": [cell(sound(n)) for n in numbers],
            "text": [f"a tone of {n}/64" for n in numbers],
        }
    )


@pytest.fixture
def stub() -> Iterator[HubStub]:
    files = {FIRST: rows(1, 2), SECOND: rows(3), "data/train-00000-of-00001.parquet": rows(9), "README.md": b"# tones"}
    with HubStub("tiny/tones", COMMIT, files, kind="datasets").running() as running:
        yield running


def hashes(stub: HubStub, *names: str) -> dict[str, str]:
    return {name: hashlib.sha256(stub.files[name]).hexdigest() for name in names or (FIRST, SECOND)}


def pinned(place: Place, name: str = "tiny/tones") -> dict[str, Any]:
    written = json.loads((place.folder / "PINS.json").read_text())
    assert written["models"] == {}
    found: dict[str, Any] = written["datasets"][name]
    return found


def own(place: Place, **datasets: Pin) -> None:
    named = {name.replace("__", "/"): pin for name, pin in datasets.items()}
    (place.folder / "PINS.json").write_text(Pins({}, named).text())


@pytest.mark.slow
def test_the_files_that_are_read_are_pinned_and_a_second_time_changes_nothing(place: Place, stub: HubStub) -> None:
    done = place.command("pins", "add", DATASET)
    assert done.returncode == 0, done.stderr
    known = hashes(stub)
    assert pinned(place) == {"revision": COMMIT, "files": known}
    assert done.stdout.splitlines() == [
        *(f"added      {name}  {digest}" for name, digest in known.items()),
        f"pinned {DATASET} in PINS.json: look at the difference and commit it",
    ]
    assert not any(path.endswith(("README.md", "train-00000-of-00001.parquet")) for path in stub.asked)
    written = (place.folder / "PINS.json").read_bytes()
    again = place.command("pins", "add", DATASET)
    assert again.stdout.splitlines() == [
        *(f"as pinned  {name}  {digest}" for name, digest in known.items()),
        f"{DATASET} is pinned already, all its files are known",
    ]
    assert (place.folder / "PINS.json").read_bytes() == written
    # From now on nobody is asked.
    stub.refuse(503)
    for name in ("tiny/tones", "datasets/tiny/tones"):
        well = place.command("pins", "verify", name)
        assert (well.returncode, well.stdout.splitlines()) == (
            0,
            [*(f"ok          tiny/tones@{COMMIT[:12]}  {file}" for file in known), "2 ok"],
        )
    listed = next(line for line in place.command("pins", "list").stdout.splitlines() if line.startswith("tiny/tones"))
    assert listed.split() == ["tiny/tones", COMMIT, "2", "of", "2", "hashed"]


@pytest.mark.slow
@pytest.mark.parametrize("meant", [None, OTHER], ids=["the commit that is meant", "another commit"])
def test_other_files_by_their_pattern(meant: str | None, place: Place, stub: HubStub) -> None:
    """They join what is pinned of the commit already."""
    own(place, tiny__tones=Pin(meant))
    assert place.command("pins", "add", DATASET).returncode == 0
    done = place.command("pins", "add", DATASET, "--files", "data/train-*.parquet")
    assert done.returncode == 0, done.stderr
    found = pinned(place)["other_revisions"][COMMIT] if meant else pinned(place)
    assert found["files"] == hashes(stub, FIRST, SECOND, "data/train-00000-of-00001.parquet")
    last = place.command("pins", "verify", "tiny/tones").stdout.splitlines()[-1]
    assert last == ("3 ok, 1 not here" if meant else "3 ok")


@pytest.mark.slow
def test_of_a_named_set_all_its_subsets(place: Place) -> None:
    """They are pinned under a commit of their own; the bare name still means the shipped commit."""
    files = pairs(3)
    with HubStub("mteb/MACS_t2a", COMMIT, files, kind="datasets").running() as hub:
        place.stub = hub
        done = place.command("pins", "add", f"datasets/mteb/MACS_t2a@{COMMIT}")
        assert done.returncode == 0, done.stderr
        assert pinned(place, "mteb/MACS_t2a") == {
            "revision": None,
            "other_revisions": {COMMIT: {"files": hashes(hub, *sorted(files))}},
        }
        told_so = place.pytest("--model", "builtin/tiny-clap-fused", "--retrieval-dataset", f"mteb/MACS_t2a@{COMMIT}",
                               "--retrieval-suite", "captions", "--retrieval-offline")  # fmt: skip
    assert "holds 3 clips, expected the 393 of the set known as " in told_so.stdout


@pytest.mark.slow
def test_other_bytes_are_refused_by_whoever_reads_them_later(place: Place, stub: HubStub) -> None:
    wrong = {**hashes(stub), SECOND: "0" * 64}
    own(place, tiny__tones=Pin(COMMIT, dict(wrong)))
    before = (place.folder / "PINS.json").read_bytes()
    text = told(place.command("pins", "add", DATASET))
    assert text.startswith(
        f"dataset tiny/tones@{COMMIT}: sha256 of {SECOND} is {hashes(stub)[SECOND]}, PINS.json expects {'0' * 64}"
    )
    assert (place.folder / "PINS.json").read_bytes() == before
    done = place.command("pins", "verify", "tiny/tones")
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ok", "MISMATCH", "1"]


@pytest.mark.slow
def test_a_transfer_that_went_wrong_is_not_pinned(place: Place, stub: HubStub) -> None:
    good = stub.files[SECOND]
    stub.announced[SECOND], stub.files[SECOND] = good, good[:-1] + bytes([good[-1] ^ 1])
    text = told(place.command("pins", "add", DATASET))
    assert text.startswith(f"dataset tiny/tones@{COMMIT}: {SECOND} is {hashes(stub)[SECOND]}, the hub's listing says")
    assert not (place.folder / "PINS.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        *(
            (
                (f"datasets/tiny/tones{commit}",),
                f"'datasets/tiny/tones{commit}' names no commit of a dataset, expected datasets/OWNER/NAME@<40 hex",
            )
            for commit in ("@main", "@" + COMMIT[:12], "@" + "A" * 40, "", "@")
        ),
        (
            (f"datasets/tones@{COMMIT}",),
            f"'datasets/tones@{COMMIT}' names no commit of a dataset, expected datasets/OWNER/NAME@<40 hex digits>",
        ),
        ((f"tiny/tones@{COMMIT}", "--files", "*"), "--files chooses files of a dataset, and "),
        ((DATASET, "--offline"), COLD),
    ],
)
def test_what_cannot_be_pinned_asks_nobody(
    arguments: tuple[str, ...], expected: str, place: Place, stub: HubStub
) -> None:
    assert told(place.command("pins", "add", *arguments)).startswith(expected)
    assert stub.asked == []
    assert not (place.folder / "PINS.json").exists()


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        (f"datasets/tiny/tones@{OTHER}", "", f"dataset tiny/tones@{OTHER}: the hub has no such id or commit (404): "),
        (f"datasets/tiny/drums@{COMMIT}", "", f"dataset tiny/drums@{COMMIT}: the hub has no such id or commit (404): "),
        (
            DATASET,
            "data/none-*",
            f"dataset tiny/tones@{COMMIT} has no file data/none-*: name a commit that is laid out so",
        ),
    ],
)
def test_what_the_hub_does_not_have(text: str, files: str, expected: str, place: Place) -> None:
    assert told(place.command("pins", "add", text, *(("--files", files) if files else ()))).startswith(expected)
    assert not (place.folder / "PINS.json").exists()


def test_from_a_refusal_to_a_verdict_by_the_command_that_it_names(place: Place, stub: HubStub, tmp_path: Path) -> None:
    stub.files = {"sounds/a.parquet": rows(1, 2, 3)}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/dataset.toml").write_text(
        f'''name = "mine"\nlicence = "CC0-1.0"\nlayout = "hub"\n[hub]\nid = "tiny/tones"\nrevision = "{COMMIT}"
files = "sounds/*.parquet"\naudio = "audio"\nclip = "file"\ncaptions = ["text"]\n'''
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "below").mkdir()
    ask = ("--model", "builtin/tiny-clap-fused", "--retrieval-dataset", "mine", "--retrieval-suite", "captions",
           "--retrieval-no-cache")  # fmt: skip
    refused = place.pytest(*ask, "--retrieval-record", "new")
    command = f"pins add {DATASET} --files 'sounds/*.parquet'"
    assert f"--retrieval-allow-unpinned: python -m pytest_audioretrieval {command}" in refused.stdout
    ill = place.command("doctor", *ask)
    assert f"next, dataset mine: python -m pytest_audioretrieval {command}" in ill.stdout
    assert stub.asked == []
    assert place.command(*command.replace("'", "").split()).returncode == 0
    stub.refuse(503)
    recorded = place.pytest(*ask, "--retrieval-record", "new", "--retrieval-offline")
    assert "10 recorded" in recorded.stdout, recorded.stdout
    well = place.command("doctor", *ask)
    assert (well.returncode, well.stdout.splitlines()[-1]) == (0, "nothing is missing"), well.stdout
    # The pins of the rootdir hold wherever below it pytest is started.
    place.folder = tmp_path / "below"
    below = [{"mine": "../mine"}.get(argument, argument) for argument in ask]
    judged = place.pytest("--rootdir", "..", "-c", "../pytest.ini", *below, "--retrieval-offline")
    assert "10 passed" in judged.stdout, judged.stdout
