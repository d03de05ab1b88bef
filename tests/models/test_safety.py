"""Refusal of unsafe settings of a model folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.registry import deciding_paths, describe
from pytest_audioretrieval.models.safety import SETTINGS, refuse_unsafe
from pytest_audioretrieval.pinning.spec import parse


def folder(path: Path, **files: object) -> Path:
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (path / name.replace("__", ".")).write_text(text)
    return path


@pytest.mark.parametrize("name", SETTINGS)
def test_code_of_the_repository_is_refused_whichever_file_asks_for_it(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(json.dumps({"auto_map": {"AutoModel": "modeling.Evil"}}))
    with pytest.raises(ModelError, match=rf"^o/m: {name} asks for code of its repository \(auto_map\), which is never"):
        refuse_unsafe(tmp_path, [name], "o/m")


def test_a_folder_of_ones_own_that_asks_for_code(copy: Path) -> None:
    path = copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"auto_map": {}}))
    with pytest.raises(ModelError, match=rf"^{copy}: config\.json asks for code"):
        describe(parse(str(copy)), offline=True, allow_unpinned=False)


@pytest.mark.parametrize("named", ["../w.safetensors", "/w.safetensors", "absent.safetensors", "pytorch_model.bin"])
def test_an_index_names_hashed_weights_only(named: str, tmp_path: Path) -> None:
    """transformers joins the name to the folder and opens what lies there."""
    weights = {"a": "model-1.safetensors", "b": named}
    made = folder(tmp_path, **{"model-1__safetensors": "", "pytorch_model__bin": ""})
    (made / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    with pytest.raises(ModelError, match=rf"index\.json names '{named}', which is not among the files beside it"):
        refuse_unsafe(made, deciding_paths(made), "o/m")
    weights["b"] = "model-1.safetensors"
    (made / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    refuse_unsafe(made, deciding_paths(made), "o/m")


def test_an_adapter_is_refused(tmp_path: Path) -> None:
    """transformers 4 loads the base model that it names, from wherever that is, where peft is installed."""
    made = folder(tmp_path, adapter_config__json={"base_model_name_or_path": "/elsewhere"})
    with pytest.raises(ModelError, match=r"^o/m: adapter_config\.json names weights elsewhere, which nobody"):
        refuse_unsafe(made, deciding_paths(made), "o/m")


def test_what_is_no_settings_file_is_left_to_who_reads_it(tmp_path: Path) -> None:
    made = folder(tmp_path, config__json="{", tokenizer_config__json=["auto_map"], other__json={"auto_map": 1})
    (made / "model.safetensors.index.json").write_text('{"weight_map": []}')
    (made / "processor_config.json").write_text("[" * 100_000)
    refuse_unsafe(made, deciding_paths(made), "o/m")
    (made / "config.json").write_text("[" * 100_000)
    refuse_unsafe(made, deciding_paths(made), "o/m")
