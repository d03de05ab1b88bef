"""Stub of a hub with a tiny CLAP, and a project folder whose client asks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.models.hub.stub import HubStub, Place

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def stub(tiny_clap: Path) -> Iterator[HubStub]:
    files = {path.name: path.read_bytes() for path in sorted(tiny_clap.iterdir())}
    with HubStub("tiny/clap", COMMIT, files | {"pytorch_model.bin": b"\x80\x04 a pickle"}).running() as running:
        yield running


@pytest.fixture
def place(stub: HubStub, tmp_path: Path) -> Place:
    return Place(tmp_path, stub)


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Three tones with a caption each."""
    folder = tmp_path / "tones"
    folder.mkdir()
    lines = []
    for pitch in (220, 440, 880):
        wave = 0.3 * np.sin(2 * np.pi * pitch * np.arange(24_000) / 48_000)
        soundfile.write(folder / f"{pitch}.wav", wave, 48_000)
        lines.append(json.dumps({"audio": f"{pitch}.wav", "captions": [f"a tone of {pitch} hertz"]}))
    (folder / "captions.jsonl").write_text("\n".join(lines))
    (folder / "dataset.toml").write_text('name = "tones"\nlicence = "CC0-1.0"\n')
    return folder
