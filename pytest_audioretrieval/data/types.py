"""Clips, captions and datasets: what is ranked, what is asked, and who is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_audioretrieval.audio.types import Waveform


@dataclass(frozen=True)
class Clip:
    """One sound.

    Attributes:
        id: unique within its dataset.
        digest: sha256 (hex) of the bytes the sound is decoded from; the embedding store is keyed by it.
        read: decodes the sound; raises ``AudioError`` naming the clip.
        path: where a person finds it; None where it is rendered when asked for.
    """

    id: str
    digest: str
    read: Callable[[], Waveform] = field(repr=False, compare=False)
    path: Path | None = field(default=None, compare=False)


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
class Query:
    """One text whose right clips are stated, not told by captions.

    Attributes:
        id: unique within its dataset.
        text: what is asked.
        clips: ids of all right clips, at least one.
        slice: the part of the benchmark it belongs to; metrics can be read on one slice alone.
    """

    id: str
    text: str
    clips: tuple[str, ...]
    slice: str


class Pair(NamedTuple):
    """A text and the id of a clip that it may describe."""

    text: str
    clip: str


@dataclass(frozen=True)
class Choice:
    """Two pairs that differ in the text or in the clip: one holds, the other does not.

    Attributes:
        id: unique within its dataset.
        right, wrong: a model chooses well that scores ``right`` higher.
        cluster: label of the resampling unit: choices that share one are not independent.
        slice: the part of the benchmark it belongs to.
    """

    id: str
    right: Pair
    wrong: Pair
    cluster: str
    slice: str


@dataclass(frozen=True)
class Rewording:
    """One caption, the same words with another meaning, and other words with the same meaning (MASB, Exp. 3).

    Attributes:
        id: unique within its dataset.
        text, swap, paraphrase: the caption, its attribute swap, its paraphrase.
        recording: what it is about: "captions of all other recordings" are those with another label here.
        cluster: label of the resampling unit: several recordings of one track share it.
        slice: the part of the benchmark it belongs to.
    """

    id: str
    text: str
    swap: str
    paraphrase: str
    recording: str
    cluster: str
    slice: str


class Broken(NamedTuple):
    """A constraint of a query that a clip breaks, in a word, and how."""

    constraint: str
    why: str


#: (id of a query or choice, id of a clip) -> what of the query the clip breaks; nothing where it is right.
Explain = Callable[[str, str], Sequence[Broken]]


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
        queries: texts with stated relevance, asked in place of captions.
        queries_describe_clips: whether they are descriptions, so that those of one clip are resampled together, as
            captions are; otherwise each is a unit of its own.
        choices: what direction ``choice`` asks; ``rewordings`` what direction ``texts`` compares.
        explain: why a clip is not right, where the data tell.
    """

    name: str
    revision: str | None
    clips: tuple[Clip, ...]
    captions: tuple[Caption, ...]
    fingerprint: str
    merge_identical_captions: bool = False
    notes: Mapping[str, int] = field(default_factory=dict)
    queries: tuple[Query, ...] = ()
    queries_describe_clips: bool = False
    choices: tuple[Choice, ...] = ()
    rewordings: tuple[Rewording, ...] = ()
    explain: Explain | None = field(default=None, repr=False, compare=False)
