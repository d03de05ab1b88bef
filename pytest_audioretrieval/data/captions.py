"""Cleaning of captions as the pinned protocol states it, with counts of what was changed or removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from pytest_audioretrieval.data.texts import shows_nothing
from pytest_audioretrieval.data.types import Caption


def clean(stated: Iterable[Caption], notes: Counter[str]) -> tuple[Caption, ...]:
    """Return the captions to ask: stripped of white space, none empty, and no text twice within a clip.

    Of equal texts of one clip the first stays, with its forms. Prose is never split.

    Args:
        notes: counter to which captions that are stripped, removed, or shared by several clips are added.
    """
    kept: dict[tuple[str, str], Caption] = {}
    for caption in stated:
        text = caption.text.strip()
        if shows_nothing(text):
            notes["empty captions, removed"] += 1
            continue
        notes["captions with white space around them, stripped"] += text != caption.text
        if (caption.clip, text) in kept:
            notes["captions repeated within a clip, removed"] += 1
        else:
            kept[caption.clip, text] = replace(caption, text=text)
    clips_of = Counter(text for _, text in kept)
    notes["captions that several clips share"] += sum(count for count in clips_of.values() if count > 1)
    return tuple(kept.values())
