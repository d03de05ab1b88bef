"""A digest that tells two datasets apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple

from pytest_audioretrieval.data.types import Caption, Choice, Clip, Query, Rewording


def fingerprint(
    clips: Iterable[Clip],
    captions: Iterable[Caption] = (),
    stated: Iterable[Query | Choice | Rewording] = (),
    *,
    merged: bool = False,
) -> str:
    """Return the sha256 (hex) over clip ids and digests, all texts and choices, and the relevance rule, in order.

    A part that is missing adds nothing: a dataset without forms, or without ``stated`` queries, choices and rewordings,
    keeps the digest it had before datasets could have any.
    """
    digest = hashlib.sha256()
    digest.update(b"merged" if merged else b"separate")
    told = ((type(item).__name__, *astuple(item)) for item in stated)
    for row in (*((c.id, c.digest) for c in clips), *map(_caption, captions), *told):
        digest.update(json.dumps(row, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _caption(caption: Caption) -> tuple[object, ...]:
    row = (caption.id, caption.text, caption.clip)
    return (*row, sorted(caption.forms.items())) if caption.forms else row
