"""LAION's fused CLAP in its real size, from end to end: its hub folder's config with random weights."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from transformers import ClapConfig, ClapFeatureExtractor

from tests.models.tiny_clap import write_clap

REPOSITORY = Path(__file__).parents[2]
HUB = REPOSITORY.parent / "shared/data/hub-configs/laion-clap-htsat-fused"
PARAMETERS = 153_507_530
#: Bytes that the run may hold at once: 0.6 GB of weights, torch, and what reading them takes.
MEMORY = 3_000_000_000

#: Of batch norms, and of tokens: stored beside the parameters.
BUFFERS = ("running_mean", "running_var", "num_batches_tracked", "position_ids", "token_type_ids", "_index")

CLIPS = {"low": 200, "middle": 900, "high": 4000}


def dataset(folder: Path) -> Path:
    """Three clips, one of them of 12 s, of which 10 are heard."""
    (folder / "clips").mkdir(parents=True)
    (folder / "dataset.toml").write_text('name = "tones"\nlicence = "CC0-1.0"\n')
    rows = []
    for name, frequency in CLIPS.items():
        time = np.arange((12 if name == "high" else 2) * 48_000) / 48_000
        soundfile.write(folder / f"clips/{name}.wav", np.sin(2 * np.pi * frequency * time) / 2, 48_000)
        rows.append({"audio": f"clips/{name}.wav", "captions": [f"a {name} tone", f"something {name} hums"]})
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def hub_folder(folder: Path) -> Path:
    """Folder like the hub's: random weights of its config, its settings of the log-mels and of the tokenizer."""
    write_clap(folder, ClapConfig.from_pretrained(HUB), ClapFeatureExtractor.from_pretrained(HUB), seed=0)
    (folder / "processor_config.json").unlink(missing_ok=True)
    for name in ("preprocessor_config.json", "tokenizer_config.json"):
        shutil.copy(HUB / name, folder / name)
    return folder


@pytest.mark.skipif(not HUB.is_dir(), reason="needs ../shared/data/hub-configs")
def test_a_full_size_model_is_recorded_and_judged(tmp_path: Path) -> None:
    from safetensors import safe_open

    model, clips = hub_folder(tmp_path / "clap"), dataset(tmp_path / "tones")
    try:
        with safe_open(model / "model.safetensors", "pt") as weights:
            kept = [name for name in weights.keys() if not name.endswith(BUFFERS)]  # noqa: SIM118  (no mapping)
            sizes = [int(np.prod(weights.get_slice(name).get_shape())) for name in kept]
        done = [_run(tmp_path, model, clips, *more) for more in (["--retrieval-record", "new"], [])]
    finally:
        shutil.rmtree(model)
    recorded, judged = (f"{run.returncode} {run.stdout}{run.stderr}" for run in done)
    assert recorded.startswith("0 "), recorded
    assert judged.startswith("0 "), judged
    assert "10 passed" in judged
    assert judged.count("identical") == 10
    found = json.loads(next(tmp_path.glob("baselines/tones/t2a/*.json")).read_text())
    assert (found["dataset"]["clips"], found["dataset"]["queries"]) == (3, 6)
    assert found["protocol"]["dtype"] == "float32"
    assert sum(sizes) == PARAMETERS
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < MEMORY


def _run(folder: Path, model: Path, clips: Path, *more: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "--model", str(model), "--retrieval-dataset", str(clips), *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
