"""Conversion of a laion_clap checkpoint to a folder of transformers, by a table of tensor names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from pytest_audioretrieval.models.worker.worker_laion import _numpy_scalars
from tests.models.laion_cache import LETTERS

#: In this order: a later rule sees what an earlier one wrote.
RULES = (
    (r"^(audio|text)_projection\.0\.", r"\1_projection.linear1."),
    (r"^(audio|text)_projection\.2\.", r"\1_projection.linear2."),
    (r"^text_branch\.", "text_model."),
    (r"^audio_branch\.", "audio_model.audio_encoder."),
    (r"\.bn0\.", ".batch_norm."),
    (r"\.norm1\.", ".layernorm_before."),
    (r"\.norm2\.", ".layernorm_after."),
    (r"\.attn\.proj\.", ".attention.output.dense."),
    (r"\.attn\.", ".attention.self."),
    (r"\.mlp\.fc1\.", ".intermediate.dense."),
    (r"\.mlp\.fc2\.", ".output.dense."),
)
#: Of the package alone: its front-end, heads for training, a second projection that retrieval does not use.
UNUSED = re.compile(
    r"audio_branch\.(spectrogram_extractor|logmel_extractor|tscam_conv|head)\.|(audio|text)_transform\.|.*\.attn_mask$"
)
#: Computed from the configuration by transformers.
COMPUTED = ("position_ids", "token_type_ids", "relative_position_index", "num_batches_tracked")


def read(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint that holds nothing else; see ``laion_random``."""
    with torch.serialization.safe_globals(_numpy_scalars()):
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    return {name.removeprefix("module."): tensor for name, tensor in state.items()}


def to_hub(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors of the package under the names of ``transformers.ClapModel``."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in state.items():
        if UNUSED.match(name):
            continue
        if ".attn.qkv." in name:
            for part, piece in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                found[_renamed(name.replace("attn.qkv", f"attn.{part}"))] = piece
        else:
            found[_renamed(name)] = tensor
    return found


def _renamed(name: str) -> str:
    for found, put in RULES:
        name = re.sub(found, put, name)
    return name


def save_hub(state: dict[str, torch.Tensor], folder: Path, *, fused: bool) -> Path:
    """A folder as ``save_pretrained`` writes it, with these tensors and the front-end of laion's checkpoints."""
    from transformers import ClapConfig, ClapFeatureExtractor, ClapModel, ClapProcessor, RobertaTokenizer, logging

    text = _text_config(state)
    model = ClapModel(ClapConfig(text_config=text, audio_config=_audio_config(fused), projection_dim=512))
    missing, unknown = model.load_state_dict(to_hub(state), strict=False)
    assert not unknown, unknown
    assert all(name.endswith(COMPUTED) for name in missing), missing
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
    finally:
        logging.enable_progress_bar()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary = {token: place for place, token in enumerate(special + LETTERS)}
    words = RobertaTokenizer(vocab=vocabulary, merges=[], model_max_length=512)
    front = ClapFeatureExtractor(truncation="fusion" if fused else "rand_trunc", frequency_min=50)
    ClapProcessor(feature_extractor=front, tokenizer=words).save_pretrained(folder)
    return folder


def _text_config(state: dict[str, torch.Tensor]) -> dict[str, Any]:
    vocabulary, hidden = state["text_branch.embeddings.word_embeddings.weight"].shape
    layers = {found[1] for name in state if (found := re.match(r"text_branch\.encoder\.layer\.(\d+)\.", name))}
    return {
        "vocab_size": vocabulary, "hidden_size": hidden, "num_hidden_layers": len(layers), "num_attention_heads": 12,
        "intermediate_size": len(state["text_branch.encoder.layer.0.intermediate.dense.bias"]),
        "max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
        "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
    }  # fmt: skip


def _audio_config(fused: bool) -> dict[str, Any]:
    return {
        "hidden_size": 768, "patch_embeds_hidden_size": 96, "depths": [2, 2, 6, 2],
        "num_attention_heads": [4, 8, 16, 32], "num_hidden_layers": 4, "num_classes": 527,
        "enable_fusion": fused, "fusion_type": "aff_2d" if fused else None,
    }  # fmt: skip
