"""Plans: proportions, distances, lengths, and their dependence on the arguments alone."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite, contradiction, parse
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.plan import plan
from pytest_audioretrieval.errors import DataError, SpecError
from tests.examples import examples

#: As long as those that are built in: a quarter of a second to three seconds.
LENGTHS = {f"sound-{number:02d}": 250 + 990 * number % 2760 for number in range(64)}
PLAN = plan(LENGTHS, 1000, 7)


def check(clip: Composite, lengths: dict[str, int], seconds: int) -> None:
    """Check all promises about a clip, from its times alone."""
    overlaps = 0
    for one, other in combinations(clip.events, 2):
        shared = min(one.end, other.end) - max(one.start, other.start)
        assert shared >= 300 or shared <= -100
        assert abs(one.start - other.start) >= 100
        overlaps += shared > 0
    assert overlaps == {"sequential": 0, "single-overlap": 1, "double-overlap": 2}[clip.pattern]
    for event in clip.events:
        assert min(400, lengths[event.sound]) <= event.end - event.start <= lengths[event.sound]
        assert 0 <= event.start < event.end <= 1000 * seconds
    assert len({event.sound for event in clip.events}) == len(clip.events) <= 8
    assert contradiction(clip) is None


def test_every_clip_keeps_its_promises() -> None:
    for clip in PLAN:
        check(clip, LENGTHS, 10)
        assert parse(clip.id, "here") == clip


def test_patterns_are_exactly_6_2_2_of_every_ten() -> None:
    for start in range(0, 1000, 10):
        patterns = Counter(clip.pattern for clip in PLAN[start : start + 10])
        assert patterns == {"sequential": 6, "single-overlap": 2, "double-overlap": 2}
    assert len({tuple(clip.pattern for clip in PLAN[start : start + 10]) for start in range(0, 1000, 10)}) > 90


def test_numbers_of_sounds_are_2_to_8_alike() -> None:
    sequential = Counter(len(clip.events) for clip in PLAN if clip.pattern != "double-overlap")
    assert set(sequential) == set(range(2, 9))
    assert all(80 < clips < 150 for clips in sequential.values())  # 800 / 7 = 114
    assert {len(clip.events) for clip in PLAN if clip.pattern == "double-overlap"} == set(range(3, 9))


def test_double_overlaps_are_two_pairs_or_three_in_a_row() -> None:
    shapes: Counter[int] = Counter()
    for clip in PLAN:
        pairs = [{one.sound, other.sound} for one, other in combinations(clip.events, 2) if one.overlaps(other)]
        if len(pairs) == 2:
            shapes[len(pairs[0] | pairs[1])] += 1
    assert set(shapes) == {3, 4}
    assert min(shapes.values()) > 60


def test_clips_are_distinct_and_numbered() -> None:
    assert len({clip.events for clip in PLAN}) == 1000
    assert [clip.number for clip in PLAN] == list(range(1000))


def test_sounds_are_used_alike_and_meet_many_others() -> None:
    used = Counter(event.sound for clip in PLAN for event in clip.events)
    assert len(used) == 64
    assert max(used.values()) - min(used.values()) <= 2
    met = defaultdict(set)
    for clip in PLAN:
        for event in clip.events:
            met[event.sound] |= {other.sound for other in clip.events}
    assert min(len(others) for others in met.values()) > 55


def whole(length: int) -> int:
    """Return the longest event of a sound: never within 200 ms of a whole second, which a query may ask for."""
    past = length % 1000
    return length - past + min(past, 800) if past >= 200 else length - past - 200


def test_no_duration_is_near_a_whole_second() -> None:
    assert {event.duration % 1000 // 100 for clip in PLAN for event in clip.events} <= {2, 3, 4, 5, 6, 7, 8}
    assert all(200 <= event.duration % 1000 <= 800 for clip in PLAN for event in clip.events)


def test_a_sound_is_heard_whole_and_cut() -> None:
    lasts = defaultdict(list)
    for clip in PLAN:
        for event in clip.events:
            lasts[event.sound].append(event.duration)
    for sound, found in lasts.items():
        assert max(found) == whole(LENGTHS[sound])
        if LENGTHS[sound] > 1300:  # a shorter one is nearly always heard for 0.8 s
            assert len(set(found)) > 20
            assert 0.2 < found.count(whole(LENGTHS[sound])) / len(found) < 0.6
            assert min(found) < 700


def test_only_the_arguments_decide() -> None:
    backwards = dict(reversed(LENGTHS.items()))
    assert plan(backwards, 100, 7) == PLAN[:100]
    other = plan(LENGTHS, 100, 8)
    assert not {clip.events for clip in other} & {clip.events for clip in PLAN}
    digest = hashlib.sha256("\n".join(clip.id for clip in PLAN).encode()).hexdigest()
    assert digest == "e9a873d93fc3feae7e99a55207d5d15b965a98abda46ee566f4e310e847b029a"


LONG = st.lists(st.integers(700, 30_000), min_size=4, max_size=6)
ANY = st.lists(st.integers(250, 30_000), min_size=4, max_size=6)


@examples(60)
@given(LONG, ANY, st.integers(3, 60), st.integers(0, 2**32))
def test_any_sounds_make_a_plan(long: list[int], short: list[int], seconds: int, seed: int) -> None:
    lengths = {f"s{number}": lasts for number, lasts in enumerate(long + short)}
    for clip in plan(lengths, 20, seed, seconds):
        check(clip, lengths, seconds)


def test_names_fit_into_255_bytes() -> None:
    lengths = {f"a-label-of-17-ch{number}": 900 for number in range(8)}
    longest = max(len(clip.id) for clip in plan(lengths, 200, 1, 60))
    assert 200 < longest + len(".flac") <= 255


@pytest.mark.parametrize(("clips", "seconds"), [(0, 10), (100_000, 10), (5, 2), (5, 61)])
def test_out_of_range(clips: int, seconds: int) -> None:
    with pytest.raises(SpecError, match="expected"):
        plan(LENGTHS, clips, 1, seconds)


def test_too_few_sounds_or_too_short_ones() -> None:
    with pytest.raises(DataError, match="there are 7 sounds, expected at least 8"):
        plan({f"s{number}": 900 for number in range(7)}, 5, 1)
    with pytest.raises(DataError, match=r"there are 3 sounds of at least 0\.7 s, expected at least 4"):
        plan({f"s{number}": 700 if number < 3 else 699 for number in range(20)}, 5, 1)
