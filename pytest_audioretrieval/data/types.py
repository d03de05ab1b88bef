"""Types of a dataset: clips, captions, queries, choices and their relevance."""

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
        digest: sha256 (hex) of the bytes the sound is decoded from; the key of the embedding store.
        read: decodes the sound; raises ``AudioError`` naming the clip.
        path: of its file; None where the sound is rendered or lies inside another file.
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
        text: its words.
        clip: id of the clip it is about.
        forms: form -> the text reformulated (``data/forms.py``); a missing form has no key.
    """

    id: str
    text: str
    clip: str
    forms: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Query:
    """One text with stated relevant clips, rather than those that captions imply.

    Attributes:
        id: unique within its dataset.
        text: its words.
        clips: ids of all relevant clips, at least one.
        slice: the part of the benchmark it belongs to; metrics can be read on one slice alone.
    """

    id: str
    text: str
    clips: tuple[str, ...]
    slice: str


class Option(NamedTuple):
    """One of the two options of a choice: a text and the id of a clip that it may describe."""

    text: str
    clip: str


@dataclass(frozen=True)
class Choice:
    """Two options that differ in the text or in the clip, of which one holds and the other does not.

    Attributes:
        id: unique within its dataset.
        right, wrong: the options; a model is correct if it scores ``right`` higher.
        cluster: label of the resampling unit: choices that share one are not independent.
        slice: the part of the benchmark it belongs to.
    """

    id: str
    right: Option
    wrong: Option
    cluster: str
    slice: str


@dataclass(frozen=True)
class Rewording:
    """A caption, its attribute swap (same words, other meaning) and its paraphrase (MASB, Exp. 3).

    Attributes:
        id: unique within its dataset.
        text, swap, paraphrase: the caption, its attribute swap, its paraphrase.
        recording: label of the recording that it describes: "captions of all other recordings" have another label.
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


class Violation(NamedTuple):
    """A constraint of a query that a clip violates, in a word, and the reason."""

    constraint: str
    reason: str


#: (id of a query or choice, id of a clip) -> the constraints that the clip violates; none where it is relevant.
Explain = Callable[[str, str], Sequence[Violation]]


@dataclass(frozen=True)
class Dataset:
    """Clips, captions and their relevance, pinned by a fingerprint.

    Attributes:
        name: the name tests and baselines use.
        revision: commit or recipe version the data came from; ``None`` for a user's own folder.
        clips: in document order, which also resolves ties.
        captions: in document order; every ``Caption.clip`` is the id of one of ``clips``.
        fingerprint: sha256 (hex) over clip ids and digests, caption ids, texts and forms, and the relevance
            rule; runs of captions and clips carry that of the dataset without forms.
        merge_identical_captions: make one query with several relevant clips of a text that several clips share.
        notes: counts of the loader (duplicates removed, silent clips, ...), for the report.
        queries: texts with stated relevance, asked in place of captions.
        queries_describe_clips: True where queries are descriptions; those of one clip are then resampled together, as
            captions are; otherwise each query is a unit of its own.
        choices: asked by direction ``choice``.
        rewordings: compared by direction ``texts``.
        explain: says why a clip is not relevant, where the data tell.
        explain_command: command of this package that shows a query beside clips, called with ``DATASET --query ID``.
        chance_command: command of this package that shows what a model guesses, called with ``MODEL --dataset NAME``.
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
    explain_command: str = ""
    chance_command: str = ""
