"""CLAP through transformers: fused and unfused, from a local folder.

Tokenizer and feature extractor are called apart, because the hub processor applies padding, truncation and max_length
of the text to the audio as well (faults 46 to 48, 50, 85).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel

from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.device import choose
from pytest_audioretrieval.models.front_end import LogMel
from pytest_audioretrieval.models.inference import Vectors, float32_inference, unit_rows
from pytest_audioretrieval.models.inputs import check_windows, token_limit
from pytest_audioretrieval.models.pretrained import pretrained
from pytest_audioretrieval.pinning.protocol import Protocol

#: Positions of RoBERTa that hold no token: its position numbers begin behind its padding id.
UNUSED_POSITIONS = 2


class Clap:
    """A ``Retriever`` over ``transformers.ClapModel``.

    Args:
        folder: folder written by ``save_pretrained``, whose files have been hashed.
        device: auto, cpu, cuda[:N] or mps.

    Attributes:
        model, tokenizer: objects of transformers, on ``device``, in eval mode; the model in float32.
        dtypes: values of the protocol's ``dtype`` that the model can compute in.
        text_limit: most tokens of a text that the model itself reads.

    Raises:
        ModelError: the folder cannot be loaded, is no CLAP, or its parts do not belong together.
    """

    dtypes = ("float32", "float16", "bfloat16")

    def __init__(self, folder: Path, *, device: str) -> None:
        self.device = choose(device)
        self.model, self.tokenizer, self._extractor = _load(folder)
        self.model.to(self.device)
        self._copies: dict[str, Any] = {}
        self._log_mel = LogMel(self._extractor)
        positions = self.model.config.text_config.max_position_embeddings - UNUSED_POSITIONS
        self.text_limit: int = min(positions, self.tokenizer.model_max_length)

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        """Embed windows of at most 10 s each, or whole clips if ``window`` is ``"crops"`` or ``"processor"``.

        See ``Retriever``. Under ``"processor"`` transformers' extractor makes the log-mels and draws at random; else
        ``LogMel`` makes them.

        Raises:
            AudioError: a window is no finite float32 array [n] of this model's rate and length.
            ModelError: the front-end or the model returned a wrong shape.
        """
        check_windows(windows, protocol, sample_rate=self._extractor.sampling_rate, longest=self._log_mel.longest)
        with float32_inference():
            features, longer = self._drawn(windows, protocol) if protocol.drawn else self._log_mel(windows, self.device)
            features, model = self._checked(features, len(windows)), self._model_in(protocol.dtype)
            if not longer.any():
                features = features[:, :1]  # a fused model shrinks all four, and then reads no other
            output = model.get_audio_features(
                input_features=features.to(self.device, model.dtype), is_longer=longer.to(self.device)
            )
        return unit_rows(output, len(windows))

    def _drawn(self, windows: Sequence[Vectors], protocol: Protocol) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log-mels and flags of the extractor itself, to reproduce figures that were measured with its draws."""
        # As a list of arrays: an array of two dimensions would be read as a batch (faults 16, 17).
        inputs = self._extractor(list(windows), sampling_rate=protocol.sample_rate, return_tensors="pt")
        longer = inputs["is_longer"]
        if protocol.is_longer == "true_length":
            longer = [[len(window) > self._log_mel.longest] for window in windows]
        return inputs["input_features"], torch.as_tensor(longer, dtype=torch.bool).reshape(len(windows), 1)

    def _checked(self, features: torch.Tensor, count: int) -> torch.Tensor:
        """Refuse log-mels of a wrong shape, as stray processor settings make them (faults 47, 48, 85)."""
        audio, front = self.model.config.audio_config, self._extractor
        frames = front.nb_max_samples // front.hop_length + 1
        expected = (count, 4 if audio.enable_fusion else 1, frames, audio.num_mel_bins)
        if tuple(features.shape) != expected:
            raise ModelError(
                f"front-end returned {tuple(features.shape)}",
                expected=f"{expected} (windows, channels, frames, mels)",
                remedy="check preprocessor settings and transformers version",
            )
        return features

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Embed texts, each cut at the smallest limit of protocol, tokenizer and positions; see ``Retriever``."""
        inputs = self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.token_limit(protocol), return_tensors="pt"
        )
        with float32_inference():
            output = self._model_in(protocol.dtype).get_text_features(
                input_ids=inputs["input_ids"].to(self.device), attention_mask=inputs["attention_mask"].to(self.device)
            )
        return unit_rows(output, len(texts))

    def _model_in(self, dtype: str) -> Any:
        """Return the model, or a copy of it in another dtype: a conversion in place could not be undone."""
        if dtype == "float32":
            return self.model
        if dtype not in self._copies:
            self._copies[dtype] = deepcopy(self.model).to(getattr(torch, dtype))
        return self._copies[dtype]

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """Count the texts that lose tokens."""
        limit = self.token_limit(protocol)
        lengths = (len(ids) for ids in self.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"])
        return sum(length > limit for length in lengths)

    def token_limit(self, protocol: Protocol) -> int:
        """Return how many tokens of a text are read, special ones included; too few for a text is a ``ModelError``."""
        return token_limit(protocol, self.text_limit, self.tokenizer.num_special_tokens_to_add())


def _load(folder: Path) -> tuple[Any, Any, Any]:
    def parts() -> tuple[Any, Any]:
        # The default may ask on the terminal whether to run code of the folder.
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return tokenizer, _extractor(folder)

    model, (tokenizer, extractor) = pretrained(folder, ClapModel, "CLAP", parts)
    _check_parts(folder, model.config, tokenizer, extractor)
    return model, tokenizer, extractor


def _extractor(folder: Path) -> Any:
    """Load the extractor; transformers before 4.57 finds its settings only in a file of their own."""
    processor = folder / "processor_config.json"
    if processor.is_file():
        settings = json.loads(processor.read_text(encoding="utf-8")).get("feature_extractor")
        if settings:
            return ClapFeatureExtractor.from_dict(settings)
    return ClapFeatureExtractor.from_pretrained(folder, local_files_only=True)


def _check_front(folder: Path, audio: Any, extractor: Any) -> None:
    """Refuse settings that make no log-mels, or log-mels that the audio encoder has no place for."""
    for name in ("sampling_rate", "hop_length", "fft_window_size", "nb_max_samples", "feature_size"):
        value = getattr(extractor, name)
        if not isinstance(value, int) or value < 1:
            raise ModelError(
                f"{folder}: the preprocessor's {name} is {value!r}", expected="1 or more", remedy="save it anew"
            )
    frames = extractor.nb_max_samples // extractor.hop_length + 1
    most = audio.spec_size * (audio.spec_size // audio.num_mel_bins)
    if frames > most or extractor.feature_size != audio.num_mel_bins:
        raise ModelError(
            f"{folder}: the preprocessor makes {frames} frames of {extractor.feature_size} mels, the model reads "
            f"{most} of {audio.num_mel_bins} at most",
            remedy="save model and processor together",
        )


def _check_parts(folder: Path, config: Any, tokenizer: Any, extractor: Any) -> None:
    _check_front(folder, config.audio_config, extractor)
    if not isinstance(tokenizer.model_max_length, (int, float)):
        raise ModelError(
            f"{folder}: the tokenizer's model_max_length is {tokenizer.model_max_length!r}",
            expected="a number",
            remedy="save it anew",
        )
    fused = config.audio_config.enable_fusion
    truncation = "fusion" if fused else "rand_trunc"
    if extractor.truncation != truncation:
        raise ModelError(
            f"{folder}: the preprocessor's truncation is {extractor.truncation!r}, a model with enable_fusion={fused} "
            f"was trained with {truncation!r}",
            remedy="save model and processor together",
        )
    # Without any of them transformers makes a tokenizer of special tokens only.
    vocabularies = sorted({*tokenizer.vocab_files_names.values(), "tokenizer.json"})
    if not any((folder / name).is_file() for name in vocabularies):
        raise ModelError(
            f"{folder} holds no vocabulary",
            expected=f"one of {', '.join(vocabularies)}",
            remedy="save the processor too",
        )
    if len(tokenizer) > config.text_config.vocab_size:
        raise ModelError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, the model {config.text_config.vocab_size}",
            remedy="save model and processor together",
        )
