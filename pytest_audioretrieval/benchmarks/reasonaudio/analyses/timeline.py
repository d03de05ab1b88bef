"""Timelines of clips as text beside a query, with the constraints that each clip violates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.benchmarks.reasonaudio.builtin.dataset import builtin_release
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite, phrase
from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import ReasonChoice
from pytest_audioretrieval.benchmarks.reasonaudio.queries.constraints import Constraints, Negation, violations
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import ReasonQuery
from pytest_audioretrieval.benchmarks.reasonaudio.release.reader import Release, read_release
from pytest_audioretrieval.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

#: Width of a timeline in columns, without the names before it.
COLUMNS = 60
#: Smallest number of columns between two numbers of a ruler.
APART = 4
#: Number of clips of a kind to show.
SHOWN = 3
NAMED, OTHER = "#", "-"


def show(folder: Path, query_id: str, console: Console, clip: str | None = None) -> None:
    """Print a query (or choice), its constraints, and timelines of up to three relevant and three near-miss clips.

    Args:
        folder: as ``read_release`` reads it, or ``reasoning``, the built-in corpus.
        clip: id or number of the one clip to show in their place.

    Raises:
        DataError: as ``read_release``; there is no such query or clip; the folder states no constraints.
    """
    release = builtin_release() if str(folder) == "reasoning" and not folder.exists() else read_release(folder)
    if not release.composites:
        raise DataError(f"{folder}: its queries state no constraints", remedy="name a folder whose queries do")
    query = _query(release, query_id)
    shown = _chosen(query, release) if clip is None else [_named(clip, release)]
    for line in _page(query, shown, release):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def timeline(composite: Composite, named: Sequence[str], seconds: int) -> list[str]:
    """Return a ruler in seconds and one row an event, on a scale of ``seconds`` to 60 columns.

    Sounds in ``named`` are drawn with ``#``, others with ``-``; each at least one column wide.
    """
    width = max(len(phrase(event.sound)) for event in composite.events)
    rows = [f"{'':{width}} {_ruler(seconds)}"]
    for event in composite.events:
        start, end = (_column(at, seconds) for at in (event.start, event.end))
        bar = (NAMED if event.sound in named else OTHER) * max(1, end - start)
        rows.append(f"{phrase(event.sound):{width}} {' ' * start}{bar}")
    return rows


def _ruler(seconds: int) -> str:
    step = next(step for step in (1, 2, 5, 10, 30) if COLUMNS * step >= APART * seconds or step == 30)
    ruler = ""
    for second in range(0, seconds + 1, step):
        ruler = f"{ruler:{_column(1000 * second, seconds)}}{second}"
    return f"{ruler} s"


def _column(ms: int, seconds: int) -> int:
    return round(ms * COLUMNS / (1000 * seconds))


def _query(release: Release, wanted: str) -> ReasonQuery | ReasonChoice:
    items: tuple[ReasonQuery | ReasonChoice, ...] = (*release.queries, *release.choices)
    asked = {item.id: item for item in items}
    if wanted not in asked:
        known = f"one of {len(items)}, {items[0].id} to {items[-1].id}"
        raise DataError(
            f"query {wanted!r} is unknown", expected=known, remedy=f"{did_you_mean(wanted, asked)}correct the id"
        )
    return asked[wanted]


def _named(wanted: str, release: Release) -> str:
    """Return the clip with that id, or that number."""
    number = int(wanted) if wanted.isdecimal() else None
    found = [clip for clip, composite in release.composites.items() if clip == wanted or composite.number == number]
    if len(found) != 1:
        raise DataError(
            f"clip {wanted!r}: {len(found)} of {len(release.clips)} clips have this id or number",
            expected="1",
            remedy=f"name one, such as {next(iter(release.clips))}",
        )
    return found[0]


def _chosen(query: ReasonQuery | ReasonChoice, release: Release) -> list[str]:
    """Return relevant clips, then near misses: clips that hold the most of the named sounds and violate least."""
    if isinstance(query, ReasonChoice):
        return [query.right, query.wrong]

    def distance(clip: str) -> tuple[int, int]:
        heard = {sound for constraint in query.constraints for sound in constraint.sounds}
        missing = sum(release.composites[clip].event(sound) is None for sound in heard)
        return missing, len(violations(query.constraints, release.composites[clip]))

    wrong = sorted(set(release.clips) - set(query.clips))
    return [*query.clips[:SHOWN], *sorted(wrong, key=distance)[:SHOWN]]


def _page(query: ReasonQuery | ReasonChoice, clips: Sequence[str], release: Release) -> Iterator[str]:
    named = _sounds(query.constraints)
    seconds = max(-(-release.composites[clip].end // 1000) for clip in clips)
    yield f"{query.id} ({query.task}): {query.text}"
    yield f"asks for: {'; '.join(map(str, query.constraints))}"
    if isinstance(query, ReasonQuery):
        yield f"{len(query.clips)} of {len(release.clips)} clips are relevant"
    for clip in clips:
        faults = violations(query.constraints, release.composites[clip])
        yield ""
        yield "; ".join(f"broken {kind}: {why}" for kind, why in faults) or "relevant"
        yield str(release.clips[clip])
        yield from timeline(release.composites[clip], named, seconds)


def _sounds(constraints: Constraints) -> list[str]:
    absent = [constraint.sound for constraint in constraints if isinstance(constraint, Negation)]
    return [*(sound for constraint in constraints for sound in constraint.sounds), *absent]
