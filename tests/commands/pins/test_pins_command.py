"""Commands ``pins list``, ``pins verify`` and ``pins add``."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_audioretrieval.__main__ import main
from pytest_audioretrieval.commands import pins as pins_command
from pytest_audioretrieval.pinning.pins import Pin, Pins, Revision, load_pins
from tests.models.hub.conftest import COMMIT
from tests.models.hub.stub import HubStub, Place, told

MODEL, OTHER = f"tiny/clap@{COMMIT}", "f" * 40


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and a cache that holds nothing."""
    from huggingface_hub import constants

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path


def own(folder: Path, models: dict[str, Pin]) -> Path:
    path = folder / "PINS.json"
    path.write_text(Pins(models, {}).text())
    return path


def pinned(folder: Path, name: str = "tiny/clap") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "PINS.json").read_text())["models"][name]
    return found


def hashes(stub: HubStub) -> dict[str, str]:
    return {
        name: hashlib.sha256(content).hexdigest() for name, content in stub.files.items() if name != "pytorch_model.bin"
    }


def test_the_list_has_a_line_a_commit(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own(empty, {"tiny/clap": Pin(COMMIT, {"a": "a" * 64, "b": None}, note="mine")})
    assert main(["pins", "list"]) == 0
    out = capsys.readouterr().out
    lines = {tuple(line.split(None, 2)[:2]): line for line in out.splitlines()}
    shipped = load_pins()
    for name, pin in {**shipped.models, **shipped.datasets}.items():
        for commit in pin.commits():
            assert (name, commit or "-") in lines
    assert lines["tiny/clap", COMMIT].split() == ["tiny/clap", COMMIT, "1", "of", "2", "hashed", "mine"]
    assert "3 of 3 hashed" in lines["laion/clap-htsat-fused", "365dea6ef167def6676140ed93bbc43f84dabb28"]
    assert "none hashed" in lines["laion/clap-htsat-fused", "cca9e288ab447cee67d9ada1f85ddb46500f1401"]
    assert "all, by fingerprint" in lines["builtin/sounds", "2026-11-2"]


def test_what_is_built_in_is_as_pinned_and_what_is_not_here_is_said(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pins", "verify", "builtin/tiny-clap-fused", "builtin/sounds-single"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:-2]] == [
        ["ok", "builtin/tiny-clap-fused", file] for file in sorted(load_pins().models["builtin/tiny-clap-fused"].files)
    ]
    assert lines[-2:] == ["ok          builtin/sounds-single  its fingerprint", "6 ok"]
    # Of all that is pinned most is never here; what was asked for by name has to be.
    assert main(["pins", "verify", "laion/clap-htsat-fused"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "not here    laion/clap-htsat-fused@365dea6ef167",
        "not here    laion/clap-htsat-fused@cca9e288ab44",
        "2 not here",
    ]
    assert main(["pins", "verify", "builtin/tiny-clap"]) == 2
    assert capsys.readouterr().err == (
        "python -m pytest_audioretrieval: nothing is pinned as 'builtin/tiny-clap': did you mean "
        "'builtin/tiny-clap-fused'? see: pins list\n"
    )


def test_all_that_is_pinned(empty: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the built-in sounds, which take seconds to render."""
    monkeypatch.setattr(pins_command, "project_pins", lambda path: Pins(load_pins().models, {}))
    assert main(["pins", "verify"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "25 ok, 13 not here"


def test_a_file_that_differs_or_is_missing_or_is_not_pinned(
    empty: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "builtin/tiny-clap-fused"
    files = dict(load_pins().models[name].files)
    good = files["config.json"]
    files["config.json"] = "0" * 64
    del files["tokenizer.json"]
    files["vocab.txt"] = None
    monkeypatch.setattr(pins_command, "project_pins", lambda path: Pins({name: Pin(None, files)}, {}))
    assert main(["pins", "verify"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == f"MISMATCH    {name}  config.json  is {good}, expected {'0' * 64}: delete it and download it again"
    )
    assert [line.split()[0] for line in lines] == ["MISMATCH", "ok", "ok", "not", "ok", "MISSING", "3"]
    assert lines[-1] == "3 ok, 1 not pinned, 1 MISSING, 1 MISMATCH"


def test_null_hashes_are_completed_and_nothing_else_changes(place: Place, stub: HubStub) -> None:
    known = hashes(stub)
    before = {name: known[name] if name == "config.json" else None for name in ("config.json", "model.safetensors")}
    own(place.folder, {"tiny/clap": Pin(COMMIT, before, note="ours"), "else/where": Pin(OTHER)})
    done = place.command("pins", "add", MODEL)
    assert done.returncode == 0, done.stderr
    assert pinned(place.folder) == {"revision": COMMIT, "files": known, "note": "ours"}
    assert pinned(place.folder, "else/where") == {"revision": OTHER}
    assert done.stdout.splitlines()[:-1] == [
        f"{'as pinned ' if name == 'config.json' else 'added     '} {name}  {digest}" for name, digest in known.items()
    ]
    written = (place.folder / "PINS.json").read_bytes()
    again = place.command("pins", "add", MODEL, "--offline")
    assert again.stdout.splitlines()[-1] == f"{MODEL} is pinned already, all its files are known"
    assert (place.folder / "PINS.json").read_bytes() == written


def test_another_commit_stands_beside_the_one_that_the_bare_id_means(place: Place, stub: HubStub) -> None:
    own(place.folder, {"tiny/clap": Pin(OTHER, {"config.json": "a" * 64})})
    assert place.command("pins", "add", MODEL).returncode == 0
    assert pinned(place.folder) == {
        "revision": OTHER,
        "files": {"config.json": "a" * 64},
        "other_revisions": {COMMIT: {"files": hashes(stub)}},
    }
    # And it is held to.
    bad = {**hashes(stub), "config.json": "0" * 64}
    own(place.folder, {"tiny/clap": Pin(OTHER, other_revisions={COMMIT: Revision(dict(bad))})})
    assert told(place.command("pins", "add", MODEL)).startswith("tiny/clap: sha256 of config.json is ")


def test_pins_that_contradict_the_shipped_ones(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = own(empty, {"laion/clap-htsat-fused": Pin(OTHER)})
    for task in (["list"], ["verify"], ["add", MODEL]):
        assert main(["pins", *task]) == 2
        assert capsys.readouterr().err == (
            f"python -m pytest_audioretrieval: {path.name}: 'laion/clap-htsat-fused': revision is {OTHER}, the package "
            "pins 365dea6ef167def6676140ed93bbc43f84dabb28: move it under other_revisions\n"
        )


def test_pins_that_cannot_be_written(place: Place) -> None:
    (place.folder / "file").touch()
    text = told(place.command("pins", "add", MODEL, "--pins", "file/PINS.json"))
    assert text.startswith("file/PINS.json was not written (")
    assert text.endswith("): allow writing there, then add again")


def test_pytest_reads_the_pins_of_its_rootdir(tmp_path: Path) -> None:
    """The folder below it in which pytest is started does not matter."""
    own(tmp_path, {"builtin/tiny-clap-fused": Pin(None, {"config.json": "0" * 64})})
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (tmp_path / "below").mkdir()
    arguments = ("--model", "builtin/tiny-clap-fused", "--retrieval-dataset", "sounds-single")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=tmp_path / "below", capture_output=True, text=True
    )
    assert done.returncode == 1
    assert (
        f"PinError: {tmp_path / 'PINS.json'}: 'builtin/tiny-clap-fused': sha256 of config.json is 0000" in done.stdout
    )
