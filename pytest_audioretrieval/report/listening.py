"""Where a person can listen to what a failure names."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import write_atomically

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Clip


def heard(clip: Clip, folder: Path | None) -> str:
    """The clip's file, or one written into ``folder`` of a clip that is rendered; its id where neither can be."""
    if clip.path is not None:
        return str(clip.path)
    if folder is None:
        return clip.id
    path = folder / f"{clip.id}.flac"
    try:
        if not path.is_file():
            write_atomically(path, _flac(clip))
    except OSError:  # a full disk must not hide why a test failed
        return clip.id
    return str(path)


def _flac(clip: Clip) -> bytes:
    import soundfile

    sound, content = clip.read(), io.BytesIO()
    soundfile.write(content, sound.samples, sound.rate, format="FLAC", subtype="PCM_16")
    return content.getvalue()
