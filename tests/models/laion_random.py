"""Script for the Python of laion_clap's environment: it writes random checkpoints as the package's training does.

    python laion_random.py FOLDER_OF_THE_WORKER FOLDER

writes ``fused.pt`` and ``unfused.pt``.

RoBERTa is small, all else is of the package's size. Around the weights lies what its own checkpoints have and readers
have stumbled over: the prefix ``module.``, ``position_ids`` (fault 72), numbers as numpy pickles them (fault 73).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

LAYERS, HIDDEN, INNER, POSITIONS, VOCABULARY = 2, 768, 1024, 514, 100
#: Computed, not learned.
FIXED = ("spectrogram_extractor", "logmel_extractor", "attn_mask")


def main(worker: str, folder: str) -> None:
    sys.path.insert(0, worker)
    import laion_clap
    import worker_laion

    for kind in ("fused", "unfused"):
        with worker_laion._untrained_roberta(sizes(), kind):
            module = laion_clap.CLAP_Module(enable_fusion=kind == "fused", device="cpu")
        save(module, f"{folder}/{kind}.pt")


def save(module: Any, path: str) -> None:
    draw = torch.Generator().manual_seed(0)
    state = {name: drawn(name, tensor, draw) for name, tensor in module.model.state_dict().items()}
    state["text_branch.embeddings.position_ids"] = torch.arange(POSITIONS)[None]
    around = {"epoch": 3, "name": "random", "loss": np.float64(0.5), "steps": np.int64(7)}
    torch.save({**around, "state_dict": {f"module.{name}": tensor for name, tensor in state.items()}}, path)


def sizes() -> dict[str, torch.Tensor]:
    at = "text_branch.encoder.layer."
    rows = {"word": VOCABULARY, "position": POSITIONS, "token_type": 1}
    return {
        **{
            f"text_branch.embeddings.{name}_embeddings.weight": torch.empty(size, HIDDEN) for name, size in rows.items()
        },
        **{f"{at}{layer}.intermediate.dense.weight": torch.empty(INNER, HIDDEN) for layer in range(LAYERS)},
    }


def drawn(name: str, tensor: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Weights large enough that different sounds and texts get different vectors."""
    if not tensor.is_floating_point() or any(part in name for part in FIXED):
        return tensor.clone()
    noise = torch.randn(tensor.shape, generator=draw)
    if name == "audio_branch.bn0.running_mean":
        return -30 + noise  # decibels
    if name == "audio_branch.bn0.running_var":
        return 400 + noise
    if name.endswith("running_var") or (tensor.ndim == 1 and name.endswith("weight")):
        return 1 + 0.1 * noise.abs()
    if tensor.ndim < 2:
        return 0.1 * noise
    if "embeddings" in name or "bias_table" in name:
        return 0.3 * noise
    return noise / tensor[0].numel() ** 0.5


if __name__ == "__main__":
    main(*sys.argv[1:])
