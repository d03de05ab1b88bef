"""Retriever over a wrapper of mteb.

The protocol cuts the windows; prompts, tokenizer, precision and a wrapper's own changes to a window are mteb's. Texts
are embedded as queries and clips as documents, in every direction, with the prompts of ``TASK``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from pytest_audioretrieval.base.network import ONCE, no_network
from pytest_audioretrieval.errors import ModelError, RetrievalError, one_line
from pytest_audioretrieval.models.device import choose
from pytest_audioretrieval.models.inference import Vectors, float32_inference, quiet_transformers, unit_rows
from pytest_audioretrieval.pinning.protocol import Protocol

#: Task whose prompts a model gets that follows instructions.
TASK = "AudioCapsT2ARetrieval"
#: Characters of the longest text that is surely not cut: it has some 20 tokens, and every model of the registry is
#: stated to read at least 32.
SHORTEST = 64
#: Greatest difference between unit vectors of one input in one batch.
SAME = 1e-6


class MtebRetriever:
    """A ``Retriever`` over the wrapper that ``meta`` loads.

    Args:
        meta: description of the model, ``mteb.ModelMeta``.
        device: auto, cpu, cuda[:N] or mps.
        offline: keep loading and embedding from the network.

    Attributes:
        text_limit: ``max_tokens`` as mteb states it, or 0. Wrappers may read less.

    Raises:
        ModelError: a package is missing, or the wrapper cannot load its model.
    """

    def __init__(self, meta: Any, *, device: str, offline: bool = False) -> None:
        import mteb

        self._offline = offline
        self.name = f"mteb:{meta.name}"
        self.device = choose(device)
        tokens = meta.max_tokens or 0
        self.text_limit = int(tokens) if np.isfinite(tokens) else 0
        self._task = mteb.get_task(TASK).metadata
        self._told = False
        with self._errors(meta):
            # Not by meta.load_model: it asks for torchaudio and torchcodec, and nothing here needs them.
            # Wrappers compare the device with the word "cuda".
            self._model = meta.loader(
                meta.name, revision=meta.revision, **{**meta.loader_kwargs, "device": self.device.removesuffix(":0")}
            )
        self._model.mteb_model_meta = meta

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        """Embed windows; see ``Retriever``.

        Raises:
            ModelError: the wrapper's rate is not the protocol's, or it reads less than a whole window.
        """
        rows = [{"audio": {"array": window, "sampling_rate": protocol.sample_rate}} for window in windows]
        with _whole_windows(self.name, protocol) as asked:
            vectors = self._encode("audio", rows, protocol.audio_batch)
        if not asked and not self._told:
            self._told = True
            warnings.warn(
                f"{self.name} brings sounds to its own rate by itself: nobody checks how it hears "
                f"{protocol.sample_rate} Hz",
                stacklevel=2,
            )
        return vectors

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Embed texts; see ``Retriever``. The wrapper cuts long texts, at a limit of its own."""
        return self._encode("text", [{"text": text} for text in texts], protocol.text_batch)

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """Count the texts that have the same vector without their last word; mteb shows no other sign of a cut."""
        return sum(self._reads_less(text, protocol) for text in texts if len(text) > SHORTEST)

    def _reads_less(self, text: str, protocol: Protocol) -> bool:
        shorter = text.rstrip().rpartition(" ")[0]
        if not shorter:
            return False
        whole, part = self.embed_text([text, shorter], protocol)
        return bool(np.abs(whole - part).max() <= SAME)

    def _encode(self, kind: str, rows: list[dict[str, Any]], batch: int) -> Vectors:
        from mteb.types import PromptType

        with self._errors(), float32_inference():
            found = self._model.encode(
                DataLoader(_Rows(kind, rows), batch_size=batch, collate_fn=_columns),
                task_metadata=self._task,
                hf_split="test",
                hf_subset="default",
                prompt_type=PromptType.query if kind == "text" else PromptType.document,
                batch_size=batch,
                show_progress_bar=False,
            )
            return unit_rows(torch.as_tensor(found), len(rows))

    @contextmanager
    def _errors(self, meta: Any = None) -> Iterator[None]:
        """Turn errors of mteb, and of libraries below it, into a ``ModelError``."""
        try:
            with quiet_transformers(), no_network(self._offline):
                yield
        except RetrievalError:
            raise
        except ImportError as error:
            groups = ",".join(meta.extra_requirements_groups or ()) if meta else ""
            extra = f"pip install 'mteb[{groups}]'" if groups else f"pip install {error.name or 'it'}"
            raise ModelError(f"{self.name}: mteb's wrapper needs a package: {one_line(error)}", remedy=extra) from None
        except Exception as error:  # of torch, transformers, the hub or the wrapper, by what is wrong
            raise ModelError(
                f"{self.name}: mteb's wrapper failed: {type(error).__name__}: {one_line(error)}",
                remedy=ONCE if self._offline else "",
            ) from None


class _Rows(torch.utils.data.Dataset[dict[str, Any]]):
    """Dataset with the two members that wrappers read: its rows, and ``features``, which tells their kind."""

    def __init__(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self.features = {kind: None}
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return dict(self._rows[place])


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {key: [row[key] for row in rows] for key in rows[0]}


@contextmanager
def _whole_windows(name: str, protocol: Protocol) -> Iterator[list[int]]:
    """Let mteb's collators take windows unchanged, or refuse them; yield the list of rates that wrappers ask for.

    mteb's own function resamples by torchaudio, imports it even if there is nothing to do (fault 87), and cuts windows
    without a warning.
    """
    from mteb.models.modality_collators import AudioCollator

    # All wrappers that resample use this class (mteb 2.26.24): most put a collator of their own into the DataLoader
    # that they get, some make another DataLoader, those of Qwen2-Audio and Audio Flamingo call the function row by row.
    # Without the patch a window at their rate would still need torchaudio, and be cut without a warning.
    asked: list[int] = []

    def take(
        row: Mapping[str, Any],
        *,
        target_sampling_rate: int,
        max_samples: int | None = None,
        min_samples: int | None = None,
    ) -> Vectors:
        asked.append(target_sampling_rate)
        window: Vectors = row["audio"]["array"]
        if target_sampling_rate != protocol.sample_rate:
            raise ModelError(
                f"{name}: the protocol feeds {protocol.sample_rate} Hz, mteb's wrapper hears {target_sampling_rate} Hz",
                remedy=f"set the protocol's sample_rate={target_sampling_rate}",
            )
        if max_samples is not None and len(window) > max_samples and protocol.window != "processor":
            raise ModelError(
                f"{name}: a window has {len(window)} samples, mteb's wrapper reads {max_samples}",
                remedy=f"set the protocol's seconds={max_samples / target_sampling_rate:g}",
            )
        return np.pad(window[:max_samples], (0, max(0, (min_samples or 0) - len(window))))

    own = AudioCollator.__dict__["resample_audio"]
    AudioCollator.resample_audio = staticmethod(take)
    try:
        yield asked
    finally:
        AudioCollator.resample_audio = own
