"""Reader of a ReasonAudio folder that checks names, queries, relevance and choices against each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_audioretrieval.benchmarks.reasonaudio.corpus import layout
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite, parse
from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import ReasonChoice
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import violations
from pytest_audioretrieval.benchmarks.reasonaudio.queries.index import Index, positions
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import ReasonQuery
from pytest_audioretrieval.benchmarks.reasonaudio.release.tables import (
    CHOICES,
    QRELS,
    QUERIES,
    ChoiceLine,
    QueryLine,
    check_task,
    choice_lines,
    one_of,
    query_lines,
    relevant_lines,
    task_of,
)
from pytest_audioretrieval.errors import DataError, did_you_mean

ENDINGS = (".flac", ".mp3", ".ogg", ".wav")
#: Query id -> number of its line, and the line.
_Queries = Mapping[str, tuple[int, QueryLine]]
#: Query id -> id of each relevant clip -> the line that names it.
_Relevance = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Release:
    """Content of a folder without its sounds.

    Attributes:
        clips: id -> file, in the order of the names; an id is a file's name without its ending.
        digests: id -> sha256 of the file as ``clips.jsonl`` states it; empty where there is no such file.
        composites: id -> events, in the order of ``clips``; empty where the queries state no constraints, so that names
            need not hold events.
        queries, choices: in document order; without constraints where the folder states none.
    """

    clips: Mapping[str, Path]
    digests: Mapping[str, str]
    composites: Mapping[str, Composite]
    queries: tuple[ReasonQuery, ...]
    choices: tuple[ReasonChoice, ...]


def read_release(folder: Path) -> Release:
    """Read a folder, without decoding its sounds.

    Raises:
        DataError: a file is missing or not as ``tables`` describes it; a named clip or query is not there; names and
            ``clips.jsonl`` disagree; no clip is relevant to a query, or every clip is; relevance or a choice does not
            follow from the constraints. Names file and line.
    """
    path = one_of(folder, QUERIES)
    lines, choices = query_lines(path), choice_lines(folder / CHOICES)
    clips = _clips(folder / layout.FOLDER)
    relevant = _relevance(one_of(folder, QRELS), lines, clips)
    _check_counts(path, lines, relevant, len(clips))
    composites: dict[str, Composite] = {}
    if _states_constraints(path, lines):
        composites = {clip: parse(clip, str(file)) for clip, file in clips.items()}
        _check_relevance(path, lines, relevant, composites)
    order = {clip: number for number, clip in enumerate(clips)}
    release = Release(
        clips,
        _digests(folder / layout.CLIPS, clips),
        composites,
        tuple(_query(line, sorted(relevant[line.id], key=order.__getitem__)) for _, line in lines.values()),
        tuple(_choice(line) for _, line in choices.values()),
    )
    for number, choice in choices.values():
        _check_choice(choice, release, lines, f"{folder / CHOICES}:{number}")
    return release


def _query(line: QueryLine, clips: Iterable[str]) -> ReasonQuery:
    return ReasonQuery(line.id, task_of(line), line.text.strip(), line.constraints, tuple(clips))


def _choice(line: ChoiceLine) -> ReasonChoice:
    return ReasonChoice(line.id, task_of(line), line.text.strip(), line.constraints, line.right, line.wrong)


def _clips(folder: Path) -> dict[str, Path]:
    """Return the sound files by clip id; hidden files (an interrupted write leaves one) and metadata are skipped."""
    try:
        files = sorted(path for path in folder.iterdir() if path.name[0] != "." and path.suffix != ".json")
    except OSError as error:
        raise DataError(
            f"{folder} cannot be read ({error.strerror})", expected="a folder of sound files", remedy="add it"
        ) from None
    found: dict[str, Path] = {}
    for path in files:
        if path.suffix.lower() not in ENDINGS or not path.is_file():
            raise DataError(
                f"{path} is no sound file ({', '.join(ENDINGS)})", remedy="move it out of the folder of clips"
            )
        if path.stem in found:
            raise DataError(
                f"{path}: clip {path.stem!r} is there as {found[path.stem].name} already", remedy="keep one"
            )
        found[path.stem] = path
    if not found:
        raise DataError(f"{folder} holds no clips", expected=f"sound files ({', '.join(ENDINGS)})", remedy="add them")
    return found


def _digests(path: Path, clips: Mapping[str, Path]) -> dict[str, str]:
    """Return the sha256 of each clip, once names, lines and the metadata beside clips agree."""
    found: dict[str, str] = {}
    for where, stated in layout.read_records(path):
        if stated.id not in clips:
            raise DataError(
                f"{where}: clip {stated.id!r} has no file in {layout.FOLDER}/", remedy="build the corpus again"
            )
        if stated != layout.record(parse(stated.id, where), stated.sha256):
            raise DataError(
                f"{where}: events differ from those of the clip's name {stated.id!r}", remedy="build the corpus again"
            )
        beside = clips[stated.id].with_suffix(".json")
        if beside.exists() and [entry for _, entry in layout.read_records(beside)] != [stated]:
            raise DataError(f"{beside} differs from {where}", remedy="build the corpus again")
        found[stated.id] = stated.sha256
    missing = [clip for clip in clips if clip not in found]
    if missing and path.exists():
        raise DataError(
            f"{path}: clip {missing[0]!r} is missing ({len(missing)} such)", remedy="build the corpus again"
        )
    return found


def _relevance(path: Path, queries: _Queries, clips: Mapping[str, Path]) -> _Relevance:
    names = {file.name: clip for clip, file in clips.items()}
    found = defaultdict[str, dict[str, str]](dict)
    for line in relevant_lines(path):
        if line.query not in queries:
            raise DataError(
                f"{line.where}: query {line.query!r} is unknown",
                remedy=f"{did_you_mean(line.query, queries)}correct the id",
            )
        clip = names.get(line.clip, line.clip)
        if clip not in clips:
            raise DataError(
                f"{line.where}: clip {line.clip!r} has no file in {layout.FOLDER}/",
                remedy="restore it or correct the id",
            )
        if clip in found[line.query]:
            raise DataError(f"{line.where}: clip {clip!r} is named for {line.query!r} twice", remedy="remove one line")
        found[line.query][clip] = line.where
    return found


def _check_counts(path: Path, queries: _Queries, relevant: _Relevance, clips: int) -> None:
    for query, (number, _) in queries.items():
        count = len(relevant.get(query, ()))
        if count == 0:
            raise DataError(
                f"{path}:{number}: query {query!r} has no relevant clip", remedy="name one or remove the query"
            )
        if count == clips:
            raise DataError(
                f"{path}:{number}: all {clips} clips are relevant to {query!r}",
                expected="some that are not",
                remedy="remove the query",
            )


def _states_constraints(path: Path, queries: _Queries) -> bool:
    """Return whether the queries have constraints: all of them, or none."""
    without = [number for number, line in queries.values() if not line.constraints]
    if without and len(without) < len(queries):
        raise DataError(
            f"{path}:{without[0]}: the query has no constraints "
            f"(nor have {len(without) - 1} others of {len(queries)} queries)",
            remedy="state those of all or of none",
        )
    return not without


def _check_relevance(path: Path, queries: _Queries, relevant: _Relevance, composites: Mapping[str, Composite]) -> None:
    index, ids = Index(list(composites.values())), list(composites)
    for query, (number, line) in queries.items():
        check_task(line, f"{path}:{number}")
        right = {ids[at] for at in positions(index.satisfying(line.constraints))}
        for clip, where in relevant[query].items():
            if clip not in right:
                reason = violations(line.constraints, composites[clip])[0].reason
                raise DataError(
                    f"{where}: clip {clip!r} is not relevant to {query!r}: {reason}", remedy="build the queries again"
                )
        missing = sorted(right - set(relevant[query]))
        if missing:
            raise DataError(
                f"{path}:{number}: clip {missing[0]!r} meets every constraint of {query!r} and is not stated to be "
                "relevant",
                remedy="build the queries again",
            )


def _check_choice(choice: ChoiceLine, release: Release, queries: _Queries, where: str) -> None:
    if choice.id in queries:
        raise DataError(f"{where}: id {choice.id!r} is that of a query", remedy="give the choice another")
    for side in (choice.right, choice.wrong):
        if side not in release.clips:
            raise DataError(
                f"{where}: clip {side!r} has no file in {layout.FOLDER}/", remedy="restore it or correct the id"
            )
    if bool(choice.constraints) != bool(release.composites):
        found = "has constraints" if choice.constraints else "has no constraints"
        raise DataError(f"{where}: the choice {found}, unlike the queries", remedy="state those of all or of none")
    if not choice.constraints:
        return
    check_task(choice, where)
    fault = violations(choice.constraints, release.composites[choice.right])
    if fault:
        raise DataError(f"{where}: the right clip is wrong: {fault[0].reason}", remedy="build the choices again")
    if not violations(choice.constraints, release.composites[choice.wrong]):
        raise DataError(f"{where}: the wrong clip meets every constraint", remedy="build the choices again")
