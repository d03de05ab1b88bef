"""The gate, cold and warm, against mteb on the same checkpoint, clips and captions.

    python -m bench.bench_mteb

Processor time of whole processes, imports included, each on one thread; and, on the clock and with as many threads as
each library takes by itself, what somebody waits for who asks whether a checkpoint got worse.
Both get the same WAV files; the gate judges two directions and five metrics, mteb scores one direction. mteb keeps
scores, not vectors: its second run either embeds all anew or hands out the scores of the first.

What cannot be saved is measured too: an empty test of the same pytest, and importing CLAP and its forward passes alone.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from time import perf_counter

import soundfile

import pytest_audioretrieval
from bench import table
from bench.bench_gate import OTHERS
from bench.table import ROOT, Row, as_json, elsewhere, interpreter, show
from pytest_audioretrieval import load_dataset

MODEL, CLIPS, WARM_TAKES = "builtin/tiny-clap-fused", 300, 3
WEIGHTS = Path(pytest_audioretrieval.__file__).parent / "models" / MODEL
COLD, WARM = f"cold gate, {CLIPS} built-in clips, tiny fused model", "warm gate"
FORWARD = """
import sys
from pytest_audioretrieval.models.registry import describe, load
from pytest_audioretrieval.pinning.spec import parse
spec = parse(sys.argv[1])
model = load(spec, describe(spec, offline=True, allow_unpinned=False), device="cpu").model
import torch
with torch.inference_mode():
    for _ in range(int(sys.argv[2])):
        model.get_audio_features(input_features=torch.zeros(1, 1, 1001, 64), is_longer=torch.tensor([[False]]))
"""


QUIET = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}


def processor_seconds(command: list[str], folder: Path) -> float:
    return table.processor_seconds(command, folder, os.environ | QUIET)


def clock_seconds(command: list[str], folder: Path) -> float:
    started = perf_counter()
    table.processor_seconds(command, folder, table.own_threads(os.environ) | QUIET)
    return perf_counter() - started


def export(folder: Path) -> None:
    """The first built-in clips as WAV, their captions, and both as a dataset folder of ours."""
    dataset, paths = load_dataset("sounds"), {}
    for number, clip in enumerate(dataset.clips[:CLIPS]):
        wave, paths[clip.id] = clip.read(), str(folder / f"{number}.wav")
        soundfile.write(paths[clip.id], wave.samples[:, 0], wave.rate, subtype="FLOAT")
    captions = [caption for caption in dataset.captions if caption.clip in paths]
    (folder / "clips.json").write_text(json.dumps(paths))
    (folder / "captions.json").write_text(json.dumps([[c.id, c.text, c.clip] for c in captions]))
    (folder / "dataset.toml").write_text('name = "three-hundred"\nlicence = "see the built-in dataset"\n')
    with (folder / "captions.jsonl").open("w") as lines:
        for clip, its in groupby(captions, lambda caption: caption.clip):
            row = {"id": clip, "audio": Path(paths[clip]).name, "captions": [caption.text for caption in its]}
            print(json.dumps(row), file=lines)


def gates(folder: Path) -> tuple[float, float, float, float]:
    """Seconds of the cold gate, of the warm one, of an empty test, and of the cold gate on the clock."""
    (folder / "test_empty.py").write_text("def test_empty():\n    pass\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    pytest = [sys.executable, "-m", "pytest", "-q", *OTHERS]
    gate = [*pytest, "--model", MODEL, "--retrieval-suite", "captions", "--retrieval-dataset", "data"]
    processor_seconds([*gate, "--retrieval-record", "new", "--retrieval-cache", "elsewhere"], folder)
    cold = processor_seconds(gate, folder)
    warm = min(processor_seconds(gate, folder) for _ in range(WARM_TAKES))
    empty = min(processor_seconds([*pytest, "test_empty.py"], folder) for _ in range(WARM_TAKES))
    return cold, warm, empty, clock_seconds([*gate, "--retrieval-cache", "third"], folder)


def measured() -> list[Row]:
    """Both in the environment of this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        export(folder / "data")
        cold, warm, empty, waited = gates(folder)
        own = [sys.executable, "-m", "bench.peers.mteb_run", str(WEIGHTS), str(folder / "data")]
        theirs, again = (processor_seconds([*own, str(folder / "r")], folder) for _ in range(2))
        waited_theirs = clock_seconds([*own, str(folder / "r2")], folder)
        bare = processor_seconds([sys.executable, "-c", FORWARD, MODEL, f"{CLIPS}"], folder)
    note = "{:.1f} s against {:.1f} s"
    return [
        Row(COLD, "mteb", theirs / cold, at_least=3.0, note=note.format(cold, theirs)),
        Row(
            "  the same, on the clock, threads as they come",
            "mteb",
            waited_theirs / waited,
            note=note.format(waited, waited_theirs),
        ),
        Row("  imports and forward passes alone", "mteb", theirs / bare, note=note.format(bare, theirs)),
        Row(WARM, "mteb again, vectors anew", theirs / warm, at_least=50.0, note=note.format(warm, theirs)),
        Row(WARM, "mteb again, scores stored", again / warm, note=note.format(warm, again)),
        Row("  an empty test", "mteb again, vectors anew", theirs / empty, note=note.format(empty, theirs)),
    ]


def rows() -> list[Row]:
    python = interpreter("mteb", "mteb")
    if python is None:
        missing = "not installed: make mteb"
        return [Row(COLD, "mteb", at_least=3.0, note=missing), Row(WARM, "mteb again", at_least=50.0, note=missing)]
    return elsewhere(python, "bench.bench_mteb")


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(as_json(measured()))
    else:
        sys.exit(show(rows()))
