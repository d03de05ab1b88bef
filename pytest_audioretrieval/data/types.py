"""Clips, captions and datasets: what is ranked, what is asked, and who is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Waveform


@dataclass(frozen=True)
class Clip:
    """One sound.

    Attributes:
        id: unique within its dataset.
        digest: sha256 (hex) of the bytes the sound is decoded from; the embedding store is keyed by it.
        read: decodes the sound; raises ``AudioError`` naming the clip.
    """

    id: str
    digest: str
    read: Callable[[], Waveform] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Caption:
    """One text about one clip.

    Attributes:
        id: unique within its dataset.
        text: what it says.
        clip: id of the clip it is about.
        forms: form -> the text asked anew in that form (``data/forms.py``); one that is missing has no key.
    """

    id: str
    text: str
    clip: str
    forms: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Dataset:
    """Clips, captions and their relevance, pinned by a fingerprint.

    Attributes:
        name: the name tests and baselines use.
        revision: commit or recipe version the data came from; ``None`` for a user's own folder.
        clips: in document order, which is also the order in which ties are resolved.
        captions: in document order; every ``Caption.clip`` is the id of one of ``clips``.
        fingerprint: sha256 (hex) over clip ids and digests, caption ids, texts and forms, and the relevance
            rule; runs of captions and clips carry that of the dataset without forms.
        merge_identical_captions: one query with several relevant clips for a text that several clips share.
        notes: what the loader counted on the way (duplicates removed, silent clips, ...), for the report.
    """

    name: str
    revision: str | None
    clips: tuple[Clip, ...]
    captions: tuple[Caption, ...]
    fingerprint: str
    merge_identical_captions: bool = False
    notes: Mapping[str, int] = field(default_factory=dict)
