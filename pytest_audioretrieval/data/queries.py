"""Retrieval tasks of a dataset: queries, candidates and relevance, texts asking for clips or clips for texts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pytest_audioretrieval.data.types import Caption, Dataset


@dataclass(frozen=True)
class Text:
    """One text that is asked or ranked: a caption, all captions that read the same, or a query."""

    id: str
    text: str
    clips: tuple[str, ...]
    slice: str = ""


@dataclass(frozen=True)
class Task:
    """The retrieval task of one direction.

    Attributes:
        ids: of the queries, [Q].
        shown: the query for a person to read: its text, or the clip's id, [Q].
        clusters: label of the resampling unit of each query, [Q]: the clip, or, where merged texts connect
            clips, the first of the connected clips; for stated queries that describe no clip, the query itself.
        candidates: ids of the ranked items, in document order, [C]; ``candidates_shown`` for a person to read.
        relevant: candidate indices per query, ascending, [Q][>= 1].
        slices: the part of the benchmark that each query belongs to, [Q]; None where it has no parts.
    """

    ids: tuple[str, ...]
    shown: tuple[str, ...]
    clusters: tuple[str, ...]
    candidates: tuple[str, ...]
    candidates_shown: tuple[str, ...]
    relevant: tuple[tuple[int, ...], ...]
    slices: tuple[str, ...] | None = None


def texts(dataset: Dataset) -> tuple[Text, ...]:
    """Return the texts of a dataset in document order, merged where the dataset says so."""
    if dataset.queries:
        return tuple(Text(q.id, q.text, q.clips, q.slice) for q in dataset.queries)
    if not dataset.merge_identical_captions:
        return tuple(Text(c.id, c.text, (c.clip,)) for c in dataset.captions)
    groups: dict[str, list[Caption]] = defaultdict(list)
    for caption in dataset.captions:
        groups[caption.text].append(caption)
    return tuple(Text(group[0].id, text, tuple(c.clip for c in group)) for text, group in groups.items())


def text_queries(dataset: Dataset) -> Task:
    """Return queries, candidates, relevance and clusters where texts ask for clips."""
    asked, clips = texts(dataset), [clip.id for clip in dataset.clips]
    index = {clip: position for position, clip in enumerate(clips)}
    cluster = clusters(dataset)
    by_clip = not dataset.queries or dataset.queries_describe_clips
    return Task(
        ids=tuple(t.id for t in asked),
        shown=tuple(t.text for t in asked),
        clusters=tuple(cluster[t.clips[0]] if by_clip else t.id for t in asked),
        candidates=tuple(clips),
        candidates_shown=tuple(clips),
        relevant=tuple(tuple(sorted(index[c] for c in t.clips)) for t in asked),
        slices=tuple(t.slice for t in asked) if dataset.queries else None,
    )


def clip_queries(dataset: Dataset) -> Task:
    """Return queries, candidates, relevance and clusters where clips ask for texts."""
    asked, clips = texts(dataset), [clip.id for clip in dataset.clips]
    cluster = clusters(dataset)
    right: dict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(asked):
        for clip in text.clips:
            right[clip].append(position)
    return Task(
        ids=tuple(clips),
        shown=tuple(clips),
        clusters=tuple(cluster[c] for c in clips),
        candidates=tuple(t.id for t in asked),
        candidates_shown=tuple(repr(t.text) for t in asked),
        relevant=tuple(tuple(right[c]) for c in clips),
    )


def clusters(dataset: Dataset) -> dict[str, str]:
    """Map each clip id to its resampling unit.

    The unit is the first clip, in document order, of those that shared texts connect.
    """
    clips, asked = [clip.id for clip in dataset.clips], texts(dataset)
    order = {clip: position for position, clip in enumerate(clips)}
    parent = {clip: clip for clip in clips}

    def root(clip: str) -> str:
        while parent[clip] != clip:
            parent[clip] = parent[parent[clip]]
            clip = parent[clip]
        return clip

    for text in asked:
        for other in text.clips[1:]:
            first, second = sorted((root(text.clips[0]), root(other)), key=order.__getitem__)
            parent[second] = first
    return {clip: root(clip) for clip in clips}
