"""PINS.json: read strictly, verified by value."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_audioretrieval import shipped as shipping
from pytest_audioretrieval.errors import PinError
from pytest_audioretrieval.pins import Pin, load_pins, sha256_of, verify
from pytest_audioretrieval.spec import builtin_names

A, B, COMMIT = "a" * 64, "b" * 64, "c" * 40


def written(folder: Path, content: str | dict[str, Any]) -> Path:
    path = folder / "PINS.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_shipped_pins_hold_every_built_in_checkpoint_and_the_pinned_protocol() -> None:
    """The pinned protocol names the fused and unfused commits."""
    pins = load_pins()
    assert {name for name in pins.models if name.startswith("builtin/")} >= {f"builtin/{n}" for n in builtin_names()}
    fused = pins.models["laion/clap-htsat-fused"]
    assert fused.revision == "365dea6ef167def6676140ed93bbc43f84dabb28"
    assert fused.files["model.safetensors"] == "3f648de6d030e17494be455d323b8d191233fbae0c7ce0ba745fd21a926a63a6"
    assert pins.models["laion/clap-htsat-unfused"].revision == "8fa0f1c6d0433df6e97c127f64b2a1d6c0dcda8a"


def test_reading(tmp_path: Path) -> None:
    pins = load_pins(
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
        ('{"models": {"m": {"revision": NaN}}, "datasets": {}}', "no readable pins"),
    ],
)
def test_anything_but_the_schema_is_refused(content: str, expected: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(PinError) as caught:
        load_pins(path)
    assert str(caught.value).startswith(str(path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_absent_or_binary_pins(tmp_path: Path) -> None:
    with pytest.raises(PinError, match="No such file"):
        load_pins(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PinError, match="no readable pins"):
        load_pins(tmp_path / "binary.json")


def test_sha256_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert sha256_of(tmp_path / "f") == hashlib.sha256(b"abc").hexdigest()


def test_verify() -> None:
    pin = Pin(revision=None, files={"model.safetensors": A, "merges.txt": None})
    verify({"model.safetensors": A, "merges.txt": B, "other": B}, pin, "o/m")
    with pytest.raises(PinError, match=r"o/m: extra\.safetensors is not among the files PINS\.json names"):
        verify({"model.safetensors": A, "merges.txt": B, "extra.safetensors": B}, pin, "o/m")
    verify({"extra.safetensors": B}, Pin(revision=None), "o/m")  # a pin of the revision alone
    with pytest.raises(PinError, match=r"o/m: merges\.txt is missing"):
        verify({"model.safetensors": A}, pin, "o/m")
    with pytest.raises(PinError, match=f"o/m: sha256 of model.safetensors is {B}, PINS.json expects {A}"):
        verify({"model.safetensors": B, "merges.txt": B}, pin, "o/m")


def test_what_is_shipped_lies_in_the_wheel_or_beside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "top" / "package"
    package.mkdir(parents=True)
    monkeypatch.setattr(shipping, "_PACKAGE", package)
    assert shipping.shipped.__wrapped__("suites") == tmp_path / "top" / "suites"
    (package / "_shipped" / "suites").mkdir(parents=True)
    assert shipping.shipped.__wrapped__("suites") == package / "_shipped" / "suites"
