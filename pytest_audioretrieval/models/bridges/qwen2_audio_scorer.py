"""Pair scorer and captioner over Qwen2-Audio: probabilities of the first token of its answer, and captions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import GenerationConfig, Qwen2AudioForConditionalGeneration, Qwen2AudioProcessor

from pytest_audioretrieval.errors import AudioError, ModelError
from pytest_audioretrieval.models.bridges.qwen2_audio_prompts import (
    DESCRIBE,
    LABELS,
    LIKELIER,
    LONGEST_CAPTION,
    MATCHES,
    YES_NO,
)
from pytest_audioretrieval.models.device import choose
from pytest_audioretrieval.models.inference import Vectors, float32_inference, quiet_transformers
from pytest_audioretrieval.models.inputs import check_windows
from pytest_audioretrieval.models.pretrained import pretrained

if TYPE_CHECKING:
    from pytest_audioretrieval.pinning.protocol import Protocol

Options = tuple[list[int], list[int]]
Inputs = dict[str, torch.Tensor]


class Qwen2Audio:
    """A ``PairScorer``, and a captioner of ``two-stage:``, over ``Qwen2AudioForConditionalGeneration``.

    It answers one question at a time, so that no answer depends on a batch.

    Args:
        name: name of the model, for errors.
        folder: folder written by ``save_pretrained``, whose files have been hashed.
        device: auto, cpu, cuda[:N] or mps.

    Attributes:
        model, processor: objects of transformers, on ``device``, in eval mode.

    Raises:
        ModelError: the folder cannot be loaded, is no Qwen2-Audio, or its parts do not belong together.
    """

    def __init__(self, name: str, folder: Path, *, device: str) -> None:
        self.name, self.device = name, choose(device)
        self.model, self.processor = _load(folder)
        self.model.to(self.device)
        self._tokenizer, self._extractor = self.processor.tokenizer, self.processor.feature_extractor
        added = self._tokenizer.added_tokens_decoder.values()
        self._special = [token.content for token in added if token.special]
        self._yes_no, self._labels = self._options(YES_NO), self._options(LABELS)
        self._greedy()

    def score(self, windows: Sequence[Vectors], texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Return P(yes) / (P(yes) + P(no)), float32 [N]; see ``PairScorer``.

        Raises:
            AudioError: a window is no finite float32 array [n] of this model's rate and length.
            ModelError: a text holds special tokens, or does not fit into the model's positions.
        """
        self._check(windows, protocol)
        pairs = zip(windows, texts, strict=True)
        asked = (self._inputs(MATCHES.format(text=self._plain(text)), window) for window, text in pairs)
        return np.array([self._share(inputs, self._yes_no) for inputs in asked], dtype=np.float32)

    def prefer(self, first: Sequence[str], second: Sequence[str]) -> Vectors:
        """Return P(A) / (P(A) + P(B)), A the text shown first, float32 [N]; see ``PairScorer``."""
        pairs = [(self._plain(one), self._plain(two)) for one, two in zip(first, second, strict=True)]
        asked = (self._inputs(LIKELIER.format(first=one, second=two)) for one, two in pairs)
        return np.array([self._share(inputs, self._labels) for inputs in asked], dtype=np.float32)

    def caption(self, windows: Sequence[Vectors], protocol: Protocol) -> list[str]:
        """Describe each window by greedy decoding; a warning counts captions that reached the longest length."""
        self._check(windows, protocol)
        said = [self._answer(self._inputs(DESCRIBE, window)) for window in windows]
        ended = sum(len(ids) == LONGEST_CAPTION and int(ids[-1]) not in self._ends for ids in said)
        if ended:
            warnings.warn(f"{self.name}: {ended} captions were ended after {LONGEST_CAPTION} tokens", stacklevel=2)
        return [self._tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in said]

    def _check(self, windows: Sequence[Vectors], protocol: Protocol) -> None:
        longest = self._extractor.n_samples
        check_windows(windows, protocol, sample_rate=self._extractor.sampling_rate, longest=longest)
        too_long = next((place for place, window in enumerate(windows) if window.size > longest), None)
        if too_long is not None:
            raise AudioError(
                f"window {too_long} has {windows[too_long].size} samples, the model reads {longest}",
                remedy="use a protocol with window=first or window=tiles",
            )

    def _plain(self, text: str) -> str:
        found = next((token for token in self._special if token in text), None)
        if found is not None:
            raise ModelError(f"{self.name}: text {text!r} holds its special token {found}", remedy="remove it")
        return text

    def _options(self, answers: tuple[tuple[str, ...], tuple[str, ...]]) -> Options:
        first, second = (self._single_tokens(words) for words in answers)
        if not first or not second:
            raise ModelError(
                f"{self.name}: its tokenizer knows none of {answers[0] if second else answers[1]} as one token, so "
                "that its answers cannot be read from the first one",
                remedy="use another checkpoint",
            )
        return first, second

    def _single_tokens(self, words: tuple[str, ...]) -> list[int]:
        rows = [self._tokenizer.encode(word, add_special_tokens=False) for word in words]
        return sorted({row[0] for row in rows if len(row) == 1 and row[0] != self._tokenizer.unk_token_id})

    def _greedy(self) -> None:
        """Replace the folder's generation settings, which may sample and would fill in arguments of a call."""
        told = self.model.generation_config.eos_token_id
        ends = self._tokenizer.eos_token_id if told is None else told
        self._ends = set(ends if isinstance(ends, list) else [ends])
        self.model.generation_config = GenerationConfig(
            do_sample=False,
            num_beams=1,
            max_new_tokens=LONGEST_CAPTION,
            eos_token_id=ends,
            pad_token_id=self._tokenizer.pad_token_id,
        )

    def _inputs(self, question: str, window: Vectors | None = None) -> Inputs:
        """Return the model's inputs for one question, with or without a window, up to where the answer begins."""
        said: list[dict[str, str]] = [{"type": "text", "text": question}]
        features: Inputs = {}
        if window is not None:
            said.insert(0, {"type": "audio", "audio_url": "window"})
            features = self._features(window)
        conversation = [{"role": "user", "content": said}]
        prompt = self.processor.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
        sound = self.processor.audio_token
        if prompt.count(sound) != (window is not None) or question not in prompt:
            raise ModelError(
                f"{self.name}: its chat template made {prompt!r}",
                expected=f"the question and one {sound}",
                remedy="restore the folder",
            )
        if features:
            prompt = prompt.replace(sound, sound * _places(int(features["feature_attention_mask"].sum())))
        ids = self._tokenizer(prompt, return_tensors="pt")
        positions = self.model.config.text_config.max_position_embeddings
        if ids["input_ids"].shape[1] > positions:
            raise ModelError(
                f"{self.name}: {question!r} takes {ids['input_ids'].shape[1]} tokens with its window, "
                f"the model has {positions} positions",
                remedy="shorten the text",
            )
        made = {"input_ids": ids["input_ids"], "attention_mask": ids["attention_mask"], **features}
        return {name: tensor.to(self.device) for name, tensor in made.items()}

    def _features(self, window: Vectors) -> Inputs:
        # Not through the processor: older versions call its argument ``audios``, and ignore ``audio`` silently.
        found = self._extractor(
            [window],
            sampling_rate=self._extractor.sampling_rate,
            padding="max_length",
            return_attention_mask=True,
            return_tensors="pt",
        )
        frames = int(found["attention_mask"].sum())
        if _places(frames) < 1:
            raise AudioError(
                f"a window of {window.size} samples is too short for this model", remedy="leave the clip out"
            )
        return {"input_features": found["input_features"], "feature_attention_mask": found["attention_mask"]}

    def _share(self, inputs: Inputs, options: Options) -> float:
        with float32_inference(), self._audio_was_read(inputs):
            logits = self.model(**inputs, use_cache=False).logits[0, -1].cpu().double()
            first, second = (logits[ids].logsumexp(dim=0) for ids in options)
            return float(torch.sigmoid(first - second))

    def _answer(self, inputs: Inputs) -> torch.Tensor:
        with float32_inference(), quiet_transformers(), self._audio_was_read(inputs):
            found: torch.Tensor = self.model.generate(**inputs)[0, inputs["input_ids"].shape[1] :].cpu()
            return found

    @contextmanager
    def _audio_was_read(self, inputs: Inputs) -> Iterator[None]:
        """Refuse an answer for which the audio encoder did not run: a model ignores unknown argument names."""
        towers = [part for name, part in self.model.named_modules() if name.rpartition(".")[2] == "audio_tower"]
        calls: list[int] = []
        hooks = [tower.register_forward_hook(lambda *_: calls.append(1)) for tower in towers]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        if bool(calls) != ("input_features" in inputs):
            raise ModelError(
                f"{self.name}: the audio encoder ran {len(calls)} times",
                expected="one run for a window, none without",
                remedy="use another version of transformers",
            )


def _places(frames: int) -> int:
    """Return the number of tokens that stand for ``frames``: a convolution of stride 2, then a mean of 2."""
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


def _load(folder: Path) -> tuple[Any, Any]:
    def parts() -> Any:
        return Qwen2AudioProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)

    model, processor = pretrained(folder, Qwen2AudioForConditionalGeneration, "Qwen2-Audio", parts)
    _check_parts(folder, model.config, processor)
    return model, processor


def _check_parts(folder: Path, config: Any, processor: Any) -> None:
    front, audio = processor.feature_extractor, config.audio_config
    pairs = {
        "mel bins": (front.feature_size, audio.num_mel_bins),
        "frames": (front.nb_max_frames, 2 * audio.max_source_positions),
        "audio token": (processor.tokenizer.convert_tokens_to_ids(processor.audio_token), config.audio_token_index),
    }
    for what, (here, there) in pairs.items():
        if here != there:
            raise ModelError(
                f"{folder}: {what} of the processor: {here}, of the model: {there}",
                remedy="save model and processor together",
            )
    if len(processor.tokenizer) > config.text_config.vocab_size:
        raise ModelError(
            f"{folder}: the tokenizer has {len(processor.tokenizer)} tokens, the model {config.text_config.vocab_size}",
            remedy="save model and processor together",
        )
