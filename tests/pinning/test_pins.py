"""Strict reading of PINS.json, and verification of files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_audioretrieval.base import shipped as shipping
from pytest_audioretrieval.errors import PinError
from pytest_audioretrieval.pinning import pins as pins_module
from pytest_audioretrieval.pinning.pins import (
    Pin,
    Pins,
    Revision,
    load_pins,
    project_pins,
    read_pins,
    sha256_of,
    verify,
)
from pytest_audioretrieval.pinning.spec import builtin_names

A, B, COMMIT, OTHER = "a" * 64, "b" * 64, "c" * 40, "d" * 40

#: Commits as their hubs have them: of the pinned protocol, of mteb's model and task registry, of the models' own pages;
#: MECAT's as others read it (docs/how-to/hub-datasets.md).
KNOWN = {
    "laion/clap-htsat-fused": "365dea6ef167def6676140ed93bbc43f84dabb28",
    "laion/clap-htsat-unfused": "8fa0f1c6d0433df6e97c127f64b2a1d6c0dcda8a",
    "laion/larger_clap_general": "ada0c23a36c4e8582805bb38fec3905903f18b41",
    "laion/larger_clap_music": "a0b4534a14f58e20944452dff00a22a06ce629d1",
    "laion/larger_clap_music_and_speech": "195c3a3e68faebb3e2088b9a79e79b43ddbda76b",
    "OpenMuQ/MuQ-MuLan-large": "8a081dbcf84edd47ea7db3c4ecb8fd1ec1ddacfe",
    "LCO-Embedding/LCO-Embedding-Omni-3B": "eea763cfaf673e955ae86c64968896a3fea70189",
    "LCO-Embedding/LCO-Embedding-Omni-7B": "3d38f58aae1253a4443b1270b0767f1e533936cf",
    "Haon-Chen/e5-omni-7B": "ffea4ae1382fc26dc9fc337a89ced3fab58e408b",
    "Tevatron/OmniEmbed-v0.1": "fa8be315e74d07f563b07c0d053525de6dc7eda8",
    "nvidia/omni-embed-nemotron-3b": "e0e93aaaa65d2422a8a0c1284116e71f7a0fe966",
    "CLAPv2/audiocaps": None,
    "gijs/clotho": None,
    "mteb/audiocaps_t2a": "cb63d82bd4b2868f5e6410bf771d1c91bfc50203",
    "mteb/audiocaps_a2t": "acfbf827c27f81787800129443780c072dc8ae62",
    "mteb/Clotho": "c44521cd4067f134e5f5bace4290b59ed773b451",
    "lxercode/clotho_t2a_v2": "13cf5105f96e1844ee3b0b84cfba9103a7ebe6a2",
    "lxercode/clotho_a2t_v2": "fb4fbd5c1e612be4894a478bd45500eb0bcd689f",
    "mteb/MACS_t2a": "74ce553cb9b43aee5169f0bddd30bd5dee8d26d1",
    "mteb/MACS_a2t": "4b34d10b24e99551890d407f12732a2c2ee1405b",
    "mispeech/MECAT-Caption": "be4a24c3f7309d74208e08a7cce49e72cb7a5834",
}
MTEB_FUSED = "cca9e288ab447cee67d9ada1f85ddb46500f1401"
FUSED_FILES = {
    "config.json": "b1d63489dc5061da229c23d2b11e9ca731639574449f82319fabb01da7fcf480",
    "preprocessor_config.json": "072bdd9ba771b6d213c56f15c0f765e33192b92e481581b52271cf16c9013684",
    "model.safetensors": "3f648de6d030e17494be455d323b8d191233fbae0c7ce0ba745fd21a926a63a6",
}
LAION_OWN = "laion_clap:630k-audioset-best.pt"
LAION_SHA256 = "8053c9775516af2f4902e1e8281e356cc1bf7a85e8b761908170767b77c3f037"


def written(folder: Path, content: str | dict[str, Any]) -> Path:
    path = folder / "PINS.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def one_model(**pin: Any) -> dict[str, Any]:
    return {"models": {"o/m": pin}, "datasets": {}}


def test_the_shipped_pins_hold_every_built_in_checkpoint_and_the_pinned_protocol() -> None:
    """The pinned protocol names the fused and unfused commits."""
    pins = load_pins()
    assert {name for name in pins.models if name.startswith("builtin/")} >= {f"builtin/{n}" for n in builtin_names()}
    fused = pins.models["laion/clap-htsat-fused"]
    assert fused.revision == "365dea6ef167def6676140ed93bbc43f84dabb28"
    assert fused.files["model.safetensors"] == "3f648de6d030e17494be455d323b8d191233fbae0c7ce0ba745fd21a926a63a6"
    assert pins.models["laion/clap-htsat-unfused"].revision == "8fa0f1c6d0433df6e97c127f64b2a1d6c0dcda8a"


def test_what_is_known_of_every_hub_model_and_dataset_is_pinned_and_nothing_more() -> None:
    pins = load_pins()
    shipped = {**pins.models, **pins.datasets}
    foreign = {name: pin for name, pin in shipped.items() if not name.startswith("builtin/")}
    own = foreign.pop(LAION_OWN)
    assert {name: pin.revision for name, pin in foreign.items()} == KNOWN
    assert (own.revision, own.files) == (None, {"630k-audioset-best.pt": LAION_SHA256})
    fused = foreign.pop("laion/clap-htsat-fused")
    assert fused.files == FUSED_FILES
    assert list(fused.commits()) == [KNOWN["laion/clap-htsat-fused"], MTEB_FUSED]
    assert list(foreign.pop("mispeech/MECAT-Caption").files) == ["00A/test_0000-0000000.tar.gz"]
    # Nobody told the bytes of the others.
    assert {file for pin in foreign.values() for file in pin.files} == set()
    assert all(pin.fingerprint is None and not pin.other_revisions for pin in foreign.values())


def test_the_shipped_file_is_as_it_would_be_written() -> None:
    assert shipping.shipped("PINS.json").read_text(encoding="utf-8") == load_pins().text()


def test_one_pin_may_hold_several_commits(tmp_path: Path) -> None:
    pin = Pin(COMMIT, {"f": A}, other_revisions={OTHER: Revision({"f": B}, "newer")})
    path = written(tmp_path, Pins({"o/one": pin}, {}).text())
    assert read_pins(path).models["o/one"] == pin
    assert pin.at(COMMIT) is pin
    assert pin.at(OTHER) == Pin(OTHER, {"f": B}, note="newer")
    assert pin.at("e" * 40) is None
    assert pin.at(None) is None
    assert Pin(None, {"f": A}).at(None) == Pin(None, {"f": A})


def layered(own: dict[str, Any], known: Pin, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Pin:
    """The pin of ``o/m`` in a project whose PINS.json says ``own`` of it, where the package says ``known``."""
    monkeypatch.setattr(pins_module, "load_pins", lambda: Pins({"o/m": known, "o/kept": Pin(None)}, {}))
    merged = project_pins(written(folder, {"models": {"o/m": own, "o/new": {"revision": COMMIT}}, "datasets": {}}))
    assert merged.models["o/kept"] == Pin(None)
    assert merged.models["o/new"] == Pin(COMMIT)
    return merged.models["o/m"]


@pytest.mark.parametrize(
    ("own", "known", "expected"),
    [
        ({"revision": COMMIT}, Pin(None, note="n"), Pin(COMMIT, note="n")),
        ({"revision": None}, Pin(COMMIT, {"f": A}), Pin(COMMIT, {"f": A})),
        ({"revision": COMMIT, "files": {"f": A, "g": B}}, Pin(COMMIT, {"f": None}), Pin(COMMIT, {"f": A, "g": B})),
        ({"revision": COMMIT, "files": {"f": None}}, Pin(COMMIT, {"f": A}), Pin(COMMIT, {"f": A})),
        ({"revision": None, "fingerprint": B, "note": "mine"}, Pin(None, note="n"), Pin(None, {}, B, "mine")),
        (
            {"revision": None, "other_revisions": {OTHER: {"files": {"f": B}}}},
            Pin(COMMIT, {"f": A}),
            Pin(COMMIT, {"f": A}, other_revisions={OTHER: Revision({"f": B})}),
        ),
        (
            {"revision": None, "other_revisions": {OTHER: {"files": {"f": B}}}},
            Pin(COMMIT, other_revisions={OTHER: Revision({"g": A}, "n")}),
            Pin(COMMIT, other_revisions={OTHER: Revision({"g": A, "f": B}, "n")}),
        ),
        # What was another revision became the package's own: the project's pin still stands.
        (
            {"revision": None, "other_revisions": {COMMIT: {"files": {"f": B}}}},
            Pin(COMMIT, {"g": A}),
            Pin(COMMIT, {"g": A, "f": B}),
        ),
    ],
)
def test_a_project_adds_and_completes(
    own: dict[str, Any], known: Pin, expected: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert layered(own, known, tmp_path, monkeypatch) == expected


@pytest.mark.parametrize(
    ("own", "known", "expected"),
    [
        ({"revision": OTHER}, Pin(COMMIT), f"revision is {OTHER}, the package pins {COMMIT}: move it under other_rev"),
        ({"revision": None, "files": {"f": B}}, Pin(COMMIT, {"f": A}), f"sha256 of f is {B}, the package pins {A}"),
        ({"revision": None, "fingerprint": B}, Pin(None, {}, A), f"fingerprint is {B}, the package pins {A}"),
        (
            {"revision": None, "other_revisions": {COMMIT: {"files": {"f": B}}}},
            Pin(COMMIT, {"f": A}),
            f"sha256 of f is {B}, the package pins {A}",
        ),
    ],
)
def test_a_project_contradicts_nothing(
    own: dict[str, Any], known: Pin, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PinError) as caught:
        layered(own, known, tmp_path, monkeypatch)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'PINS.json'}: 'o/m'")


def test_a_project_without_pins_has_the_shipped_ones(tmp_path: Path) -> None:
    assert project_pins(tmp_path / "PINS.json") is load_pins()
    assert project_pins(shipping.shipped("PINS.json")) is load_pins()


def test_pins_of_a_project_that_are_no_file_are_not_none(tmp_path: Path) -> None:
    folder, dangling, loop = (tmp_path / name for name in ("folder", "dangling", "loop"))
    folder.mkdir()
    dangling.symlink_to(tmp_path / "absent")
    loop.symlink_to(loop)
    for path in (folder, dangling, loop):
        with pytest.raises(PinError, match=rf"{path.name} holds no readable pins \(.*\): mend it, or move it"):
            project_pins(path)


def test_the_pins_of_another_tool_are_not_guessed_at(tmp_path: Path) -> None:
    with pytest.raises(PinError, match=r"no readable pins \(.*\): mend it, or move it out of this folder"):
        project_pins(written(tmp_path, {"laion/clap-htsat-fused": "365dea6"}))


def test_reading(tmp_path: Path) -> None:
    pins = read_pins(
        written(
            tmp_path,
            {
                "models": {"o/one": {"revision": COMMIT, "files": {"f": A, "g": None}}},
                "datasets": {"d": {"revision": None, "fingerprint": B}, "bare": {"revision": None}},
            },
        )
    )
    assert pins.model("o/one") == Pin(revision=COMMIT, files={"f": A, "g": None})
    assert pins.model("o/two") is None
    assert pins.nearest("o/ones") == ["o/one"]
    assert pins.dataset_fingerprint("d") == B
    for name in ("bare", "absent"):
        with pytest.raises(PinError, match=f"no fingerprint of dataset '{name}'"):
            pins.dataset_fingerprint(name)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"models": {', "no readable pins"),
        ("", "no readable pins"),
        ("[]", "no readable pins"),
        ('{"models": {}}', "missing required field `datasets`"),
        ('{"models": {}, "datasets": {}, "model": {}}', "unknown field `model`"),
        ('{"models": {"m": {"revision": null, "sha": 1}}, "datasets": {}}', "unknown field `sha`"),
        ('{"models": {"m": {"revision": null}, "m": {"revision": null}}, "datasets": {}}', "key 'm' stands twice"),
        ('{"models": {"m": {"revision": "main"}}, "datasets": {}}', "expected 40 hex digits or null"),
        ('{"models": {"m": {"revision": "%s"}}, "datasets": {}}' % ("C" * 40), "expected 40 hex digits or null"),
        (
            '{"models": {"m": {"revision": null, "files": {"f": "abc"}}}, "datasets": {}}',
            "'f' is 'abc', expected 64 hex",
        ),
        (one_model(revision=COMMIT, other_revisions={"main": {}}), "'main', expected 40 hex"),
        (one_model(revision=COMMIT, other_revisions={COMMIT: {}}), "stands among its other_revisions too"),
        *(
            (one_model(revision=None, files={file: None}), "expected a path inside the model's folder")
            for file in ("../f", "/f", "a/../../f", "c:f", "a\\f", "")
        ),
        (one_model(revision=None, files={"w.bin": None}), "the pickle 'w.bin'"),
        ('{"models": {"m": {"revision": NaN}}, "datasets": {}}', "no readable pins"),
    ],
)
def test_anything_but_the_schema_is_refused(content: str | dict[str, Any], expected: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(PinError) as caught:
        read_pins(path)
    assert str(caught.value).startswith(str(path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_absent_or_binary_pins(tmp_path: Path) -> None:
    with pytest.raises(PinError, match="No such file"):
        read_pins(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PinError, match="no readable pins"):
        read_pins(tmp_path / "binary.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(
        PinError, match=r"deep\.json holds no readable pins \(maximum recursion depth exceeded.*: mend it"
    ):
        read_pins(tmp_path / "deep.json")


def test_sha256_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert sha256_of(tmp_path / "f") == hashlib.sha256(b"abc").hexdigest()
    with pytest.raises(PinError) as caught:
        sha256_of(tmp_path)
    assert str(caught.value) == (f"{tmp_path} cannot be hashed (Is a directory): allow reading it, or restore it")


def test_verify() -> None:
    pin = Pin(revision=None, files={"model.safetensors": A, "merges.txt": None})
    verify({"model.safetensors": A, "merges.txt": B, "other": B}, pin, "o/m")
    with pytest.raises(PinError, match=r"o/m: extra\.safetensors is not among the files that PINS\.json names"):
        verify({"model.safetensors": A, "merges.txt": B, "extra.safetensors": B}, pin, "o/m")
    verify({"extra.safetensors": B}, Pin(revision=None), "o/m")  # a pin of the revision alone
    with pytest.raises(PinError, match=r"o/m: merges\.txt is missing"):
        verify({"model.safetensors": A}, pin, "o/m")
    with pytest.raises(PinError, match=f"o/m: sha256 of model.safetensors is {B}, PINS.json expects {A}"):
        verify({"model.safetensors": B, "merges.txt": B}, pin, "o/m")
