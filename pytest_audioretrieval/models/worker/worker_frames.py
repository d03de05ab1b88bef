"""Messages between a run and a worker in another environment: a JSON header, then float32 arrays. No pickle.

    b"ARW1" | length of the header, uint32 big-endian | header, JSON in UTF-8 | arrays, float32 little-endian

``shapes`` in the header gives the number and the shapes of the arrays that follow. Both sides import this file, so it
needs numpy alone and imports nothing of this package.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

#: Version of the messages' form and of a worker's operations; both sides must have the same.
VERSION = 1

Arrays = list[npt.NDArray[np.float32]]
_MAGIC = b"ARW1"
_HEAD = struct.Struct(">4sI")


class FrameError(Exception):
    """Bytes that are no message: something else writes to the stream."""


def send(stream: BinaryIO, header: Mapping[str, Any], arrays: Sequence[npt.NDArray[Any]] = ()) -> None:
    """Write one message."""
    blocks = [np.asarray(array, dtype="<f4") for array in arrays]
    text = json.dumps({**header, "shapes": [block.shape for block in blocks]}).encode()
    stream.write(_HEAD.pack(_MAGIC, len(text)) + text)
    for block in blocks:
        stream.write(block.tobytes())
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    """Read one message and return its header without ``shapes``, and its arrays.

    Raises:
        EOFError: the stream ends, perhaps inside a message.
        FrameError: the bytes are no message.
    """
    magic, length = _HEAD.unpack(_exactly(stream, _HEAD.size))
    if magic != _MAGIC:
        raise FrameError(f"found {magic!r}, expected {_MAGIC!r}")
    try:
        header = json.loads(_exactly(stream, length))
        shapes = [tuple(map(int, shape)) for shape in header.pop("shapes")]
    except (ValueError, TypeError, AttributeError, KeyError):
        raise FrameError("found a header that is no JSON object with shapes") from None
    arrays = [
        np.frombuffer(bytearray(_exactly(stream, 4 * math.prod(shape))), dtype="<f4").reshape(shape) for shape in shapes
    ]
    return header, arrays


def _exactly(stream: BinaryIO, length: int) -> bytes:
    found = stream.read(length)
    if len(found) < length:
        raise EOFError(f"found {len(found)} bytes, expected {length}")
    return found
