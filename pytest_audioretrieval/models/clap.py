"""CLAP through transformers: fused and unfused, from a local folder.

Tokenizer and feature extractor are called apart: the hub processor hands padding, truncation and max_length of the
text to the audio as well (faults 46 to 48, 50, 85).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError

from pytest_audioretrieval.errors import AudioError, ModelError
from pytest_audioretrieval.models.device import choose
from pytest_audioretrieval.protocol import Protocol

Vectors = npt.NDArray[np.float32]

#: RoBERTa's position numbers begin behind its padding id, so two of its positions hold no token.
UNUSED_POSITIONS = 2


class Clap:
    """A ``Retriever`` over ``transformers.ClapModel``.

    Args:
        folder: written by ``save_pretrained``; its files have been hashed by now.
        device: auto, cpu, cuda[:N] or mps.

    Raises:
        ModelError: the folder cannot be loaded, or is no CLAP.
    """

    def __init__(self, folder: Path, *, device: str) -> None:
        self.device = choose(device)
        self._model, self._tokenizer, self._extractor = _load(folder)
        self._model.to(self.device)
        self._fused = bool(self._model.config.audio_config.enable_fusion)
        positions = self._model.config.text_config.max_position_embeddings - UNUSED_POSITIONS
        self.text_limit: int = min(positions, self._tokenizer.model_max_length)

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        """Windows of at most 10 s each; under ``window="processor"`` whole clips. See ``Retriever``."""
        _check_windows(windows, self._extractor.nb_max_samples, protocol)
        # As a list of arrays: an array of two dimensions would be read as a batch (faults 16, 17).
        inputs = self._extractor(list(windows), sampling_rate=protocol.sample_rate, return_tensors="pt")
        features = inputs["input_features"]
        expected = self._extractor.nb_max_samples // self._extractor.hop_length + 1
        if features.shape[0] != len(windows) or features.shape[2] != expected:
            raise ModelError(
                f"front-end returned {tuple(features.shape)} for {len(windows)} windows, expected {len(windows)} x "
                f"{expected} frames: check preprocessor settings and transformers version"
            )
        longer = inputs["is_longer"]
        if protocol.is_longer == "true_length":
            longer = [[len(window) > self._extractor.nb_max_samples] for window in windows]
        flags = torch.as_tensor(longer, dtype=torch.bool).reshape(len(windows), 1)
        with torch.inference_mode():
            output = self._model.get_audio_features(
                input_features=features.to(self.device), is_longer=flags.to(self.device)
            )
        return _unit(output, len(windows))

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Texts cut explicitly at the smallest of protocol, tokenizer and positions. See ``Retriever``."""
        inputs = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._cut(protocol), return_tensors="pt"
        )
        with torch.inference_mode():
            output = self._model.get_text_features(
                input_ids=inputs["input_ids"].to(self.device), attention_mask=inputs["attention_mask"].to(self.device)
            )
        return _unit(output, len(texts))

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """How many texts lose tokens."""
        limit = self._cut(protocol)
        lengths = (len(ids) for ids in self._tokenizer(list(texts), truncation=False, verbose=False)["input_ids"])
        return sum(length > limit for length in lengths)

    def _cut(self, protocol: Protocol) -> int:
        return min(protocol.max_text_tokens, self.text_limit)


def _load(folder: Path) -> tuple[Any, Any, Any]:
    import warnings

    from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel, logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=DeprecationWarning)
            model, report = ClapModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, output_loading_info=True, dtype=torch.float32
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            extractor = ClapFeatureExtractor.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ModelError(f"{folder} is no loadable CLAP: {first}: restore the folder or save it anew") from None
    finally:
        if bars:
            logging.enable_progress_bar()
    lost = [*report["missing_keys"], *report["mismatched_keys"]]
    if lost:
        raise ModelError(f"{folder}: weights lack {len(lost)} tensors, first {lost[0]}: they belong to another config")
    return model.eval(), tokenizer, extractor


def _check_windows(windows: Sequence[Vectors], longest: int, protocol: Protocol) -> None:
    for position, window in enumerate(windows):
        if not isinstance(window, np.ndarray) or window.dtype != np.float32 or window.ndim != 1 or not window.size:
            raise AudioError(
                f"window {position}: expected a float32 array [n] that is not empty, found {_shape(window)}"
            )
        if not np.isfinite(window).all():
            raise AudioError(f"window {position}: holds samples that are not finite: decode the clip again")
        if protocol.window != "processor" and window.size > longest:
            raise AudioError(
                f"window {position}: {window.size} samples, the model reads {longest}: shorten the protocol's window"
            )


def _shape(window: object) -> str:
    shape, dtype = getattr(window, "shape", None), getattr(window, "dtype", None)
    return f"{type(window).__name__} {dtype} {tuple(shape) if shape is not None else ''}".strip()


def _unit(output: Any, count: int) -> Vectors:
    """L2-normalised float32 rows of ``get_*_features``: it returns a tensor before transformers 5, an output after."""
    pooled = output if isinstance(output, torch.Tensor) else output.pooler_output
    vectors: Vectors = pooled.float().cpu().numpy()
    if vectors.shape[0] != count or vectors.ndim != 2:
        raise ModelError(f"model returned {vectors.shape} for {count} inputs, expected one vector each")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        row = int(np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))[0])
        raise ModelError(f"input {row} of the batch has a vector that is zero or not finite: check weights and input")
    unit: Vectors = vectors / norms
    return unit
