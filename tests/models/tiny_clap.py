"""Random CLAP folder, small enough to be built in every test run."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

#: 5 and later make tokenizers otherwise and keep the extractor's settings in the processor's file.
TRANSFORMERS = tuple(int(part) for part in metadata.version("transformers").split(".")[:2])
#: Special ones, then letters; byte-level BPE writes a space as U+0120.
TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *map(chr, range(33, 127)), "\u0120"]


def build_tiny_clap(folder: Path, *, fused: bool = True, seed: int = 0) -> Path:
    """Write a random ``ClapModel`` with its ``ClapProcessor`` to ``folder`` and return it.

    The front-end is that of the laion checkpoints (48 kHz, 64 mel bins, 10 s); a token is a printable ASCII character.
    """
    from transformers import ClapConfig, ClapFeatureExtractor

    config = ClapConfig(text_config=_text(len(TOKENS)), audio_config=_audio(fused), projection_dim=12)
    front = ClapFeatureExtractor(truncation="fusion" if fused else "rand_trunc", frequency_min=50)
    return write_clap(folder, config, front, seed=seed)


def write_clap(folder: Path, config: Any, front: Any, *, seed: int) -> Path:
    """Write a random model of ``config``, the extractor ``front`` and a tokenizer of ``TOKENS`` to ``folder``."""
    from transformers import ClapModel, ClapProcessor

    save_random(ClapModel, config, folder, seed)
    ClapProcessor(feature_extractor=front, tokenizer=_tokenizer(folder)).save_pretrained(folder)
    for name in ("vocab.json", "merges.txt"):  # tokenizer.json holds both
        (folder / name).unlink(missing_ok=True)
    return folder


def save_random(model: Any, config: Any, folder: Path, seed: int) -> None:
    """Write a random ``model`` of ``config`` to ``folder``."""
    import torch

    from pytest_audioretrieval.models.inference import quiet_transformers

    with quiet_transformers(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model(config).save_pretrained(folder)


def _tokenizer(folder: Path) -> Any:
    import transformers

    vocabulary = {token: position for position, token in enumerate(TOKENS)}
    if TRANSFORMERS >= (5, 0):
        return transformers.RobertaTokenizer(vocab=vocabulary, merges=[], model_max_length=512)
    words, merges = folder / "vocab.json", folder / "merges.txt"
    words.write_text(json.dumps(vocabulary))
    merges.write_text("#version: 0.2\n")
    return transformers.RobertaTokenizerFast(str(words), str(merges), model_max_length=512)


def _text(vocabulary: int) -> dict[str, object]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
    }


def _audio(fused: bool) -> dict[str, object]:
    return {
        "patch_size": 8,
        "patch_stride": [8, 8],
        "patch_embeds_hidden_size": 8,
        "hidden_size": 16,
        "depths": [1, 1],
        "num_attention_heads": [1, 2],
        "num_hidden_layers": 2,
        "num_classes": 2,
        "enable_fusion": fused,
        "fusion_type": "aff_2d" if fused else None,
    }
