"""Files of clips that a failure names, for a person to listen to."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import write_atomically

if TYPE_CHECKING:
    from pytest_audioretrieval.data.types import Clip


def audible(clip: Clip, folder: Path | None) -> str | None:
    """Return the clip's file, or one written into ``folder`` of a clip that is rendered; None where neither can be."""
    if clip.path is not None:
        return str(clip.path)
    if folder is None:
        return None
    path = folder / f"{clip.id}.flac"
    try:
        if not path.is_file():
            write_atomically(path, _flac(clip))
    except OSError:  # a full disk must not hide why a test failed
        return None
    return str(path)


def _flac(clip: Clip) -> bytes:
    import soundfile

    sound, content = clip.read(), io.BytesIO()
    soundfile.write(content, sound.samples, sound.rate, format="FLAC", subtype="PCM_16")
    return content.getvalue()
