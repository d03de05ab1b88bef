"""Sounds inside the files of a hub: hashed when the file is read, decoded when the clip is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_audioretrieval.errors import AudioError, one_line

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Waveform


class Sound(NamedTuple):
    """A sound by the hash of its bytes; ``where`` names their place in errors, ``content`` fetches them."""

    digest: str
    where: str
    content: Callable[[], bytes]

    def read(self, name: str) -> Waveform:
        """Decode the sound; errors call the clip ``name``.

        Raises:
            AudioError: it cannot be decoded, or its bytes are gone or are no longer those that were hashed.
        """
        from pytest_audioretrieval.audio.decode import decode

        called = f"{name} ({self.where})"
        try:
            content = self.content()
        except Exception as error:  # tarfile, zlib and pyarrow raise many kinds
            raise AudioError(
                f"clip {called!r}: its file can no longer be read ({one_line(error)})", remedy="run again"
            ) from None
        if hashlib.sha256(content).hexdigest() != self.digest:
            raise AudioError(f"clip {called!r}: its bytes changed since the dataset was loaded", remedy="run again")
        return decode(content, name=called)


class Row(NamedTuple):
    """One row: its place for errors, its cells by column, and its sound where one was asked for."""

    where: str
    cells: dict[str, Any]
    sound: Sound | None
