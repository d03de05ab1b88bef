"""Random Qwen2-Audio folder, small enough to be built in every test run."""

from __future__ import annotations

from pathlib import Path

from tests.models.tiny_clap import save_random
from tests.versions import skip_before_transformers_5

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|audio_bos|>", "<|AUDIO|>", "<|audio_eos|>"]
#: Seconds of its windows, at 16 kHz.
SECONDS = 2


def build_tiny_qwen2_audio(folder: Path, *, seed: int = 0) -> Path:
    """Write a random ``Qwen2AudioForConditionalGeneration`` with its processor to ``folder`` and return it.

    A token is a byte, but for ``Yes``, ``No`` and ``Yes`` behind a space; the chat template is the processor's own.
    """
    skip_before_transformers_5()
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import (
        Qwen2AudioConfig,
        Qwen2AudioForConditionalGeneration,
        Qwen2AudioProcessor,
        Qwen2Tokenizer,
        WhisperFeatureExtractor,
    )

    words = [*sorted(ByteLevel.alphabet()), "Ye", "Yes", "\u0120Yes", "No"]  # byte-level BPE writes a space as U+0120
    tokenizer = Qwen2Tokenizer(
        vocab={token: position for position, token in enumerate(words)},
        merges=[("Y", "e"), ("Ye", "s"), ("\u0120", "Yes"), ("N", "o")],
        extra_special_tokens=SPECIAL,
        unk_token="<|endoftext|>",
    )
    config = Qwen2AudioConfig(
        audio_config=_audio(),
        text_config=_text(len(tokenizer)),
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    front = WhisperFeatureExtractor(feature_size=16, chunk_length=SECONDS)
    save_random(Qwen2AudioForConditionalGeneration, config, folder, seed)
    Qwen2AudioProcessor(feature_extractor=front, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def _text(vocabulary: int) -> dict[str, object]:
    return {
        "model_type": "qwen2",
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.2,
    }


def _audio() -> dict[str, object]:
    return {
        "model_type": "qwen2_audio_encoder",
        "num_mel_bins": 16,
        "d_model": 32,
        "encoder_layers": 1,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "max_source_positions": 50 * SECONDS,
        "initializer_range": 0.2,
    }
