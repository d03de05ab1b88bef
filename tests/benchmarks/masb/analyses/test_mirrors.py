from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.benchmarks.masb.analyses.answers import answer_choices
from pytest_audioretrieval.benchmarks.masb.analyses.chance import Family
from pytest_audioretrieval.benchmarks.masb.analyses.mirrors import mirror_tables, mirrored
from pytest_audioretrieval.data.types import Choice
from pytest_audioretrieval.errors import DataError
from tests.benchmarks.masb.analyses.toy_models import Fake, Score, dataset, mirror, rows
from tests.examples import examples

CHOICES = [
    choice for number in range(30) for choice in mirror(number, "mirror-order" if number < 20 else "mirror-loud")
]


def hearing(text: str, clip: str) -> float:
    """Return the score of a model that hears which sound of a track comes first."""
    return float(text.startswith(clip[-2].upper()))


def reading(text: str, clip: str) -> float:
    return float(hashlib.sha256(text.encode()).digest()[0])


def deaf(text: str, clip: str) -> float:
    return 1.0


def inverted(text: str, clip: str) -> float:
    return -hearing(text, clip)


def tabulated(*models: tuple[str, Score], choices: list[Choice] = CHOICES) -> dict[tuple[str, ...], dict[str, object]]:
    """Return the rows of both tables as one."""
    given = dataset(choices)
    answers = [answer_choices(Fake(name, score), given) for name, score in models]  # type: ignore[arg-type]
    chance, pairs = map(rows, mirror_tables(answers, choices, Family(answers)))
    assert list(chance) == list(pairs)
    return {key: row | pairs[key] for key, row in chance.items()}


FOUND = tabulated(("hears", hearing), ("reads", reading), ("neither", deaf), ("inverts", inverted))


def pair_counts(model: str, part: str) -> list[object]:
    return [FOUND[model, part][name] for name in ("pairs", "both right", "one right", "none right", "with a tie")]


def test_how_many_of_each_pair_are_right() -> None:
    assert pair_counts("hears", "mirror-order") == [20, 20, 0, 0, 0]
    assert pair_counts("hears", "mirror-loud") == [10, 10, 0, 0, 0]
    assert pair_counts("inverts", "all") == [30, 0, 0, 30, 0]
    assert pair_counts("reads", "all") == [30, 0, 30, 0, 0]
    assert pair_counts("neither", "mirror-order") == [20, 0, 0, 0, 20]


def test_whoever_reads_the_texts_alone_is_at_chance_to_the_dot() -> None:
    for part in ("mirror-order", "mirror-loud", "all"):
        row = FOUND["reads", part]
        assert (row["accuracy"], row["p"], row["clustered p"]) == (0.5, 1, 1)
    assert (FOUND["neither", "all"]["accuracy"], FOUND["neither", "all"]["ties"]) == (0.5, 60)


def test_comparisons_are_tested_one_by_one_and_by_track() -> None:
    row = FOUND["hears", "mirror-loud"]
    assert (row["n"], row["clusters"], row["chance"]) == (20, 10, "above")
    assert row["p"] == pytest.approx(2 / 2**20)
    assert row["clustered p"] == pytest.approx(2 / 2**10)
    # Eight rows; those of 20 pairs, heard and inverted, come first.
    assert row["clustered Holm p"] == pytest.approx(6 * 2 / 2**10)
    assert FOUND["inverts", "mirror-order"]["chance"] == "below"
    assert FOUND["reads", "mirror-order"]["chance"] == "at"


@examples(25)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_no_reader_of_texts_has_both_or_none_of_a_pair(preference: list[int]) -> None:
    choices = [choice for number in range(4) for choice in mirror(number)]
    order = {text: preference[i] for i, text in enumerate(sorted({c.right.text for c in choices}))}
    row = tabulated(("m", lambda text, clip: float(order[text])), choices=choices)["m", "all"]
    assert (row["accuracy"], row["both right"], row["none right"]) == (0.5, 0, 0)
    assert row["one right"] + row["with a tie"] == 4  # type: ignore[operator]


def test_which_choices_belong_together() -> None:
    assert mirrored(CHOICES).tolist() == [[2 * n, 2 * n + 1] for n in range(30)]
    one, other = mirror(1), mirror(2)
    assert mirrored([one[1], other[0], other[1], one[0]]).tolist() == [[0, 3], [1, 2]]
    # One track twice with the same texts: first to first, second to second.
    again = [replace(choice, id=f"again {choice.id}") for choice in one]
    assert mirrored([*one, *again]).tolist() == [[0, 1], [2, 3]]
    assert mirrored([one[0], again[0], one[1], again[1]]).tolist() == [[0, 2], [1, 3]]
    assert mirrored([]).shape == (0, 2)
    assert mirrored(CHOICES).dtype == np.int64


def test_a_choice_without_its_mirror() -> None:
    one, other = mirror(1)
    for others in ([], [replace(other, cluster="elsewhere")], [replace(other, slice="mirror-loud")], [one, other]):
        with pytest.raises(DataError, match=r"^[12] choices of cluster 'track 1' hold 'A first 1' right .*'1 ab'$"):
            mirrored([one, *others])
    alike = replace(one, wrong=one.right)
    with pytest.raises(DataError, match="hold 'A first 1' right and 'A first 1' wrong"):
        mirrored([alike, alike])
    answers = [answer_choices(Fake("m"), dataset([one]))]  # type: ignore[arg-type]
    chance, pairs = mirror_tables(answers, [one], Family(answers))
    assert len(chance.rows) == 2
    assert pairs.note.startswith("does not apply: 1 choices of cluster 'track 1'")


def test_a_dataset_without_mirror_pairs() -> None:
    nothing = answer_choices(Fake("m"), dataset())  # type: ignore[arg-type]
    for table in mirror_tables([nothing], [], Family([nothing])):
        assert table.note == "does not apply: the dataset has no mirror pairs: name one that has"
