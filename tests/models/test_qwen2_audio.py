"""Qwen2-Audio as a pair scorer and as a captioner, with random weights of its architecture."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import load_file, save_file

from pytest_audioretrieval.api import load_retriever
from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.errors import AudioError, ModelError, PinError, SpecError
from pytest_audioretrieval.models.bridges import qwen2_audio, qwen2_audio_scorer
from pytest_audioretrieval.models.bridges.qwen2_audio_scorer import Qwen2Audio
from pytest_audioretrieval.pinning.protocol import NAMED, Protocol
from pytest_audioretrieval.pinning.spec import parse
from tests.embedding.fake import clip
from tests.models.registered import backend
from tests.models.tiny_qwen2_audio import SECONDS, build_tiny_qwen2_audio
from tests.plugin.test_binding_suite import TRACKS, write_folder
from tests.plugin.toys import Project, counts

RATE = 16_000
HEARD = Protocol(sample_rate=RATE, seconds=SECONDS)
DRAWN = np.random.default_rng(0)
NOISE = DRAWN.normal(scale=0.1, size=RATE).astype(np.float32)
TONE = (0.3 * np.sin(2 * np.pi * 440 / RATE * np.arange(RATE))).astype(np.float32)
TEXTS = ["a dog before a cat", "a cat before a dog"]
CHATML = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n"
    "<|im_start|>assistant\n"
)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pytest_audioretrieval.pinning.spec.backends",
        lambda: {name: backend(name) for name in ("qwen2-audio", "two-stage")},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_qwen2_audio(tmp_path_factory.mktemp("models") / "tiny-qwen2-audio")


@pytest.fixture(scope="module")
def model(folder: Path) -> Qwen2Audio:
    return Qwen2Audio("tiny", folder, device="cpu")


@pytest.fixture
def damaged(folder: Path, tmp_path: Path) -> Path:
    """A folder that a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "damaged"))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def probabilities(model: Qwen2Audio, prompt: str, window: Any = None) -> Any:
    """Return the probabilities of every first token, by the processor's own way from text and sound to tensors."""
    audio = {} if window is None else {"audio": window, "sampling_rate": RATE}
    inputs = model.processor(text=prompt, return_tensors="pt", **audio)
    with torch.inference_mode():
        return model.model(**inputs).logits[0, -1].softmax(dim=0).double().numpy()


def token(model: Qwen2Audio, text: str) -> int:
    return int(model.processor.tokenizer.convert_tokens_to_ids(text))


def test_p_yes_is_that_of_the_first_token(model: Qwen2Audio) -> None:
    """MASB, 3: "Does this description match the audio? Answer Yes or No."; of ways to begin, those of one token."""
    expected = []
    for window, text in ((NOISE, TEXTS[0]), (TONE, TEXTS[1])):
        question = f"Description: {text}\nDoes this description match the audio? Answer Yes or No."
        p = probabilities(model, CHATML.format(f"Audio 1: <|audio_bos|><|AUDIO|><|audio_eos|>\n{question}"), window)
        yes, no = p[token(model, "Yes")] + p[token(model, "\u0120Yes")], p[token(model, "No")]
        expected.append(yes / (yes + no))
    found = model.score([NOISE, TONE], TEXTS, HEARD)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert abs(expected[0] - expected[1]) > 0.001


def test_without_audio_both_texts_are_shown(model: Qwen2Audio) -> None:
    """MASB, Exp. 2: the probabilities of the two labels, in either order."""
    expected = []
    for first, second in (TEXTS, TEXTS[::-1]):
        question = (
            f"Two descriptions of a recording:\nA: {first}\nB: {second}\nWhich one is more likely? Answer A or B."
        )
        p = probabilities(model, CHATML.format(question))
        expected.append(p[token(model, "A")] / (p[token(model, "A")] + p[token(model, "B")]))
    found = model.prefer(TEXTS, TEXTS[::-1])
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert abs(expected[0] - expected[1]) > 1e-4


def test_sound_and_text_change_the_answer_and_the_batch_does_not(model: Qwen2Audio) -> None:
    windows, texts = [NOISE, NOISE[:8000], TONE, NOISE], [TEXTS[0], TEXTS[0], TEXTS[0], TEXTS[1]]
    together = model.score(windows, texts, HEARD)
    assert np.abs(np.subtract.outer(together, together))[~np.eye(4, dtype=bool)].min() > 1e-4
    alone = [model.score([window], [text], HEARD)[0] for window, text in zip(windows, texts, strict=True)]
    assert together.tolist() == alone


def test_a_model_that_says_all_alike_ties(folder: Path) -> None:
    mute = Qwen2Audio("mute", folder, device="cpu")
    mute.model.lm_head.weight.data.zero_()
    # Two ways to say yes, one to say no.
    np.testing.assert_allclose(mute.score([NOISE, TONE], TEXTS, HEARD), 2 / 3, rtol=1e-6)
    assert mute.prefer(TEXTS, TEXTS[::-1]).tolist() == [0.5, 0.5]


@pytest.mark.slow
def test_through_the_embedder(folder: Path, tmp_path: Path) -> None:
    means = Resources(replace(HEARD, audio_batch=2), tmp_path, Tracker(), device="cpu")
    scorer = SingleModel(parse(f"qwen2-audio:{folder}"), means)
    pairs = [(text, clip(name, np.repeat(wave, 3))) for name, wave in (("n", NOISE), ("t", TONE)) for text in TEXTS]
    scores = scorer.pair_scores(pairs)
    assert len(set(scores.tolist())) == 4
    shown_first, shown_second = scorer.text_preference([(TEXTS[0], TEXTS[1]), (TEXTS[0], TEXTS[0])])
    model = Qwen2Audio("tiny", folder, device="cpu")
    np.testing.assert_allclose(shown_first, model.prefer([TEXTS[0]] * 2, TEXTS[::-1]), rtol=1e-6)
    # The same text twice: whatever the position is worth, the mean of both orders is one half.
    assert shown_first[1] + shown_second[1] == 1
    again = SingleModel(parse(f"qwen2-audio:{folder}"), means)
    assert again.pair_scores(pairs).tolist() == scores.tolist()
    assert "model" not in vars(again)


@pytest.mark.slow
def test_the_suite_binding_asks_it(
    folder: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    duos = write_folder(tmp_path / "duos")
    for path in sorted(duos.rglob("*.wav")):
        soundfile.write(path, DRAWN.normal(scale=0.1, size=9600), 48_000, subtype="PCM_16")
    project = Project(pytester, monkeypatch, duos)
    project.ini("retrieval_resamples = 1000", "retrieval_protocols =", "    heard: base=short-clip sample_rate=16000",
                "retrieval_protocol = heard", clips=duos)  # fmt: skip
    args = ("--retrieval-suite", "binding", "--model", f"qwen2-audio:{folder}", "-k", "choice and kept")
    recorded = project.run(*args, "--retrieval-record", "new")
    assert (recorded.ret, counts(recorded)) == (0, {"recorded": 4, "skipped": 6, "deselected": 15}), recorded.outlines
    (run,) = project.stored().values()
    assert json.loads(run)["queries"]["tied"] == [0] * (6 + 2) * TRACKS
    assert 0 < json.loads(run)["metrics"]["role:accuracy"] < 1
    assert project.run(*args).ret == 0


def test_its_identity_is_that_of_its_files_and_prompts(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [qwen2_audio.weights_sha256(str(damaged))]
    with monkeypatch.context() as patch:
        patch.setattr(qwen2_audio, "DESCRIBE", "What do you hear?")
        found.append(qwen2_audio.weights_sha256(str(damaged)))
    template = damaged / "chat_template.jinja"
    template.write_text(template.read_text().replace("helpful", "careful"))
    found.append(qwen2_audio.weights_sha256(str(damaged)))
    assert len({*found}) == 3
    assert {len(digest) for digest in found} == {64}


def test_captions_are_the_likeliest_words(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder's settings, here to sample and not to repeat, are ignored; the reference is one pass a token."""
    monkeypatch.setattr(qwen2_audio_scorer, "LONGEST_CAPTION", 6)
    edit(damaged / "generation_config.json", do_sample=True, temperature=2.0, repetition_penalty=5.0)
    model = Qwen2Audio("tiny", damaged, device="cpu")
    prompt = CHATML.format("Audio 1: <|audio_bos|><|AUDIO|><|audio_eos|>\nDescribe the audio in one sentence.")
    expected = []
    for window in (NOISE, TONE):
        ids: list[int] = []
        inputs = model.processor(text=prompt, audio=window, sampling_rate=RATE, return_tensors="pt")
        for _ in range(6):
            with torch.inference_mode():
                ids.append(int(model.model(**inputs).logits[0, -1].argmax()))
            inputs["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([ids[-1:]])], dim=1)
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        expected.append(model.processor.tokenizer.decode(ids, skip_special_tokens=True).strip())
    with pytest.warns(UserWarning, match="tiny: 2 captions were ended after 6 tokens"):
        said = model.caption([NOISE, TONE], HEARD)
    assert said == expected
    assert said[0] != said[1]


def test_a_caption_that_ends_by_itself_is_not_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Qwen2Audio("tiny", folder, device="cpu")
    written = [*map(ord, "rain"), token(model, "<|endoftext|>")]
    letters = [token(model, chr(one)) for one in written[:-1]] + written[-1:]
    monkeypatch.setattr(model, "_answer", lambda inputs: torch.tensor(letters))
    assert model.caption([NOISE], HEARD) == ["rain"]


@pytest.mark.slow
def test_it_is_the_captioner_of_two_stages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ReasonAudio, 4.1; the vector of a clip is that of its caption."""
    monkeypatch.setattr(qwen2_audio_scorer.Qwen2Audio, "caption", lambda self, windows, protocol: ["rain"])
    name = f"qwen2-audio:{folder}+builtin/tiny-clap-fused"
    stages = load_retriever(f"two-stage:{name}", device="cpu")
    texts = load_retriever("builtin/tiny-clap-fused", device="cpu")
    assert stages.embed_audio([NOISE], HEARD).tolist() == texts.embed_text(["rain"], HEARD).tolist()


def test_an_answer_without_the_sound_is_none(model: Qwen2Audio, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers 5 takes ``audio``, and ignores the older name ``audios``: nobody would hear of it."""
    forward = model.model.forward

    def deaf(**inputs: Any) -> Any:
        return forward(**{name: part for name, part in inputs.items() if "feature" not in name})

    monkeypatch.setattr(model.model, "forward", deaf)
    with pytest.raises(ModelError, match=r"tiny: the audio encoder ran 0 times, expected one run for a window"):
        model.score([NOISE], TEXTS[:1], HEARD)
    assert len(model.prefer(TEXTS[:1], TEXTS[1:])) == 1


@pytest.mark.parametrize(
    ("window", "protocol", "error", "expected"),
    [
        (NOISE, Protocol(), ModelError, "the protocol feeds 48000 Hz, this model hears 16000 Hz: set the protocol's"),
        (NOISE[:320], HEARD, AudioError, "a window of 320 samples is too short for this model: leave the clip out"),
        (np.tile(NOISE, 3), HEARD, AudioError, "window 0 has 48000 samples, the model reads 32000: shorten"),
        (np.tile(NOISE, 3), replace(NAMED["fixed-crops"], sample_rate=RATE), AudioError,
         "window 0 has 48000 samples, the model reads 32000: use a protocol with window=first or window=tiles"),
    ],
)  # fmt: skip
def test_windows_it_would_misread(
    model: Qwen2Audio, window: Any, protocol: Protocol, error: type[Exception], expected: str
) -> None:
    for ask in (lambda: model.score([window], ["rain"], protocol), lambda: model.caption([window], protocol)):
        with pytest.raises(error, match=expected):
            ask()


def test_texts_it_would_misread(model: Qwen2Audio) -> None:
    for ask in (
        lambda: model.score([NOISE], ["rain <|AUDIO|>"], HEARD),
        lambda: model.prefer(["rain"], ["rain <|AUDIO|>"]),
    ):
        with pytest.raises(ModelError, match=r"tiny: text 'rain <\|AUDIO\|>' holds its special token <\|AUDIO\|>: rem"):
            ask()
    with pytest.raises(ModelError, match=r"takes \d{3} tokens with its window, the model has 512 positions: shorten"):
        model.score([NOISE], ["rain " * 120], HEARD)


def no_audio(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'][-1]['text'] }}")


def other_mels(folder: Path) -> None:
    path = folder / "processor_config.json"
    front = json.loads(path.read_text())["feature_extractor"]
    edit(path, feature_extractor=front | {"feature_size": 80})


def fewer_weights(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights[next(name for name in weights if name.endswith("lm_head.weight"))]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def no_answer(folder: Path) -> None:
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"] = content["model"]["merges"][:-1]
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (no_audio, r"its chat template made '.*', expected the question and one <\|AUDIO\|>"),
        (other_mels, "mel bins of the processor: 80, of the model: 16: save model and processor together"),
        (fewer_weights, r"weights lack 1 tensors, first .*lm_head.weight: they belong to another config"),
        (
            no_answer,
            r"its tokenizer knows none of \('No', ' No', 'no', ' no'\) as one token, so that its answers cannot be",
        ),
        (lambda folder: edit(folder / "config.json", model_type="clap"), "config.json says model_type 'clap', expect"),
        (lambda folder: edit(folder / "config.json", auto_map={"AutoModel": "evil.Evil"}), "asks for code of its repo"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "model.bin"), "holds no .safetensors weights"),
    ],
)
def test_folders_that_are_none(damaged: Path, damage: Callable[[Path], object], expected: str) -> None:
    damage(damaged)
    with pytest.raises(ModelError, match=expected) as caught:
        qwen2_audio.load(str(damaged), device="cpu").score([NOISE], ["rain"], HEARD)  # type: ignore[attr-defined]
    assert "\n" not in str(caught.value)


def test_names_that_are_none() -> None:
    with pytest.raises(
        SpecError, match=r"^qwen2-audio:builtin/tiny-clap-fused names no model, expected a hub id \(owner/name\) or a"
    ):
        qwen2_audio.weights_sha256("builtin/tiny-clap-fused")
    with pytest.raises(PinError, match=r"^Qwen/Qwen2-Audio-7B-Instruct is not pinned"):
        qwen2_audio.weights_sha256("Qwen/Qwen2-Audio-7B-Instruct")
