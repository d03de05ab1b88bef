"""Embedding of clips and texts: each once, in order, without a change to the user's random state."""

from __future__ import annotations

import random
import weakref
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.engine import embed_clips, embed_texts
from pytest_audioretrieval.embedding.randomness import seeded
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.errors import AudioError, DataError, ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import NAMED, SEED, Protocol
from pytest_audioretrieval.pinning.spec import BUILTIN
from tests.embedding.fake import WHO, Fake, clip, clips, embed, expected, never, track, unit

Vectors = npt.NDArray[np.float32]
SHORT, NATIVE, FULL = NAMED["short-clip"], NAMED["processor-native"], NAMED["full-clip"]
REPOSITORY = Path(__file__).parents[2]


def test_vectors_in_document_order_then_from_the_store(tmp_path: Path) -> None:
    items, fake = clips(70), Fake()
    made = embed(items, fake, Store(tmp_path))
    np.testing.assert_array_equal(made, expected(items))
    assert fake.audio == [1] * 70
    again = embed_clips(items[::-1], never, WHO, SHORT, Store(tmp_path), track)
    assert again.tobytes() == made[::-1].tobytes()


def test_the_next_clip_is_decoded_while_the_model_has_this_one(tmp_path: Path) -> None:
    """Batches of one clip each, as is usual: clip 1 is read although nothing has been made of clip 0 yet."""
    begun = [Event() for _ in range(4)]

    def reading(number: int, item: Clip) -> Clip:
        return Clip(item.id, item.digest, lambda: begun[number].set() or item.read())  # type: ignore[func-returns-value]

    items = [reading(number, item) for number, item in enumerate(clips(4))]
    fake = Fake(before=lambda done: pytest.fail("not read") if done < 3 and not begun[done + 1].wait(5) else None)
    np.testing.assert_array_equal(embed(items, fake, Store(tmp_path)), expected(clips(4)))
    assert fake.audio == [1] * 4


def test_what_is_stored_already_is_not_decoded(tmp_path: Path) -> None:
    items = clips(6)
    embed(items[1:3], Fake(), Store(tmp_path))
    read: list[str] = []

    def reading(item: Clip) -> Clip:
        return Clip(item.id, item.digest, lambda: read.append(item.id) or item.read())  # type: ignore[func-returns-value]

    made = embed([reading(item) for item in items], Fake(), Store(tmp_path))
    np.testing.assert_array_equal(made, expected(items))
    assert sorted(read) == ["c0", "c3", "c4", "c5"]


def test_clips_with_the_same_bytes_are_embedded_once(tmp_path: Path) -> None:
    one, two = clips(2)
    fake = Fake()
    made = embed([one, two, Clip("copy", one.digest, one.read)], fake, Store(tmp_path))
    assert sum(fake.audio) == 2
    np.testing.assert_array_equal(made, expected([one, two, one]))


def test_texts_once_in_batches_of_the_protocol(tmp_path: Path) -> None:
    fake, three = Fake(), replace(SHORT, text_batch=3)
    texts = ["rain", "a dog", "rain", "wind", "a bell", "Rain"]
    made = embed_texts(texts, lambda: fake, WHO, three, Store(tmp_path), track)
    assert fake.texts == [["rain", "a dog", "wind"], ["a bell", "Rain"]]
    np.testing.assert_array_equal(made, np.stack([unit(text.encode()) for text in texts]))
    assert embed_texts(texts, never, WHO, three, Store(tmp_path), track).tobytes() == made.tobytes()


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_an_empty_text_is_refused(text: str) -> None:
    """Fault 51."""
    with pytest.raises(DataError, match="text 1 is empty: write it or remove it"):
        embed_texts(["rain", text], never, WHO, SHORT, Store(None), track)


def test_nothing_to_embed_is_refused() -> None:
    with pytest.raises(DataError, match="embedding clips: there are no items"):
        embed_clips([], never, WHO, SHORT, Store(None), track)
    with pytest.raises(DataError, match="embedding captions: there are no items"):
        embed_texts([], never, WHO, SHORT, Store(None), track)


def test_a_batch_is_the_same_whatever_the_store_holds(tmp_path: Path) -> None:
    """Else a vector's last bits would depend on what was embedded before."""
    four, items, fake = replace(SHORT, audio_batch=4), clips(10), Fake()
    embed(items[:4], fake, Store(tmp_path), four)
    embed(items[5:6], fake, Store(tmp_path), four)
    assert fake.audio == [4, 1]
    made = embed(items, fake, Store(tmp_path), four)
    assert fake.audio == [4, 1, 4, 2]
    np.testing.assert_array_equal(made, expected(items))


def axes(window: Vectors) -> Vectors:
    """The unit vector of the axis that the first sample names in tenths."""
    return np.eye(3, dtype=np.float32)[round(float(window[0]) * 10)]


class Axes(Fake):
    def embed_audio(self, windows: Any, protocol: Protocol) -> Vectors:
        super().embed_audio(windows, protocol)
        return np.stack([axes(window) for window in windows])


def test_tiles_weigh_by_their_length() -> None:
    """97 samples in windows of 48 are 48 + 48 + 1; by hand (48, 48, 1) / sqrt(48 * 48 * 2 + 1)."""
    tiny = replace(FULL, seconds=0.001)
    long = np.concatenate([np.full(48, 0.0), np.full(48, 0.1), [0.2]])
    items = [
        clip("long", long),
        clip("short", np.full(48, 0.2)),
        clip("half", np.r_[np.full(48, 0.1), np.full(24, 0.0)]),
    ]
    wanted = np.array([np.array([48, 48, 1]) / np.sqrt(4609), [0, 0, 1], np.array([24, 48, 0]) / np.sqrt(2880)])
    for batch in (1, 2, 8):
        fake = Axes()
        made = embed(items, fake, Store(None), replace(tiny, audio_batch=batch))
        np.testing.assert_allclose(made, wanted, rtol=1e-6)
        assert made.dtype == np.float32
        assert sum(fake.audio) == 6
        assert max(fake.audio) <= batch


def test_one_tile_is_the_window_itself() -> None:
    items = clips(3)
    made = embed(items, Fake(), Store(None), FULL)
    assert made.tobytes() == embed(items, Fake(), Store(None), SHORT).tobytes()


class Opposed(Fake):
    def embed_audio(self, windows: Any, protocol: Protocol) -> Vectors:
        return np.array([[1.0 if window[0] > 0 else -1.0] for window in windows], dtype=np.float32)


def test_tiles_that_cancel_out_are_an_error() -> None:
    both = clip("both", np.r_[np.full(48, 0.5), np.full(48, -0.5)])
    with pytest.raises(ModelError, match="clips 'both': the vectors of 2 windows cancel out"):
        embed([both], Opposed(), Store(None), replace(FULL, seconds=0.001))


class Broken(Fake):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def embed_audio(self, windows: Any, protocol: Protocol) -> Vectors:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]

    def embed_text(self, texts: Any, protocol: Protocol) -> Vectors:
        return self.embed_audio(texts, protocol)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (np.ones((2, 1), dtype=np.float32), "model returned float32 (2, 1) for 1 inputs"),
        (np.ones(1, dtype=np.float32), "model returned float32 (1,) for 1 inputs"),
        (np.ones((1, 1)), "model returned float64 (1, 1) for 1 inputs"),
        (np.full((1, 2), np.nan, dtype=np.float32), "values that are not finite"),
        (np.full((1, 2), np.inf, dtype=np.float32), "values that are not finite"),
        (np.full((1, 4), 0.5001, dtype=np.float32), "norm 1.000200 to 1.000200, expected 1"),
        (np.zeros((1, 4), dtype=np.float32), "norm 0.000000"),
        ([[1.0, 0.0]], "model returned a builtins.list, expected a numpy array float32 [n, D]"),
        (None, "model returned a builtins.NoneType, expected a numpy array"),
        (ModelError("input 0 is odd"), "input 0 is odd"),
        (AudioError("window 0 is odd"), "window 0 is odd"),
    ],
)
def test_what_is_no_unit_vector_is_an_error_that_names_the_input(answer: Any, expected: str, tmp_path: Path) -> None:
    for what, call in (
        ("clips 'c0'", lambda: embed(clips(3), Broken(answer), Store(tmp_path))),
        ("texts 'rain'", lambda: embed_texts(["rain"], lambda: Broken(answer), WHO, SHORT, Store(tmp_path), track)),
    ):
        with pytest.raises((ModelError, AudioError)) as caught:
            call()
        assert str(caught.value).startswith(f"{what}: ")
        assert expected in str(caught.value)
        assert "\n" not in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_vectors_of_two_lengths_are_one_line(tmp_path: Path) -> None:
    class Growing(Fake):
        def embed_audio(self, windows: Any, protocol: Protocol) -> Vectors:
            made = super().embed_audio(windows, protocol)
            return made if len(self.audio) < 3 else np.pad(made, ((0, 0), (0, 1)))

    with pytest.raises(ModelError, match=r"^embedding clips: model returned \(9,\) a row, before \(8,\): make"):
        embed(clips(5), Growing(), Store(tmp_path))
    np.testing.assert_array_equal(embed(clips(5), Fake(), Store(tmp_path)), expected(clips(5)))


def test_of_a_long_clip_a_batch_holds_its_window_only() -> None:
    alive: list[weakref.ref[Any]] = []

    def long(number: int) -> Waveform:
        samples = np.full((48_000, 1), number / 64, np.float32)
        alive.append(weakref.ref(samples))
        return Waveform(samples, 48_000)

    class Looking(Fake):
        def embed_audio(self, windows: Any, protocol: Protocol) -> Vectors:
            assert all(window.base is None and len(window) == 480 for window in windows)
            assert sum(one() is not None for one in alive) <= 2, "those that are decoded ahead"
            return super().embed_audio(windows, protocol)

    items = [Clip(f"c{n}", f"{n:064}", partial(long, n + 1)) for n in range(12)]
    assert embed(items, Looking(), Store(None), replace(SHORT, audio_batch=4, seconds=0.01)).shape == (12, 8)
    assert len(alive) == 12


def test_a_long_batch_is_named_in_one_line() -> None:
    texts = [f"line {i}\n" + "x" * 200 for i in range(5)]
    with pytest.raises(ModelError) as caught:
        embed_texts(texts, lambda: Broken(ModelError("odd")), WHO, SHORT, Store(None), track)
    assert str(caught.value).endswith(" and 2 more: odd")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_clip_that_cannot_be_read_is_named_and_what_was_done_is_kept(tmp_path: Path) -> None:
    def read() -> Any:
        raise AudioError("clip 'bad': found no samples", expected="at least 1", remedy="remove the clip")

    items = [*clips(5), Clip("bad", "0" * 64, read)]
    with pytest.raises(AudioError, match=r"^clip 'bad': found no samples"):
        embed(items, Fake(), Store(tmp_path))
    fake = Fake()
    embed(items[:5], fake, Store(tmp_path))
    assert fake.audio == []


@pytest.mark.parametrize(
    ("protocol", "who"),
    [
        (NATIVE, WHO),
        (replace(NATIVE, is_longer="true_length"), WHO),  # a long clip is still cropped at random
        (replace(SHORT, is_longer="processor"), WHO),
        (SHORT, ModelIdentity("mod:make", None, "")),
    ],
)
def test_what_is_drawn_or_of_unknown_weights_is_not_stored(
    protocol: Protocol, who: ModelIdentity, tmp_path: Path
) -> None:
    for _ in range(2):
        fake = Fake()
        embed(clips(3), fake, Store(tmp_path), protocol, who)
        assert sum(fake.audio) == 3
    if not who.weights_sha256:
        embed_texts(["rain"], Fake, who, protocol, Store(tmp_path), track)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_twenty_repeats_on_a_real_checkpoint() -> None:
    """Faults 1 to 3: bit-identical under ``short-clip``, a draw under ``processor-native`` in batches of 8."""
    model = Clap(BUILTIN / "tiny-clap-fused", device="cpu")
    bell = clip("bell", np.sin(np.arange(48_000) * 0.05) * np.exp(-np.arange(48_000) / 9000.0))
    short = {embed([bell], model, Store(None)).tobytes() for _ in range(20)}
    native = embed([bell] * 20, model, Store(None), NATIVE)
    assert NATIVE.audio_batch == 8
    assert native.shape[0] == 20
    assert len(short) == 1
    assert len({row.tobytes() for row in native}) >= 2
    cosines = native.astype(np.float64) @ native[0].astype(np.float64)
    assert cosines.min() < 0.9999, "a draw, not the order of additions"
    assert native.tobytes() == embed([bell] * 20, model, Store(None), NATIVE).tobytes(), "the seed decides the draw"


def test_another_seed_is_another_draw(tmp_path: Path) -> None:
    drawn: list[float] = []
    for seed in (SEED, SEED, 1):
        embed(clips(1), Fake(lambda _: drawn.append(np.random.rand())), Store(None), replace(SHORT, seed=seed))
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt, ModelError])
def test_the_users_random_state_is_theirs(ending: type[BaseException] | None) -> None:
    """Inside, every generator starts at the protocol's seed; outside, none has moved."""
    random.seed(3)
    np.random.seed(4)
    torch.manual_seed(5)
    before = random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().tolist()  # type: ignore[index]
    drawn: list[tuple[float, float, float]] = []

    def draw(done: int) -> None:
        drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))
        if ending and done == 1:
            raise ending("here")

    with pytest.raises(ending) if ending else nullcontext():
        embed(clips(2), Fake(draw), Store(None))
    after = random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().tolist()  # type: ignore[index]
    assert after == before
    generator = torch.Generator().manual_seed(SEED)
    alone = random.Random(SEED), np.random.RandomState(SEED)
    assert drawn == [(alone[0].random(), alone[1].rand(), torch.rand(1, generator=generator).item()) for _ in range(2)]


def test_seeding_nests() -> None:
    with seeded(1):
        first = np.random.rand()
        with seeded(2):
            np.random.rand()
        second = np.random.rand()
    state = np.random.RandomState(1)
    assert (first, second) == (state.rand(), state.rand())
