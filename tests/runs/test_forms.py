"""Direction ``forms``: from vectors set by hand to a run, and no run that contradicts itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.reformulate import reformulate
from pytest_audioretrieval.data.types import Caption, Clip, Dataset
from pytest_audioretrieval.errors import BaselineError, DataError
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.runs import baselines, stored
from pytest_audioretrieval.runs.directions.forms import with_forms
from pytest_audioretrieval.runs.measure import measure
from pytest_audioretrieval.runs.run import MeasuredRun, Run

CLIPS = tuple(Clip(f"c{i}", str(i) * 64, lambda: pytest.fail("decoded")) for i in range(4))
AXES = np.eye(4, dtype=np.float32)


class Fake:
    """Clips are the axes, so that a query's scores are its coordinates; texts not given get some by hash."""

    identity = ModelIdentity("fake", None, "a" * 64)
    resources = SimpleNamespace(protocol=Protocol())
    device = "cpu"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.vectors = vectors

    def sides(self, queries, candidates):
        return self._side(queries), self._side(candidates)

    def _side(self, side):
        return np.stack([self._vector(item) for part in side for item in part]).astype(np.float32)

    def _vector(self, item):
        if isinstance(item, Clip):
            return AXES[CLIPS.index(item)]
        if item in self.vectors:
            return np.array(self.vectors[item])
        drawn = np.frombuffer(hashlib.sha256(item.encode()).digest()[:4], dtype=np.uint8) - 127.5
        return drawn / np.linalg.norm(drawn)


def ask(fake: Fake, given: Dataset) -> MeasuredRun:
    return measure(fake, given, "forms")


def dataset(*captions: Caption, merged: bool = False, **notes: int) -> Dataset:
    digest = fingerprint(CLIPS, captions, merged=merged)
    return Dataset("hand", None, CLIPS, captions, digest, merged, notes)


def caption(clip: int, text: str, forms: Sequence[str] = FORMS, place: int = 0) -> Caption:
    """A caption whose forms read ``FORM: TEXT``."""
    return Caption(f"c{clip}#{place}", text, f"c{clip}", {form: f"{form}: {text}" for form in forms})


#: Scores of clips 0 to 3.
RAIN = {
    "rain": [0.8, 0.6, 0, 0],
    "command: rain": [0.6, 0.8, 0, 0],
    "question: rain": [0, 0, 0.6, 0.8],
    "indirect: rain": [0, 0.6, 0.8, 0],
    "key_phrase: rain": [0.8, 0.6, 0, 0],
    "statement: rain": [1, 0, 0, 0],
}


def test_by_hand() -> None:
    """ "rain" asks for clip 0, which it scores 0.8; its best rival is clip 1 with 0.6."""
    subject = measure(Fake(RAIN), dataset(caption(0, "rain")), "forms")
    run = subject.run
    assert (run.direction, run.model.id, run.dataset.queries, run.dataset.clips) == ("forms", "fake", 1, 4)
    assert (run.queries.id, run.queries.cluster) == (["c0#0"], ["c0"])
    assert (run.queries.first_hit_rank, run.queries.source_rank) == ([1], [1])
    assert run.queries.margin == pytest.approx([0.2], abs=1e-7)
    wanted = {
        # rank, move, tal, hnp, what ranks first
        "command": (2, 1 - 0.96, 0.2, 0.8 - 0.6, "c1"),
        # Clips 2 and 3 lead; clip 0 ties with clip 1 and comes first.
        "question": (3, 1.0, 0.8, 0.8 - 0.6, "c3"),
        "indirect": (3, 1 - 0.36, 0.8, 0.8 - 0.6, "c2"),
        "key_phrase": (1, 0.0, 0.0, 0.0, "c0"),
        "statement": (1, 1 - 0.8, -0.2, 0.0 - 0.6, "c0"),
    }
    assert run.queries.forms is not None
    assert list(run.queries.forms) == list(subject.forms) == list(wanted)
    for form, (rank, move, tal, hnp, first) in wanted.items():
        found, shown = run.queries.forms[form], subject.forms[form]
        assert found.rank == [rank], form
        assert [*found.move, *found.tal, *found.hnp] == pytest.approx([move, tal, hnp], abs=2e-7), form
        assert (list(shown.query), list(shown.first)) == ([f"{form}: rain"], [first])
    assert (list(subject.shown.query), list(subject.shown.first)) == (["rain"], ["c0"])
    assert subject.notes == []


def test_items_keep_their_own_forms() -> None:
    """Pairs are laid item by item, columns form by form: form ``i`` of the caption of clip ``c`` means clip c + i."""
    texts = ["a", "b", "c"]
    vectors = {
        text: AXES[(clip + place) % 4]
        for clip, word in enumerate(texts)
        for place, text in enumerate([word, *(f"{form}: {word}" for form in FORMS[1:])])
    }
    vectors |= {f"{FORMS[0]}: {word}": AXES[clip] for clip, word in enumerate(texts)}
    subject = ask(Fake(vectors), dataset(*(caption(clip, word) for clip, word in enumerate(texts))))
    for place, form in enumerate(FORMS):
        found, met = (subject.run.queries.forms or {})[form], [(clip + place) % 4 for clip in range(3)]
        assert list(subject.forms[form].first) == [f"c{clip}" for clip in met]
        assert found.tal == pytest.approx([float(clip != target) for target, clip in enumerate(met)])
        # Behind the clip that is met all scores are 0, in document order.
        ranks = [
            1 if clip == target else 2 + sum(other != clip for other in range(target))
            for target, clip in enumerate(met)
        ]
        assert found.rank == ranks, form


def test_source_ranks_are_those_of_the_captions() -> None:
    """Each caption means another clip than its own, but for the second."""
    vectors = {"a": AXES[1], "b": AXES[1], "c": AXES[0]}
    queries = ask(Fake(vectors), dataset(*(caption(clip, word) for clip, word in enumerate("abc")))).run.queries
    assert queries.source_rank == queries.first_hit_rank == [2, 1, 3]


def test_an_incomplete_case_is_left_out_and_counted() -> None:
    """CORA asks only captions that have every form."""
    given = dataset(
        caption(0, "rain"),
        caption(1, "wind", [form for form in FORMS if form != "indirect"]),
        caption(2, "snow", [], place=1),
        doubles=3,
    )
    subject = ask(Fake(RAIN), given)
    assert (subject.run.queries.id, subject.run.dataset.queries) == (["c0#0"], 1)
    assert subject.run.dataset.clips == 4, "clips without a query are still ranked"
    assert subject.notes == [
        "3 doubles",
        "1 captions without any form, not asked",
        "1 items without a query of form indirect",
        "1 items left out because a form is missing (complete cases)",
    ]


def test_no_caption_with_every_form_is_an_error() -> None:
    with pytest.raises(DataError, match="hand: no item to ask among 1"):
        ask(Fake({}), dataset(caption(1, "wind", ["command"])))


#: Clips 2 and 3 have the caption "hail", which likes clip 3 better.
HAIL = {"hail": [0, 0, 0.6, 0.8], **{f"{form}: hail": [0.48, 0.6, 0, 0.64] for form in FORMS}}


@pytest.mark.parametrize("merged", [False, True])
def test_another_clip_with_the_same_caption_is_no_rival(merged: bool) -> None:
    given = dataset(caption(2, "hail"), caption(3, "hail"), merged=merged)
    run = ask(Fake(HAIL), given).run
    assert run.queries.id == ["c2#0", "c3#0"], "each is asked for its own clip, merged or not"
    assert run.queries.first_hit_rank == [2, 1]
    assert run.queries.source_rank == [1, 1]
    command = run.queries.forms["command"]  # type: ignore[index]
    # Clip 2 scores 0 behind clips 0 and 1; clip 3, which is right too, is not counted.
    assert command.rank == [3, 1]
    assert command.tal == pytest.approx([0.6, 0.16], abs=1e-7)
    assert command.hnp == pytest.approx([0.6, 0.6], abs=1e-7)
    # Shared captions tie clips together where the dataset merges them, as in direction t2a.
    assert run.queries.cluster == (["c2", "c2"] if merged else ["c2", "c3"])


def test_forms_that_are_given_are_asked_as_they_are() -> None:
    given = dataset(caption(0, "rain"))
    assert with_forms(given) is given


def test_forms_are_made_where_no_caption_has_any() -> None:
    given = dataset(Caption("c0#0", "a dog barks", "c0"), Caption("c1#0", "a cow moos", "c1"), doubles=3)
    made = with_forms(given)
    assert [c.forms for c in made.captions] == [reformulate(c.text, c.id) for c in given.captions]
    assert [(c.id, c.text, c.clip) for c in made.captions] == [(c.id, c.text, c.clip) for c in given.captions]
    assert made.notes == {"doubles": 3}
    subject = ask(Fake({}), given)
    assert list(subject.forms["question"].query) == [c.forms["question"] for c in made.captions]
    assert subject.run.dataset.fingerprint == made.fingerprint != given.fingerprint


def test_captions_that_no_rule_reads_are_counted() -> None:
    given = dataset(Caption("c0#0", "click-clack!? (x2) // beep", "c0"), Caption("c1#0", "a cow moos", "c1"))
    assert with_forms(given).notes == {"captions that no rule could read, asked in quotes": 1}


def test_other_forms_are_another_fingerprint() -> None:
    one = dataset(caption(0, "rain"))
    reworded = replace(one.captions[0], forms={**one.captions[0].forms, "command": "find rain"})
    before, after = (ask(Fake(RAIN), given).run for given in (one, dataset(reworded)))
    assert before.dataset.fingerprint != after.dataset.fingerprint
    with pytest.raises(
        BaselineError,
        match=r"its dataset\.fingerprint is .* \(same clips: the text of a caption or of .* differs\)",
    ):
        baselines.refuse_incomparable(after, before, "stored.json")
    # ... and those that are made hang on the caption's id, not only on its text.
    digests = {with_forms(dataset(Caption(name, "a dog barks", "c0"))).fingerprint for name in ("c0#0", "c0#1")}
    assert len(digests) == 2


@pytest.mark.parametrize("direction", ["t2a", "a2t"])
def test_forms_leave_the_baselines_of_captions_valid(direction: str) -> None:
    given = dataset(*(caption(i, text) for i, text in enumerate(("rain", "wind", "sun", "snow"))))
    bare = dataset(*(replace(c, forms={}) for c in given.captions))
    scores = {"rain": [0.8, 0.6, 0, 0], "wind": [0, 1, 0, 0], "sun": [0, 0, 1, 0], "snow": [0, 0, 0, 1]}
    after, before = (measure(Fake(scores), one, direction).run for one in (given, bare))
    assert given.fingerprint != bare.fingerprint
    assert after.dataset == before.dataset
    baselines.refuse_incomparable(after, before, "stored.json")


@pytest.fixture(scope="module")
def run() -> Run:
    return ask(Fake(RAIN), dataset(caption(0, "rain"), caption(1, "wind"), caption(1, "storm", place=1))).run


def test_what_is_written_is_read_back(run: Run) -> None:
    text = stored.encode(run)
    assert stored.decode(text.encode(), "x") == run
    assert stored.encode(stored.decode(text.encode(), "x")) == text
    assert len(text.splitlines()) < 120, "one array a line"
    np.testing.assert_array_equal(run.columns.forms["command"].rank, run.queries.forms["command"].rank)  # type: ignore[index]
    np.testing.assert_array_equal(run.columns.source_rank, run.queries.source_rank)


def put(place: str, value: object):
    """A change of the stored JSON at ``a.b.0``."""

    def change(stored: dict) -> None:
        *path, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        for key in path:
            stored = stored[key]  # type: ignore[index]
        stored[last] = value  # type: ignore[index]

    return pytest.param(change, id=f"{place}={json.dumps(value)[:24]}")


CONTRADICTIONS = [
    (put("queries.forms.command.rank.0", 0), "query 'c0#0': rank 0 of form 'command', expected 1 to 4"),
    (put("queries.forms.command.rank.2", 5), "query 'c1#1': rank 5 of form 'command', expected 1 to 4"),
    (
        put("queries.forms.command.rank", [1, 1]),
        "queries.forms.command.rank has 2 entries, expected dataset.queries = 3",
    ),
    (put("queries.forms.command.hnp", [0.0] * 4), "queries.forms.command.hnp has 4 entries"),
    (put("queries.forms.statement.tal.0", 2.1), "query 'c0#0': 2.1 of form 'statement', expected cosines apart by at"),
    (put("queries.forms.statement.hnp.1", -2.1), "query 'c1#0': -2.1 of form 'statement'"),
    (put("queries.forms.statement.move.0", 2.1), "query 'c0#0': 2.1 of form 'statement'"),
    (put("queries.forms.statement.move.0", None), "queries.forms"),
    (put("queries.forms.command.extra", []), "unknown field `extra`"),
    (put("queries.source_rank.0", 0), "query 'c0#0': source_rank 0 with first_hit_rank 1 cannot be"),
    (put("queries.source_rank.0", 2), "query 'c0#0': source_rank 2 with first_hit_rank 1 cannot be"),
    (put("queries.source_rank", [1]), "queries.source_rank has 1 entries"),
    (put("queries.source_rank", None), "direction is 'forms' without queries.source_rank"),
    (put("queries.forms", None), "direction is 'forms' without queries.forms"),
    (put("queries.forms", {}), "queries.forms are none, expected command, question, indirect, key_phrase, statement"),
    (put("direction", "t2a"), "direction is 't2a' with queries.source_rank"),
    (put("direction", "a2t"), "direction is 'a2t' with queries.source_rank"),
]


@pytest.mark.parametrize(
    ("change", "expected"), [(*p.values, e) for p, e in CONTRADICTIONS], ids=[p.id for p, _ in CONTRADICTIONS]
)
def test_a_run_that_contradicts_itself_is_refused(run: Run, change, expected: str) -> None:
    content = json.loads(stored.encode(run))
    change(content)
    with pytest.raises(BaselineError) as caught:
        stored.decode(json.dumps(content).encode(), "stored.json")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("stored.json: ")
    assert "\n" not in str(caught.value)


def test_a_form_too_few_is_refused(run: Run) -> None:
    forms = {form: outcomes for form, outcomes in (run.queries.forms or {}).items() if form != "indirect"}
    less = msgspec.structs.replace(run, queries=msgspec.structs.replace(run.queries, forms=forms))
    with pytest.raises(BaselineError, match=r"queries\.forms are .*, expected command, question, indirect"):
        stored.decode(stored.encode(less).encode(), "x")


def test_source_ranks_alone_are_no_run_of_captions(run: Run) -> None:
    queries = msgspec.structs.replace(run.queries, forms=None)
    with pytest.raises(BaselineError, match=r"direction is 't2a' with queries\.source_rank"):
        stored.decode(stored.encode(msgspec.structs.replace(run, direction="t2a", queries=queries)).encode(), "x")
