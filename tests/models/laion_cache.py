"""Hub cache with small tokenizers for the import of laion_clap; a token is a character."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

LETTERS = [*map(chr, range(33, 127)), "\u0120"]  # byte-level BPE writes a space as U+0120
REPOSITORIES = ("roberta-base", "bert-base-uncased", "facebook/bart-base")
COMMIT = "0" * 40


def build_cache(folder: Path, repositories: Sequence[str] = REPOSITORIES) -> Path:
    """Lay ``folder`` out as the hub's client does, for ``HF_HUB_CACHE``."""
    for name in repositories:
        repository = folder / f"models--{name.replace('/', '--')}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs/main").write_text(COMMIT)
        snapshot = repository / "snapshots" / COMMIT
        snapshot.mkdir(parents=True)
        for file, content in (_wordpiece() if "bert-base-uncased" in name else _byte_level(name)).items():
            (snapshot / file).write_text(content)
    return folder


def _byte_level(name: str) -> dict[str, str]:
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *LETTERS]
    return {
        "vocab.json": json.dumps({token: place for place, token in enumerate(tokens)}),
        "merges.txt": "#version: 0.2\n",
        "tokenizer_config.json": json.dumps({"model_max_length": 512}),
        "config.json": json.dumps({"model_type": "bart" if "bart" in name else "roberta"}),
    }


def _wordpiece() -> dict[str, str]:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 123))]
    return {
        "vocab.txt": "\n".join(tokens) + "\n",
        "tokenizer_config.json": json.dumps({"model_max_length": 512}),
        "config.json": json.dumps({"model_type": "bert"}),
    }
