"""Retrievers over models of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pytest_audioretrieval.base.network import no_network
from pytest_audioretrieval.errors import ModelError, SpecError, one_line
from pytest_audioretrieval.models.device import choose
from pytest_audioretrieval.models.inference import Vectors, float32_inference, quiet_transformers, unit_rows
from pytest_audioretrieval.models.sentence import SentenceEncoder

if TYPE_CHECKING:
    from pytest_audioretrieval.pinning.protocol import Protocol


class SentenceTransformers:
    """A ``Retriever`` over ``sentence_transformers.SentenceTransformer``: texts are queries, clips are documents.

    Attributes:
        text_limit: ``max_seq_length`` of the model, or 0.

    Raises:
        ModelError: the model cannot be loaded, or is a fused CLAP, whose front-end marks a random short clip of each
            batch as longer (fault 1).
    """

    def __init__(self, name: str, folder: Path, *, device: str) -> None:
        self.name, self.device = name, choose(device)
        self._model: Any = _loaded(name, folder, self.device)
        self.text_limit: int = self._model.max_seq_length or 0
        self._hears = self._model.supports("audio")
        audio = getattr(getattr(self._model[0], "config", None), "audio_config", None)
        if getattr(audio, "enable_fusion", False):
            raise ModelError(
                f"{name} is a fused CLAP, which sentence-transformers feeds at random (fault 1)",
                remedy="name it without st:",
            )

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        """Embed windows; see ``Retriever``. The protocol's rate must be the model's own."""
        if not self._hears:
            raise _texts_only(self.name)
        sounds = [{"array": window, "sampling_rate": protocol.sample_rate} for window in windows]
        return self._unit(self._model.encode_document, sounds, protocol.audio_batch)

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Embed texts as queries; see ``Retriever``."""
        self._cut_at(protocol)
        return self._unit(self._model.encode_query, list(texts), protocol.text_batch)

    def embed_document(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Embed texts as documents, that is, as candidates; see ``embed_text``."""
        self._cut_at(protocol)
        return self._unit(self._model.encode_document, list(texts), protocol.text_batch)

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """Count the texts that lose tokens; prompts of the model are left out."""
        limit = self._cut_at(protocol)
        ids = self._model.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
        return sum(len(row) > limit for row in ids)

    def _cut_at(self, protocol: Protocol) -> int:
        limit = min(protocol.max_text_tokens, self.text_limit or protocol.max_text_tokens)
        self._model.max_seq_length = limit
        return limit

    def _unit(self, encode: Any, inputs: list[Any], batch: int) -> Vectors:
        try:
            with float32_inference():
                found = encode(inputs, batch_size=batch, show_progress_bar=False, convert_to_tensor=True)
        except Exception as error:  # of torch, transformers or the library, by what is wrong
            raise ModelError(
                f"{self.name}: {one_line(error)}", remedy="try it with sentence-transformers alone"
            ) from None
        return unit_rows(found, len(inputs))


class MiniLM:
    """Retriever of texts over all-MiniLM-L6-v2 from its own package; sentence-transformers is not needed."""

    def __init__(self, name: str, folder: Path, *, device: str) -> None:
        self.name = name
        self._encoder = SentenceEncoder(folder, device=device)
        self.device, self.text_limit = self._encoder.device, self._encoder.text_limit

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        """Raise ``SpecError``: the model reads texts only."""
        raise _texts_only(self.name)

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Embed texts; see ``Retriever``."""
        return self._encoder.encode(texts, batch=protocol.text_batch)

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """Count the texts that lose tokens; see ``Retriever``."""
        return self._encoder.count_cut(texts)


def _texts_only(name: str) -> SpecError:
    return SpecError(f"{name} embeds texts only", remedy=f"name a captioner too, two-stage:CAPTIONER+{name}")


def _loaded(name: str, folder: Path, device: str) -> Any:
    try:
        # The whole model lies in the folder; a file fetched from elsewhere would not have been hashed.
        with quiet_transformers(), no_network():
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(
                str(folder),
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            ).eval()
    except Exception as error:  # of the library or below it, by what is wrong
        raise ModelError(f"{name}: {folder} is not loadable: {one_line(error)}", remedy="restore the folder") from None
