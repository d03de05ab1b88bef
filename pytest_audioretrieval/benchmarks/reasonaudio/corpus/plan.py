"""Plan of the clips of a corpus: the sounds of each and their times (ReasonAudio, 3.2).

A clip holds 2 to 8 sounds, in 6 of 10 clips one after another. It is a sequence of *groups*, each of one, two or three
sounds: the two of a pair overlap; of three, the second overlaps both others, which are apart. Groups do not overlap, so
a clip of one pair has a single overlap, a clip of two pairs or one trio a double overlap, and there are never more than
two sounds at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import CLEAR, Composite, Event, Pattern
from pytest_audioretrieval.data.sounds.recipe import between, draw, shuffled
from pytest_audioretrieval.errors import DataError, SpecError

#: Shares of the patterns in every ten clips; the overlaps are half single, half double.
_SHARES: dict[Pattern, int] = {"sequential": 6, "single-overlap": 2, "double-overlap": 2}
_TEN = [pattern for pattern, share in _SHARES.items() for _ in range(share)]
MOST_SOUNDS = 8
#: Largest number of clips: five digits number them.
MOST_CLIPS = 99_999
SECONDS = (3, 60)

#: Shortest event in milliseconds, unless its whole sound is shorter.
SHORTEST = 400
#: Smallest time between two events that do not overlap, and between two starts.
GAP = 100
#: Shortest overlap of two events.
TOGETHER = 300
#: Longest silence before the first group, and beyond ``GAP`` between two.
_LEAD, _MORE = 500, 900

#: Minimum lengths of the sounds of a group of one, two or three.
_BRIDGE = TOGETHER + GAP + TOGETHER
_NEEDS: dict[int, tuple[int, ...]] = {1: (0,), 2: (SHORTEST, SHORTEST), 3: (SHORTEST, _BRIDGE, SHORTEST)}
#: Smallest number of long sounds, which double overlaps need.
_FEWEST_LONG = 4

#: A group's sounds, each with its shortest event.
_Group = list[tuple[str, int]]


def plan(lengths: Mapping[str, int], clips: int, seed: int, seconds: int = 10) -> list[Composite]:
    """Return the clips of a corpus; no two are alike, and each sound occurs in about as many clips as any other.

    A clip depends on the arguments and the clips before it: the first clips of a larger corpus are those of a smaller.

    Args:
        lengths: length of each sound, by label, in milliseconds.
        clips: number of clips, at most 99,999.
        seconds: of each clip, 3 to 60.

    Raises:
        DataError: there are fewer than 8 sounds, or fewer than 4 of at least 0.7 s.
        SpecError: ``clips`` or ``seconds`` is out of range.
    """
    _check(lengths, clips, seconds)
    used: Counter[str] = Counter()
    seen: set[tuple[Event, ...]] = set()
    made: list[Composite] = []
    for number in range(clips):
        pattern = pattern_of(number, seed)
        for attempt in count():
            events = _events(pattern, lengths, used, 1000 * seconds, f"{seed}/{number}/{attempt}")
            if events not in seen:
                break
        seen.add(events)
        used.update(event.sound for event in events)
        made.append(Composite(number, pattern, events))
    return made


def pattern_of(number: int, seed: int) -> Pattern:
    """Return the pattern of a clip: of each ten, 6 are sequential, 2 have a single and 2 a double overlap."""
    return shuffled(_TEN, f"{seed}/patterns/{number // 10}")[number % 10]


def _check(lengths: Mapping[str, int], clips: int, seconds: int) -> None:
    if not 1 <= clips <= MOST_CLIPS:
        raise SpecError(f"clips is {clips}", expected=f"1 to {MOST_CLIPS}", remedy="choose another number")
    if not SECONDS[0] <= seconds <= SECONDS[1]:
        raise SpecError(
            f"seconds is {seconds}", expected=f"{SECONDS[0]} to {SECONDS[1]}", remedy="choose another length"
        )
    if len(lengths) < MOST_SOUNDS:
        raise DataError(
            f"there are {len(lengths)} sounds", expected=f"at least {MOST_SOUNDS}", remedy="add files of other sounds"
        )
    long = sum(lasts >= _BRIDGE for lasts in lengths.values())
    if long < _FEWEST_LONG:
        raise DataError(
            f"there are {long} sounds of at least {_BRIDGE / 1000:g} s",
            expected=f"at least {_FEWEST_LONG}, which overlaps need",
            remedy="add longer ones",
        )


def _events(
    pattern: Pattern, lengths: Mapping[str, int], used: Mapping[str, int], room: int, key: str
) -> tuple[Event, ...]:
    groups = _groups(_shape(pattern, room, key), lengths, used, key)
    lasts = _durations(groups, lengths, room - GAP * (len(groups) - 1), key)
    placed = [_overlapped([Event(sound, 0, lasts[sound]) for sound, _ in group], key) for group in groups]
    spare = room - sum(_end(group) for group in placed) - GAP * (len(placed) - 1)
    clock, events = 0, []
    for position, group in enumerate(placed):
        rest = between(f"{key}/rest/{position}", (0, min(spare, _MORE if position else _LEAD)))
        spare -= rest
        clock += rest
        events += [_moved(event, clock) for event in group]
        clock += _end(group) + GAP
    return tuple(sorted(events, key=lambda event: (event.start, event.end, event.sound)))


def _shape(pattern: Pattern, room: int, key: str) -> list[int]:
    """Return the sizes of the groups.

    The number of sounds is uniform from 2 (3 for a double overlap) to what fits, at most 8.
    """
    most = min(MOST_SOUNDS, (room + GAP - (_BRIDGE - SHORTEST)) // (SHORTEST + GAP))
    sounds = between(f"{key}/count", (3 if pattern == "double-overlap" else 2, most))
    together: tuple[int, ...] = ()
    if pattern == "single-overlap":
        together = (2,)
    elif pattern == "double-overlap":
        together = (2, 2) if sounds > 3 and draw(f"{key}/apart", 2) else (3,)
    return shuffled([*together, *[1] * (sounds - sum(together))], f"{key}/shape")


def _groups(shape: Sequence[int], lengths: Mapping[str, int], used: Mapping[str, int], key: str) -> list[_Group]:
    """Return the sounds of each group: those used least that are long enough, ties by chance.

    The most demanding place is filled first.
    """
    waiting = sorted(shuffled(sorted(lengths), f"{key}/sounds"), key=lambda sound: used.get(sound, 0))
    groups: list[_Group] = [[("", need) for need in _NEEDS[size]] for size in shape]
    places = [(need, g, p) for g, group in enumerate(groups) for p, (_, need) in enumerate(group)]
    for need, g, p in sorted(places, key=lambda place: -place[0]):
        sound = next(sound for sound in waiting if lengths[sound] >= need)
        waiting.remove(sound)
        groups[g][p] = (sound, need or min(SHORTEST, lengths[sound]))
    return groups


def _durations(groups: Sequence[_Group], lengths: Mapping[str, int], room: int, key: str) -> dict[str, int]:
    """Return the duration of each sound, at most ``room`` together: its whole length in half of the clips with room."""
    least = {sound: shortest for group in groups for sound, shortest in group}
    spare, found = room - sum(least.values()), dict[str, int]()
    for sound in shuffled(list(least), f"{key}/turns"):
        most = min(lengths[sound], least[sound] + spare)
        whole = most == lengths[sound] and draw(f"{key}/{sound}/whole", 2)
        found[sound] = most if whole else between(f"{key}/{sound}/lasts", (least[sound], most))
        # A query asks for whole or half seconds, and its answer must not depend on some milliseconds.
        found[sound] -= max(0, (found[sound] - CLEAR) % 1_000 - (1_000 - 2 * CLEAR))
        spare -= found[sound] - least[sound]
    return found


def _overlapped(group: list[Event], key: str) -> list[Event]:
    """Return the events of a group from time 0 on."""
    if len(group) == 1:
        return group
    first, second, *third = group
    earliest = max(GAP, first.end + GAP + TOGETHER - second.duration) if third else GAP
    second = _moved(second, between(f"{key}/{second.sound}/start", (earliest, first.end - TOGETHER)))
    starts = (first.end + GAP, second.end - TOGETHER)
    return [first, second, *(_moved(event, between(f"{key}/{event.sound}/start", starts)) for event in third)]


def _moved(event: Event, by: int) -> Event:
    return Event(event.sound, event.start + by, event.end + by)


def _end(group: Sequence[Event]) -> int:
    return max(event.end for event in group)
