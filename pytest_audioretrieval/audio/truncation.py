"""Detection of files that were cut short: libsndfile reads most of them without an error."""

from __future__ import annotations

import re

#: Smallest chunk size that means "unknown": a recorder writes it before it knows the length, and libsndfile then reads
#: to the end.
STREAMED = 2**31 - 2**16
#: Frames that a whole MP3 may lack: its header counts whole MPEG frames, with the encoder's delay and padding.
MP3_SLACK = 4 * 1152
#: Flag of an Ogg page: the last one of its stream (RFC 3533, section 6).
OGG_END_OF_STREAM = 4

_CHUNK = re.compile(r"^\s*(?:data|SSND|Data Size|riff)\s*:\s*(\d+) \(should be (\d+)\)", re.MULTILINE)
_DS64 = re.compile(r"Calculated frame count (\d+) does not match value from 'ds64' chunk of (\d+)")


def shortfall(content: bytes, container: str, log: str, declared: int, read: int) -> str | None:
    """Return what is missing from a file, in words, or None.

    Args:
        content: the whole file.
        container: libsndfile's name of its format, such as ``"WAV"``.
        log: what libsndfile noted while it parsed the header.
        declared: frames by the header, as libsndfile corrected it.
        read: frames that were decoded.
    """
    if read < declared - (MP3_SLACK if container == "MP3" else 0):
        return f"{read} frames where the header declares {declared}"
    for held, due in _sizes(log):
        if held < due < STREAMED:
            return f"{held} bytes or frames of sound where the header declares {due}"
    if container == "OGG" and not _ogg_ends(content):
        return "an Ogg stream without its last page"
    return None


def _sizes(log: str) -> list[tuple[int, int]]:
    chunks = [(int(held), int(due)) for due, held in _CHUNK.findall(log)]
    return chunks + [(int(held), int(due)) for held, due in _DS64.findall(log)]


def _ogg_ends(content: bytes) -> bool:
    page = content.rfind(b"OggS")
    return bool(content[page + 5] & OGG_END_OF_STREAM)
