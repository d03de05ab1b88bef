"""Loading of a CLAP folder: silent, without running its code, and with a one-line error for each fault."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, logging

from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.pinning.protocol import NAMED
from tests.models.tiny_clap import TRANSFORMERS

pytestmark = pytest.mark.slow

SHORT = NAMED["short-clip"]
#: The file that holds the settings of the log-mels.
FRONT = "processor_config.json" if TRANSFORMERS >= (5, 0) else "preprocessor_config.json"
Damage = Callable[[Path], object]
#: 4 fails by itself, 5 makes a tokenizer of special tokens only.
NO_WORDS = "holds no vocabulary, expected one of" if TRANSFORMERS >= (5, 0) else "is no loadable CLAP"


def _edit(file: str, change: Callable[[dict[str, Any]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        content = json.loads((folder / file).read_text())
        change(content)
        (folder / file).write_text(json.dumps(content))

    return damage


def _write(file: str, content: bytes) -> Damage:
    def damage(folder: Path) -> None:
        (folder / file).write_bytes(content)

    damage.__name__ = f"{file} is {content[:20]!r}"
    return damage


def _truncate(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])


def _remove(*files: str) -> Damage:
    def damage(folder: Path) -> None:
        for file in files:
            (folder / file).unlink()

    damage.__name__ = f"without {' and '.join(files)}"
    return damage


def _add_tokens(folder: Path) -> None:
    words = AutoTokenizer.from_pretrained(folder)
    words.add_tokens(["<sound>"])
    words.save_pretrained(folder)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (_truncate, "is no loadable CLAP"),
        (_write("model.safetensors", b""), "is no loadable CLAP"),
        (_write("model.safetensors", b"\x80\x04" * 100), "is no loadable CLAP"),
        (_remove("config.json"), "is no loadable CLAP"),
        (_write("config.json", b'{"model_type": '), "is no loadable CLAP"),
        (_remove("model.safetensors"), "is no loadable CLAP"),
        (_remove("tokenizer.json", "tokenizer_config.json"), NO_WORDS),
        (_remove("tokenizer.json"), NO_WORDS),
        (_write("tokenizer.json", b"{}"), "is no loadable CLAP"),
        (_remove(FRONT), "is no loadable CLAP"),
        (_edit("config.json", lambda c: c.update(model_type="bert")), "says model_type 'bert', expected 'clap'"),
        (_write("config.json", b"{}"), "says model_type None, expected 'clap'"),
        (_edit("config.json", lambda c: c["text_config"].update(hidden_size="wide")), "is no loadable CLAP"),
        (_edit("config.json", lambda c: c["text_config"].update(num_hidden_layers=2)), "weights lack 16 tensors"),
        (
            _edit("config.json", lambda c: c.update(projection_dim=24)),
            "weights lack 8 tensors, first audio_projection.linear1.bias: they belong to another config",
        ),
        (
            _edit(FRONT, lambda c: c.get("feature_extractor", c).update(truncation="rand_trunc")),
            "truncation is 'rand_trunc', a model with enable_fusion=True was trained with 'fusion'",
        ),
        (
            _edit(FRONT, lambda c: c.get("feature_extractor", c).update(hop_length=-5)),
            "hop_length is -5, expected 1 or",
        ),
        (_edit(FRONT, lambda c: c.get("feature_extractor", c).update(feature_size=0)), "feature_size is 0, expected 1"),
        (
            _edit(FRONT, lambda c: c.get("feature_extractor", c).update(hop_length=100)),
            "the preprocessor makes 4801 frames of 64 mels, the model reads 1024 of 64 at most",
        ),
        (
            _edit(FRONT, lambda c: c.get("feature_extractor", c).update(max_length_s=10**6)),
            "the preprocessor makes 100000001 frames of 64 mels",
        ),
        (_edit("tokenizer_config.json", lambda c: c.update(model_max_length="512")), "model_max_length is '512'"),
        (_add_tokens, "the tokenizer has 101 tokens, the model 100"),
    ],
)
def test_a_damaged_folder_is_one_line(
    damage: Damage, expected: str, copy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(copy)
    capfd.readouterr()
    with pytest.raises(ModelError) as caught:
        Clap(copy, device="cpu")
    text = str(caught.value)
    assert text.startswith(str(copy))
    assert expected in text
    assert "\n" not in text
    assert capfd.readouterr() == ("", "")


def test_tensors_that_the_config_has_no_place_for_are_said(copy: Path) -> None:
    """A config of fewer layers than the weights have would be another model, and nobody would know."""
    tensors, of = load_file(copy / "model.safetensors"), "text_model.encoder.layer."
    tensors |= {name.replace(f"{of}0.", f"{of}1."): tensors[name].clone() for name in tensors if f"{of}0." in name}
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.warns(UserWarning, match=r"16 tensors have no place in the model of its config"):
        Clap(copy, device="cpu")


def test_code_in_a_folder_is_neither_run_nor_asked_about(
    tiny_clap: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transformers asks on the terminal whether to run a folder's class if it has none of that name."""
    (copy / "evil.py").write_text("raise SystemExit('ran')")
    named = {"AutoTokenizer": ["evil.Slow", "evil.Fast"], "AutoConfig": "evil.Config"}
    _edit("config.json", lambda content: content.update(auto_map=named))(copy)
    _edit("tokenizer_config.json", lambda content: content.update(auto_map=named, tokenizer_class="Evil"))(copy)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked"))
    if TRANSFORMERS < (5, 0):
        with pytest.raises(ModelError, match=r"is no loadable CLAP: .*(requires you to execute|contains custom code)"):
            Clap(copy, device="cpu")
        return
    made, plain = (Clap(folder, device="cpu").embed_text(["a dog barks"], SHORT) for folder in (copy, tiny_clap))
    np.testing.assert_array_equal(made, plain)


def test_loading_says_nothing_and_leaves_transformers_as_it_was(tiny_clap: Path, copy: Path) -> None:
    """A process of its own is needed: transformers' log handler keeps the stderr of its import."""
    _edit("config.json", lambda content: content["text_config"].update(num_hidden_layers=2))(copy)
    script = f"""
import warnings, numpy as np
from pathlib import Path
from transformers import logging
from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.clap import Clap
from pytest_audioretrieval.pinning.protocol import Protocol
warnings.simplefilter("error")
before = logging.get_verbosity(), logging.is_progress_bar_enabled()
model = Clap(Path({str(tiny_clap)!r}), device="cpu")
model.embed_audio([np.ones(100, dtype=np.float32)], Protocol())
model.embed_text(["dog " * 600], Protocol())
model.count_cut(["dog " * 600], Protocol())
try:
    Clap(Path({str(copy)!r}), device="cpu")
except ModelError:
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_the_users_verbosity_and_bars_come_back(tiny_clap: Path) -> None:
    logging.disable_progress_bar()
    try:
        Clap(tiny_clap, device="cpu")
        assert not logging.is_progress_bar_enabled()
    finally:
        logging.enable_progress_bar()
