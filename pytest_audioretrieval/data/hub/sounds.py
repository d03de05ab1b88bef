"""A sound inside a file of a hub: hashed when that file is read, decoded when somebody listens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_audioretrieval.errors import AudioError, one_line

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Waveform


class Sound(NamedTuple):
    """A sound by the hash of its bytes; ``where`` says to a person where they lie, ``content`` fetches them."""

    digest: str
    where: str
    content: Callable[[], bytes]

    def read(self, name: str) -> Waveform:
        """Decode it; ``name`` is how errors call the clip.

        Raises:
            AudioError: it cannot be decoded, or its bytes are no longer there, or no longer those that were hashed.
        """
        from pytest_audioretrieval.audio.decode import decode

        called = f"{name} ({self.where})"
        try:
            content = self.content()
        except Exception as error:  # of tarfile, zlib or pyarrow, by what became of the file
            raise AudioError(
                f"clip {called!r}: its file can no longer be read ({one_line(error)}): run again"
            ) from None
        if hashlib.sha256(content).hexdigest() != self.digest:
            raise AudioError(f"clip {called!r}: its bytes changed since the dataset was loaded: run again")
        return decode(content, name=called)


class Row(NamedTuple):
    """One row: where it lies, its cells by column, and its sound where one was asked for."""

    where: str
    cells: dict[str, Any]
    sound: Sound | None
