"""One digest that says whether two datasets are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from pytest_audioretrieval.data.types import Caption, Clip


def fingerprint(clips: Iterable[Clip], captions: Iterable[Caption], *, merged: bool) -> str:
    """sha256 (hex) over clip ids and digests, caption ids, texts, clips and forms, and the relevance rule, in order.

    A caption without forms adds no empty place for them: the digest of a dataset that has none is what it was
    before captions could have forms.
    """
    digest = hashlib.sha256()
    digest.update(b"merged" if merged else b"separate")
    for row in (*((c.id, c.digest) for c in clips), *map(_caption, captions)):
        digest.update(json.dumps(row, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _caption(caption: Caption) -> tuple[object, ...]:
    row = (caption.id, caption.text, caption.clip)
    return (*row, sorted(caption.forms.items())) if caption.forms else row
