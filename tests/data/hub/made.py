"""Tiny parquet datasets and archives, for a hub that serves them to the real client."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import soundfile

pa = pytest.importorskip("pyarrow", reason="parquet files need pyarrow: pip install 'pytest-audioretrieval[hub]'")
pq = pytest.importorskip("pyarrow.parquet")

RATE = 48_000


def sound(number: int, *, rate: int = RATE, channels: int = 1, **form: Any) -> bytes:
    """Return a file of 480 frames that hold ``number / 64``; WAV of 16 bits unless ``form`` says otherwise."""
    content = io.BytesIO()
    form = {"format": "WAV"} | form
    if form["format"] in ("WAV", "FLAC"):
        form = {"subtype": "PCM_16"} | form
    samples = np.full((480, channels), number / 64)
    soundfile.write(content, samples, rate, **form)
    return content.getvalue()


def cell(content: bytes | None, path: str | None = None) -> dict[str, Any]:
    """Return the cell that ``datasets`` writes for a sound."""
    return {"bytes": content, "path": path}


def parquet(columns: dict[str, Sequence[Any]], *, group: int = 2) -> bytes:
    """Return a parquet file of these columns, ``group`` rows to a row group."""
    content = io.BytesIO()
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), content, row_group_size=group)
    return content.getvalue()


def archive(members: Sequence[tuple[str, bytes]], *, form: str = "w:gz") -> bytes:
    """Return a tar archive of these members, in their order."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=form) as tar:  # type: ignore[call-overload]
        for name, held in members:
            header = tarfile.TarInfo(name)
            header.size = len(held)
            tar.addfile(header, io.BytesIO(held))
    return content.getvalue()


def pairs(clips: int, *, audio: str = "corpus", per_clip: int = 1) -> dict[str, bytes]:
    """Return files of mteb's layout: no two sounds are equal, and the texts of clip ``n`` say ``n``."""
    numbers = range(1, clips + 1)
    texts = [(f"t{n}-{i}", f"tone {n}, wording {i}", f"a{n}") for n in numbers for i in range(per_clip)]
    sounds = {
        "id": [f"a{n}" for n in numbers],
        "audio": [cell(sound(n % 63 + 1, rate=RATE + n // 63)) for n in numbers],
    }
    said = {"id": [t[0] for t in texts], "text": [t[1] for t in texts]}
    text_side, clip_side = ("query-id", "corpus-id") if audio == "corpus" else ("corpus-id", "query-id")
    judged = {text_side: [t[0] for t in texts], clip_side: [t[2] for t in texts], "score": [1] * len(texts)}
    other = "queries" if audio == "corpus" else "corpus"
    return {
        f"{audio}/test-00000-of-00001.parquet": parquet(sounds, group=100),
        f"{other}/test-00000-of-00001.parquet": parquet(said, group=100),
        "qrels/test-00000-of-00001.parquet": parquet(judged, group=100),
    }
