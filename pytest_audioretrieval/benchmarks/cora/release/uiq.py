"""Reader of user-intent queries (UIQ; Yoo et al., 2026): four query types a clip, one query a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pytest_audioretrieval.data.lines import json_lines, read
from pytest_audioretrieval.data.query_sets import Cases, QueryItem, QuerySet, collect
from pytest_audioretrieval.data.texts import caption_text, is_id, query_text
from pytest_audioretrieval.errors import DataError, did_you_mean

#: UIQ's own types. They stay apart from CORA's forms: the inventories differ (CORA, Section 3.2 and Table 12).
TYPES = ("question", "imperative", "tagging", "paraphrase")


class Line(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One line of a UIQ file of positive queries."""

    audio_id: str
    query_type: str
    generated_query: str | None
    captions: list[str]


@dataclass
class _Clip:
    number: int
    given: list[str]
    captions: tuple[str, ...]
    queries: dict[str, str] = field(default_factory=dict)


def load_uiq(path: Path, *, name: str | None = None, cases: Cases = "complete") -> QuerySet:
    """Read UIQ's JSON Lines; the lines of an ``audio_id`` become one item, in order of first appearance.

    UIQ names no source caption: the first of ``captions`` is the source, the rest are the item's ``others``. Each
    text is kept whole, never split at full stops. Whitespace around a text is stripped; an empty query is missing (see
    ``collect``); a caption repeated within its clip is removed and counted. Ids are matched with the clips that
    are ranked by ``positions``.

    Args:
        path: a ``.jsonl`` file with ``audio_id``, ``query_type``, ``generated_query``, ``captions``.
        name: of the set; by default the file's, without its ending.
        cases: see ``collect``.

    Raises:
        DataError: a line is not as described, the file holds negatives, or there is no item.
    """
    text = read(path, remedy="name a .jsonl file of UIQ queries")
    if b'"negative_query"' in text:
        raise DataError(
            f"{path} holds UIQ's negatives ('negative_query')",
            expected="positives ('generated_query')",
            remedy="name the file of positives",
        )
    clips: dict[str, _Clip] = {}
    for number, line in json_lines(text, path, Line):
        _add(clips, line, number, f"{path}:{number}")
    if not clips:
        raise DataError(
            f"{path} holds no queries",
            expected=f"one a line with {', '.join(Line.__struct_fields__)}",
            remedy="add them",
        )
    repeated = sum(len(clip.given) - len(clip.captions) for clip in clips.values())
    return collect(
        name or path.stem,
        [QueryItem(key, key, clip.captions[0], clip.queries, clip.captions[1:]) for key, clip in clips.items()],
        TYPES,
        cases=cases,
        captions=_captions(clips),
        notes={"captions repeated within a clip, removed": repeated} if repeated else {},
    )


def _add(clips: dict[str, _Clip], line: Line, number: int, where: str) -> None:
    key, kind = line.audio_id, line.query_type
    if not is_id(key):
        raise DataError(f"{where}: audio_id is {key!r}", expected="printable characters", remedy="correct it")
    if kind not in TYPES:
        hint = did_you_mean(kind, TYPES)
        raise DataError(
            f"{where}: query_type is {kind!r}", expected=f"one of {', '.join(TYPES)}", remedy=f"{hint}correct it"
        )
    if key not in clips:
        clips[key] = _Clip(number, line.captions, _own(line, where))
    clip = clips[key]
    if line.captions != clip.given:
        raise DataError(
            f"{where}: captions of {key!r} differ from those on line {clip.number}", remedy="give one list per clip"
        )
    if kind in clip.queries:
        raise DataError(
            f"{where}: a second {kind} query of {key!r}", expected="one of each type per clip", remedy="remove one"
        )
    clip.queries[kind] = query_text(line.generated_query, f"{where}: the {kind} query of {key!r}")


def _own(line: Line, where: str) -> tuple[str, ...]:
    if not line.captions:
        raise DataError(f"{where}: {line.audio_id!r} has no captions", remedy="give at least one")
    return tuple(
        dict.fromkeys(
            caption_text(raw, f"{where}: caption {position} of {line.audio_id!r}")
            for position, raw in enumerate(line.captions)
        )
    )


def _captions(clips: dict[str, _Clip]) -> Iterator[tuple[str, str]]:
    return ((text, key) for key, clip in clips.items() for text in clip.captions)
