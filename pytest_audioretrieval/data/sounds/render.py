"""Rendering of a composition in integer arithmetic: the same bytes on every machine."""

from __future__ import annotations

import csv
import hashlib
import io
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pytest_audioretrieval.data.rendered import RATE
from pytest_audioretrieval.data.sounds.recipe import Composition, layout
from pytest_audioretrieval.errors import PinError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FOLDER = resources.files(__package__) / "recordings"


@cache
def origins() -> dict[str, dict[str, str]]:
    """Return the rows of ``ORIGINS.csv`` by recording id."""
    text = (FOLDER / "ORIGINS.csv").read_text(encoding="utf-8")
    return {row["file"].removesuffix(".flac"): row for row in csv.DictReader(io.StringIO(text))}


@cache
def recording(name: str) -> npt.NDArray[np.int16]:
    """Return a shipped recording, int16 [n], 48 kHz, once its file was checked against ``ORIGINS.csv``.

    Raises:
        PinError: it is missing or differs from the one that was shipped.
    """
    import soundfile

    try:
        content = (FOLDER / f"{name}.flac").read_bytes()
        expected = origins()[name]["sha256"]
    except (OSError, KeyError):
        raise PinError(
            f"recording {name}.flac, or its line in ORIGINS.csv, is missing", remedy="reinstall the package"
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise PinError(f"recording {name}.flac: sha256 is {found}", expected=expected, remedy="reinstall the package")
    samples, _ = soundfile.read(io.BytesIO(content), dtype="int16")
    return samples  # type: ignore[no-any-return]


def mix(composition: Composition) -> npt.NDArray[np.int16]:
    """Return the clip of a composition, int16 [n], 48 kHz, n <= 480,000.

    Raises:
        PinError: the clip would be longer than 10 s or exceed full scale.
    """
    import numpy as np

    lengths = {name: recording(name).size for moment in composition for name in moment}
    placed = layout(composition, lengths)
    total = np.zeros(max(p.start + lengths[p.recording] for p in placed), dtype=np.int32)
    for p in placed:
        samples = recording(p.recording).astype(np.int32)
        total[p.start : p.start + samples.size] += samples * p.gain >> 8
    if total.size > 10 * RATE or np.abs(total).max() > 32_767:
        raise PinError(
            f"composition {composition!r} is longer than 10 s or clips",
            remedy="reinstall the package, its recipe is damaged",
        )
    return total.astype(np.int16)
