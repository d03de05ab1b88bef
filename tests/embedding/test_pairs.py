"""Scores of pairs and preferences among texts: values, storage and refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.api import evaluate
from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.data.types import Caption, Clip, Dataset
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.sharing import SHARD
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.errors import AudioError, DataError, ModelError, SpecError
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol
from pytest_audioretrieval.pinning.spec import parse
from tests.embedding.fake import clip, clips
from tests.embedding.judges import AXES, BAG, JUDGE, NAMELESS, noted, share

SHORT, FULL = NAMED["short-clip"], NAMED["full-clip"]
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    noted.clear()
    yield
    noted.clear()


def made(model: str, folder: Path | None = None, protocol: Protocol = SHORT) -> SingleModel:
    return SingleModel(parse(model), Resources(protocol, folder, Tracker()))


def bytes_of(item: Clip) -> bytes:
    """Return the bytes of a clip of one window at 48 kHz."""
    return item.read().samples[:, 0].tobytes()


def right(text: str, item: Clip) -> float:
    return share(bytes_of(item), text.encode())


def test_a_retrievers_score_is_the_cosine() -> None:
    """Worked by hand: (4, 3)/5 with (1, 0), (0, 1) and (3, 4)/5 is 0.8, 0.6, 0.96; (-1, 0) with (3, 4)/5 is -0.6."""
    up, down = clip("up", np.full(3, 0.5)), clip("down", np.full(3, -0.5))
    pairs = [("x", up), ("slant", down), ("y", up), ("slant", up), ("x", up)]
    scores = made(AXES, protocol=replace(SHORT, audio_batch=8)).pair_scores(pairs)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, [0.8, -0.6, 0.6, 0.96, 0.8], rtol=1e-7)
    assert noted.batches == [["x", "slant", "y"], 2]


def test_texts_with_one_vector_tie_to_the_bit_wherever_they_stand() -> None:
    right_words, wrong_words = "a loud bell and a quiet drum", "a quiet bell and a loud drum"
    pairs = [(text, item) for item in clips(150) for text in (right_words, "rain", wrong_words)]
    scores = made(BAG).pair_scores(pairs)
    assert scores[0::3].tobytes() == scores[2::3].tobytes()
    assert len(np.unique(scores)) == 300
    order = np.random.default_rng(0).permutation(len(pairs))
    assert made(BAG).pair_scores([pairs[i] for i in order]).tobytes() == scores[order].tobytes()
    alone = [made(BAG).pair_scores([pairs[i]])[0] for i in order[:20]]
    assert alone == scores[order[:20]].tolist()


def test_a_second_run_of_a_retriever_loads_nothing(tmp_path: Path) -> None:
    pairs = [("rain", item) for item in clips(3)]
    first = made(BAG, tmp_path).pair_scores(pairs)
    again = made(BAG, tmp_path)
    assert again.pair_scores(pairs).tobytes() == first.tobytes()
    assert (noted.loaded, again.scores_pairs) == (1, False)


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_a_pair_scorers_answers_in_order_each_asked_once(batch: int) -> None:
    one, two, three = clips(3)
    pairs = [
        ("rain", one),
        ("wind", one),
        ("rain", two),
        ("rain", one),
        ("wind", three),
        ("rain", replace(two, id="b")),
    ]
    embedder = made(JUDGE, protocol=replace(SHORT, audio_batch=batch))
    assert embedder.scores_pairs
    scores = embedder.pair_scores(pairs)
    assert scores.dtype == np.float64
    assert scores.tolist() == [right(*pair) for pair in pairs]
    assert sum(map(len, noted.batches)) == 4
    assert max(map(len, noted.batches)) == min(batch, 4)
    assert embedder.pair_scores(pairs) is scores


def test_both_texts_of_a_choice_decode_their_clip_once() -> None:
    reads: list[str] = []

    def counted(item: Clip) -> Clip:
        def read() -> Any:
            reads.append(item.id)
            return item.read()

        return replace(item, read=read)

    made(JUDGE).pair_scores([(text, item) for item in map(counted, clips(3)) for text in ("rain", "wind")])
    assert reads == ["c0", "c1", "c2"]


@pytest.mark.parametrize("batch", [1, 2, 8])
def test_windows_weigh_by_their_length(batch: int) -> None:
    """97 samples in windows of 48 are 48 + 48 + 1."""
    parts = [np.full(48, 0.1), np.full(48, 0.2), np.full(1, 0.3)]
    long, short = clip("long", np.concatenate(parts)), clip("short", parts[1])
    protocol = replace(FULL, seconds=0.001, audio_batch=batch)
    found = made(JUDGE, protocol=protocol).pair_scores([("rain", short), ("rain", long)])
    each = [share(part.astype(np.float32).tobytes(), b"rain") for part in parts]
    assert found.tolist() == [each[1], float(np.float32((48 * each[0] + 48 * each[1] + each[2]) / 97))]
    assert max(map(len, noted.batches)) <= batch


def test_a_second_run_finds_every_answer_and_loads_nothing(tmp_path: Path) -> None:
    pairs = [(text, item) for item in clips(70) for text in ("rain", "wind")]
    texts = [("rain", "wind"), ("snow", "hail")]
    first = made(JUDGE, tmp_path)
    assert first.device == "auto"
    scores, preference = first.pair_scores(pairs), first.text_preference(texts)
    asked = len(noted.batches)
    second = made(JUDGE, tmp_path)
    assert second.scores_pairs
    assert second.pair_scores(pairs[::-1]).tolist() == scores[::-1].tolist()
    np.testing.assert_array_equal(second.text_preference(texts), preference)
    assert (noted.loaded, len(noted.batches)) == (1, asked)
    assert second.device == first.device == "cpu"


@pytest.mark.parametrize(
    ("model", "protocol"), [(NAMELESS, SHORT), (JUDGE, NAMED["processor-native"])], ids=["nameless", "drawn"]
)
def test_what_is_drawn_or_of_unknown_weights_is_not_kept(model: str, protocol: Protocol, tmp_path: Path) -> None:
    for _ in range(2):
        made(model, tmp_path, protocol).pair_scores([("rain", item) for item in clips(3)])
    assert noted.loaded == 2
    assert sum(map(len, noted.batches)) == 6
    assert not list(tmp_path.rglob("*.npz"))


def test_another_protocol_text_or_clip_is_another_pair(tmp_path: Path) -> None:
    one, two = clips(2)
    made(JUDGE, tmp_path).pair_scores([("rain", one)])
    for protocol, text, item in ((SHORT, "rain ", one), (SHORT, "rain", two), (replace(SHORT, seconds=7), "rain", one)):
        before = len(noted.batches)
        assert made(JUDGE, tmp_path, protocol).pair_scores([(text, item)]).tolist() == [right(text, item)]
        assert len(noted.batches) == before + 1


@pytest.mark.parametrize("when", [0, 1, SHARD, SHARD + 36])
def test_after_ctrl_c_the_next_run_asks_the_rest(when: int, tmp_path: Path) -> None:
    pairs = [(text, item) for item in clips(SHARD) for text in ("rain", "wind")]

    def stop(done: int) -> None:
        if done == when:
            raise KeyboardInterrupt

    noted.before = stop
    with pytest.raises(KeyboardInterrupt):
        made(JUDGE, tmp_path).pair_scores(pairs)
    noted.clear()
    assert made(JUDGE, tmp_path).pair_scores(pairs).tolist() == [right(*pair) for pair in pairs]
    assert len(noted.batches) == len(pairs) - when


@pytest.mark.slow
def test_a_killed_run_leaves_whole_shards(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from tests.embedding.fake import clips
from tests.embedding.judges import JUDGE, noted
from tests.embedding.test_pairs import made
noted.before = lambda done: os.kill(os.getpid(), signal.SIGKILL) if done == 100 else None
made(JUDGE, Path({str(tmp_path)!r})).pair_scores([("rain", item) for item in clips(150)])
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-9, "", "")
    items = clips(150)
    found = made(JUDGE, tmp_path).pair_scores([("rain", item) for item in items])
    assert found.tolist() == [right("rain", item) for item in items]
    assert len(noted.batches) == 150 - SHARD


def test_preference_is_asked_in_both_orders() -> None:
    pairs = [("rain", "wind"), ("snow", "hail"), ("wind", "rain")]
    shown_first, shown_second = made(JUDGE).text_preference(pairs)
    assert shown_first.dtype == shown_second.dtype == np.float64
    assert shown_first.tolist() == [share(one.encode(), two.encode()) for one, two in pairs]
    assert shown_second.tolist() == [1 - share(two.encode(), one.encode()) for one, two in pairs]
    assert [len(batch) for batch in noted.batches] == [4]
    made(JUDGE, protocol=replace(SHORT, text_batch=3)).text_preference(pairs)
    assert [len(batch) for batch in noted.batches[1:]] == [3, 1]


def test_a_position_that_is_all_it_sees_is_a_tie() -> None:
    for chance in (1e-9, 0.1, 0.3, 0.9999999, 1.0):
        noted.answer = lambda count, chance=chance: np.full(count, chance, dtype=np.float32)
        shown_first, shown_second = made(JUDGE).text_preference([("rain", "wind")])
        assert (shown_first + shown_second) / 2 == 0.5


def raising(error: Exception) -> Any:
    def answer(count: int) -> None:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda n: np.zeros(n + 1, dtype=np.float32), "model returned float32 (2,) for 1 pairs, expected float32 [n]"),
        (lambda n: np.zeros((n, 1), dtype=np.float32), "model returned float32 (1, 1) for 1 pairs"),
        (lambda n: np.float32(0), "model returned float32 for 1 pairs, expected a numpy array, float32"),
        (lambda n: np.zeros(n), "model returned float64 (1,) for 1 pairs"),
        (lambda n: [0.5] * n, "model returned list for 1 pairs, expected a numpy array, float32"),
        pytest.param(lambda n: np.full(n, np.nan, dtype=np.float32), "values that are not finite", id="nan"),
        pytest.param(lambda n: np.full(n, -np.inf, dtype=np.float32), "values that are not finite", id="-inf"),
        (raising(ModelError("too long")), "too long"),
        (raising(AudioError("window 0 is odd")), "window 0 is odd"),
    ],
)
def test_what_is_no_answer_is_an_error_that_names_the_pair(answer: Any, expected: str, tmp_path: Path) -> None:
    noted.answer = answer
    embedder = made(JUDGE, tmp_path, replace(SHORT, text_batch=1))
    for named, call in (
        ("pairs 'c0: rain\\nfalls'", lambda: embedder.pair_scores([("rain\nfalls", clips(1)[0])])),
        ("texts 'rain | wind'", lambda: embedder.text_preference([("rain", "wind")])),
    ):
        with pytest.raises((ModelError, AudioError)) as caught:
            call()
        assert str(caught.value).startswith(f"{named}: ")
        assert expected in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("*.npz"))


@pytest.mark.parametrize("chance", [-0.25, 1.5])
def test_a_preference_is_a_probability_and_a_score_need_not_be(chance: float) -> None:
    noted.answer = lambda count: np.full(count, chance, dtype=np.float32)
    assert made(JUDGE).pair_scores([("rain", clips(1)[0])]).tolist() == [chance]
    with pytest.raises(ModelError) as caught:
        made(JUDGE).text_preference([("rain", "wind")])
    assert str(caught.value) == (
        f"texts 'rain | wind', 'wind | rain': model prefers by {chance} to {chance}, expected probabilities, 0 to 1: "
        "return P(first)"
    )


@pytest.mark.parametrize("model", [JUDGE, BAG])
def test_no_pairs_and_no_text_are_refused(model: str) -> None:
    with pytest.raises(DataError, match="there are no items, expected at least one"):
        made(model).pair_scores([])
    with pytest.raises(DataError, match="text 1 is empty"):
        made(model).pair_scores([("rain", clips(1)[0]), (" ", clips(1)[0])])
    if model == JUDGE:
        with pytest.raises(DataError, match="comparing texts: there are no items"):
            made(model).text_preference([])
        with pytest.raises(DataError, match="text 1 is empty"):
            made(model).text_preference([("rain", "")])


def test_a_clip_that_cannot_be_read_is_named_and_what_was_done_is_kept(tmp_path: Path) -> None:
    def read() -> Any:
        raise AudioError("clip 'bad': found no samples", expected="at least 1", remedy="remove the clip")

    good = [("rain", item) for item in clips(5)]
    with pytest.raises(AudioError, match=r"^clip 'bad': found no samples"):
        made(JUDGE, tmp_path).pair_scores([*good, ("rain", Clip("bad", "0" * 64, read))])
    made(JUDGE, tmp_path).pair_scores(good)
    assert len(noted.batches) == 5


def test_a_silent_clip_is_said_once() -> None:
    silent, other = clip("silent", np.zeros(4)), clip("other", np.full(4, 0.5))
    with pytest.warns(UserWarning, match=r"^1 clip \(silent\) is silent"):
        made(JUDGE).pair_scores([("rain", silent), ("rain", other), ("wind", silent)])


@pytest.mark.parametrize("direction", ["t2a", "a2t", "forms"])
def test_a_pair_scorer_ranks_nothing(direction: Any) -> None:
    items = tuple(clips(3))
    captions = tuple(Caption(item.id, f"a dog barks {i} times", item.id) for i, item in enumerate(items))
    with pytest.raises(SpecError) as caught:
        evaluate(JUDGE, Dataset("toy", None, items, captions, "f" * 64), direction)
    assert str(caught.value) == (
        f"{JUDGE} scores one pair at a time and embeds nothing: ask in direction choice, e.g. "
        "--retrieval-suite binding -k choice"
    )


def test_a_retriever_prefers_no_text_and_is_not_loaded_to_say_so() -> None:
    for model in (BAG, "builtin/tiny-clap-fused"):
        embedder = made(model)
        with pytest.raises(SpecError) as caught:
            embedder.text_preference([("rain", "wind")])
        assert str(caught.value) == (
            f"{model} embeds texts and has no preference among them: ask a pair scorer, such as an audio LLM"
        )
    assert "model" not in vars(embedder)
    with pytest.raises(SpecError, match="has no preference among them"):
        _ = made(BAG).scorer
