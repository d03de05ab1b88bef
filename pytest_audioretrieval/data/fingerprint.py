"""One digest that says whether two datasets are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from pytest_audioretrieval.data.types import Caption, Clip


def fingerprint(clips: Iterable[Clip], captions: Iterable[Caption], *, merged: bool) -> str:
    """sha256 (hex) over clip ids and digests, caption ids, texts and clips, and the relevance rule, in order."""
    digest = hashlib.sha256()
    digest.update(b"merged" if merged else b"separate")
    for row in (*((c.id, c.digest) for c in clips), *((c.id, c.text, c.clip) for c in captions)):
        digest.update(json.dumps(row, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()
