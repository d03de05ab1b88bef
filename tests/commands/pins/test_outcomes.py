"""Outcomes of a download, by the real client in a process of its own against a hub on loopback."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.models.hub.conftest import COMMIT
from tests.models.hub.stub import HubStub, Place, told, waits

MODEL = f"tiny/clap@{COMMIT}"
COLD = (
    f"{MODEL}: it is not, or not whole, in the local cache: download it once with a network connection, without "
    "--retrieval-offline and HF_HUB_OFFLINE"
)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def written(place: Place) -> dict[str, object]:
    """The project's pin of the model."""
    found: dict[str, object] = json.loads((place.folder / "PINS.json").read_text())["models"]["tiny/clap"]
    return found


@pytest.mark.slow
def test_the_first_download_pins_every_file_and_brings_no_pickle(place: Place, stub: HubStub) -> None:
    done = place.command("pins", "add", MODEL)
    assert done.returncode == 0, done.stderr
    kept = {name: content for name, content in stub.files.items() if name != "pytorch_model.bin"}
    assert written(place) == {"revision": COMMIT, "files": {name: sha256(kept[name]) for name in kept}}
    assert {path.name: path.read_bytes() for path in (place.snapshots / COMMIT).iterdir()} == kept
    assert not any(path.endswith("pytorch_model.bin") for path in stub.asked)
    # From now on the bare name is enough, and nobody is asked.
    stub.refuse(503)
    assert place.command("pins", "verify", "tiny/clap").returncode == 0


@pytest.mark.slow
def test_a_broken_transfer_is_resumed_where_it_broke(place: Place, stub: HubStub) -> None:
    """The client keeps whole chunks of 10 MiB."""
    chunk = 10 * 2**20
    stub.files["model.safetensors"] = content = stub.files["model.safetensors"] * (3 * chunk // 2**17)
    assert 2 * chunk < len(content) < 4 * chunk
    stub.broken["model.safetensors"] = 1
    done = place.command("pins", "add", MODEL)
    assert done.returncode == 0, done.stderr
    ((name, asked),) = stub.ranges
    assert (name, int(asked.removeprefix("bytes=").removesuffix("-")) % chunk) == ("model.safetensors", 0)
    assert (place.snapshots / COMMIT / "model.safetensors").read_bytes() == content


@pytest.mark.slow
def test_wrong_bytes_of_the_right_size_are_not_pinned(place: Place, stub: HubStub) -> None:
    for name in ("model.safetensors", "config.json"):
        good = stub.files[name]
        stub.announced[name], stub.files[name] = good, good[:-1] + bytes([good[-1] ^ 1])
        text = told(place.command("pins", "add", MODEL))
        assert text.startswith(f"{MODEL}: {name} is "), text
        assert "the hub's listing says" in text
        assert "its transfer went wrong, delete" in text
        assert not (place.folder / "PINS.json").exists()
        stub.files[name] = good
        shutil.rmtree(place.home)


@pytest.mark.slow
def test_wrong_bytes_of_a_pinned_model_are_refused(place: Place, stub: HubStub) -> None:
    assert place.command("pins", "add", MODEL).returncode == 0
    before = (place.folder / "PINS.json").read_text()
    shutil.rmtree(place.home)
    good = stub.files["model.safetensors"]
    stub.files["model.safetensors"] = bad = good[:-1] + bytes([good[-1] ^ 1])
    text = told(place.command("pins", "add", MODEL))
    assert text.startswith(
        f"tiny/clap: sha256 of model.safetensors is {sha256(bad)}, PINS.json expects {sha256(good)}: it is not the "
        "pinned checkpoint"
    )
    assert (place.folder / "PINS.json").read_text() == before
    done = place.command("pins", "verify", "tiny/clap")
    assert done.returncode == 1
    mismatch = [line for line in done.stdout.splitlines() if line.startswith("MISMATCH")]
    assert len(mismatch) == 1
    assert f"model.safetensors  is {sha256(bad)}, expected {sha256(good)}" in mismatch[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (401, {}, "the hub lets nobody in without a login (401): check the id, accept its terms on its page, set"),
        (403, {"X_Error_Code": "GatedRepo"}, "your token may not read it (403): check the id, accept its terms on"),
        (404, {"X_Error_Code": "RepoNotFound"}, "the hub has no such id or commit (404): check both, and set"),
        (404, {"X_Error_Code": "RevisionNotFound"}, "the hub has no such id or commit (404): check both, and set"),
        (429, {"Retry_After": "37"}, "the hub had too many requests (429): wait 37 seconds and run again, or set"),
        (429, {}, "the hub had too many requests (429): wait some minutes and run again, or set HF_TOKEN"),
        (503, {}, "the hub is out of order (503): run again later; what is cached already needs no hub"),
    ],
)
def test_a_refusal_is_one_line(
    status: int, headers: dict[str, str], expected: str, place: Place, stub: HubStub
) -> None:
    stub.refuse(status, **headers)
    done = place.command("pins", "add", MODEL)
    assert done.returncode == 2
    assert told(done).startswith(f"{MODEL}: {expected}")
    assert not (place.folder / "PINS.json").exists()


@pytest.mark.slow
def test_a_busy_hub_is_asked_again_after_the_time_it_names(place: Place, stub: HubStub) -> None:
    """The client adds a second."""
    stub.refuse(429, times=1, Retry_After="7")
    done = place.command("pins", "add", MODEL)
    assert done.returncode == 0, done.stderr
    assert waits(done)[0] == 8


@pytest.mark.slow
def test_a_hub_that_recovers_is_asked_again(place: Place, stub: HubStub) -> None:
    stub.refuse(503, times=2)
    done = place.command("pins", "add", MODEL)
    assert done.returncode == 0, done.stderr
    assert len(waits(done)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "environment"), [(["--offline"], {}), ([], {"HF_HUB_OFFLINE": "1"})], ids=["option", "environment"]
)
def test_offline_without_a_cache(options: list[str], environment: dict[str, str], place: Place, stub: HubStub) -> None:
    assert told(place.command("pins", "add", MODEL, *options, **environment)) == COLD
    assert stub.asked == []


@pytest.mark.slow
def test_offline_with_a_cache_that_has_no_refs(place: Place, stub: HubStub) -> None:
    """Tools that copy a cache, and downloads by commit, leave ``refs/`` out."""
    assert place.command("pins", "add", MODEL).returncode == 0
    shutil.rmtree(place.snapshots.parent / "refs", ignore_errors=True)
    shutil.rmtree(place.snapshots.parent / "trees", ignore_errors=True)
    (place.folder / "PINS.json").unlink()
    stub.asked.clear()
    done = place.command("pins", "add", MODEL, "--offline")
    assert done.returncode == 0, done.stderr
    assert "the hub was not asked whether these are its bytes" in done.stdout
    assert written(place)["revision"] == COMMIT
    assert stub.asked == []


@pytest.mark.slow
def test_an_unreachable_hub(place: Place) -> None:
    done = place.command("pins", "add", MODEL, HF_ENDPOINT="http://127.0.0.1:9")
    assert told(done) == f"{MODEL}: the hub was not reached: run this again with a network connection"


@pytest.mark.slow
def test_files_that_leave_the_folder_are_not_fetched(place: Place, stub: HubStub) -> None:
    stub.files |= {"../evil.json": b"{}", "../../../../evil.json": b"{}", "/evil.json": b"{}"}
    assert place.command("pins", "add", MODEL).returncode == 0
    assert list(place.folder.rglob("evil.json")) == []
    assert not any("evil" in path for path in stub.asked)


@pytest.mark.slow
def test_weights_in_a_pickle_alone(place: Place, stub: HubStub) -> None:
    del stub.files["model.safetensors"]
    assert told(place.command("pins", "add", MODEL)) == (
        f"{MODEL} holds no .safetensors weights: save it anew with save_pretrained, pickles are not opened"
    )
    assert not any(path.endswith(".bin") for path in stub.asked)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_of_the_repository(file: str, place: Place, stub: HubStub) -> None:
    stub.files[file] = json.dumps(json.loads(stub.files[file]) | {"auto_map": {"AutoModel": "evil.Model"}}).encode()
    text = told(place.command("pins", "add", MODEL))
    assert text.startswith(f"{MODEL}: {file} asks for code of its repository (auto_map), which is never run: name a ")


@pytest.mark.slow
def test_weights_that_no_listing_has(place: Place, stub: HubStub) -> None:
    """transformers opens what an index names, wherever it lies."""
    index = {"metadata": {}, "weight_map": {"a": "model.safetensors", "b": "../other.safetensors"}}
    stub.files["model.safetensors.index.json"] = json.dumps(index).encode()
    text = told(place.command("pins", "add", MODEL))
    assert text.startswith(f"{MODEL}: model.safetensors.index.json names '../other.safetensors', which is not among")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "tiny/clap@main",
            "model 'tiny/clap@main': revision 'main' is no full commit: give 40 hex digits, no branch",
        ),
        ("tiny/clap@0123456", "model 'tiny/clap@0123456': revision '0123456' is no full commit: give 40 hex"),
        (f"mteb/Clotho@{'0' * 40}", "mteb/Clotho is a dataset: python -m pytest_audioretrieval pins add datasets/mteb"),
        ("tiny/clap", "'tiny/clap' names no commit, expected tiny/clap@<40 hex digits>"),
        (
            "laion/clap-htsat-unfused",
            "'laion/clap-htsat-unfused' names no commit, expected laion/clap-htsat-unfused@<40 hex digits>, such as "
            "the pinned laion/clap-htsat-unfused@8fa0f1c6d0433df6e97c127f64b2a1d6c0dcda8a",
        ),
        ("builtin/tiny-clap-fused", "'builtin/tiny-clap-fused' is no model of a hub, expected ID@COMMIT: leave it"),
    ],
)
def test_what_cannot_be_pinned(text: str, expected: str, place: Place, stub: HubStub) -> None:
    assert told(place.command("pins", "add", text)).startswith(expected)
    assert stub.asked == []


@pytest.mark.slow
def test_from_nothing_to_a_verdict_by_what_the_doctor_says(place: Place, stub: HubStub, clips: Path) -> None:
    """Refused unpinned; then every ``next`` is done, once, and the model is judged by its bare name, the hub gone."""
    asked = ("--retrieval-suite", "captions", "--retrieval-dataset", "tones", "--retrieval-cache", "kept")
    done = place.pytest("--model", MODEL, *asked)
    assert done.returncode == 1
    assert (
        f"{MODEL}: PINS.json does not pin it, expected a pinned commit or --retrieval-allow-unpinned: python"
        in done.stdout
    )
    ill = place.command("doctor", "--model", MODEL, *asked)
    assert (ill.returncode, ill.stderr.splitlines()[:-1]) == (1, []), ill.stdout
    assert stub.asked == []
    nexts = [line.partition(": ")[2] for line in ill.stdout.splitlines() if line.startswith("next, ")]
    recording = f"pytest --model {MODEL} {' '.join(asked)} --retrieval-record new"
    assert nexts == [f"python -m pytest_audioretrieval pins add {MODEL}", recording, recording]
    assert place.command(*nexts[0].split()[3:]).returncode == 0
    half = place.command("doctor", "--model", MODEL, *asked)
    assert "5 of 5 files are as pinned" in half.stdout
    assert half.stdout.splitlines()[-1] == "2 of 8 missing"
    recorded = place.pytest(*recording.split()[1:])
    assert "10 recorded" in recorded.stdout, recorded.stdout
    stub.refuse(503)
    well = place.command("doctor", "--model", "tiny/clap", *asked)
    assert (well.returncode, well.stdout.splitlines()[-1]) == (0, "nothing is missing"), well.stdout
    judged = place.pytest("--model", "tiny/clap", *asked)
    assert "10 passed" in judged.stdout, judged.stdout
    assert judged.stdout.count("identical") == 10


@pytest.mark.slow
def test_a_refusal_of_the_hub_fails_a_gate_in_one_line(place: Place, stub: HubStub, clips: Path) -> None:
    stub.refuse(401)
    done = place.pytest(
        "--model", MODEL, "--retrieval-allow-unpinned", "--retrieval-dataset", "tones", "--retrieval-suite", "captions"
    )
    assert done.returncode == 1
    assert f"ModelError: {MODEL}: the hub lets nobody in without a login (401)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "Captured" not in done.stdout
