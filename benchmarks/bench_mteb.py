"""The gate, cold and warm, against mteb on the same checkpoint, clips and captions.

    python -m benchmarks.bench_mteb

Processor time of whole processes, imports included: what somebody waits for who asks whether a checkpoint got worse.
Our gate renders its clips and judges both directions and five metrics; mteb is given WAV files and one direction. It
keeps scores, not vectors: its second run either embeds all anew or hands out the scores of the first.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import soundfile

import pytest_audioretrieval
from benchmarks.table import ROOT, Row, as_json, elsewhere, interpreter, show
from pytest_audioretrieval import load_dataset

MODEL, DATASET = "builtin/tiny-clap-fused", "sounds"
WEIGHTS = Path(pytest_audioretrieval.__file__).parent / "models" / MODEL
COLD, WARM = "cold gate, built-in clips, tiny fused model", "warm gate"


def processor_seconds(command: list[str], folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-1500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def export(folder: Path) -> int:
    """The built-in clips as WAV, and their captions."""
    dataset, paths = load_dataset(DATASET), {}
    for number, clip in enumerate(dataset.clips):
        wave, paths[clip.id] = clip.read(), str(folder / f"{number}.wav")
        soundfile.write(paths[clip.id], wave.samples[:, 0], wave.rate, subtype="FLOAT")
    (folder / "clips.json").write_text(json.dumps(paths))
    (folder / "captions.json").write_text(json.dumps([[c.id, c.text, c.clip] for c in dataset.captions]))
    return len(dataset.clips)


def measured() -> list[Row]:
    """Both in the environment of this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        clips = export(folder / "data")
        gate = [sys.executable, "-m", "pytest", "-q", "--model", MODEL, "--retrieval-dataset", DATASET]
        own = [sys.executable, "-m", "benchmarks.peers.mteb_run", str(WEIGHTS), str(folder / "data"), str(folder / "r")]
        cold, warm = processor_seconds(gate, folder), processor_seconds(gate, folder)
        print(cold, warm, file=sys.stderr, flush=True)
        theirs, again = processor_seconds(own, folder), processor_seconds(own, folder)
    note = f"{{:.1f}} s against {{:.1f}} s, {clips} clips"
    return [
        Row(COLD, "mteb", theirs / cold, at_least=3.0, note=note.format(cold, theirs)),
        Row(WARM, "mteb again, vectors anew", theirs / warm, at_least=50.0, note=note.format(warm, theirs)),
        Row(WARM, "mteb again, scores stored", again / warm, note=note.format(warm, again)),
    ]


def rows() -> list[Row]:
    python = interpreter("mteb", "mteb")
    if python is None:
        missing = "not installed: make mteb"
        return [Row(COLD, "mteb", at_least=3.0, note=missing), Row(WARM, "mteb again", at_least=50.0, note=missing)]
    return elsewhere(python, "benchmarks.bench_mteb")


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(as_json(measured()))
    else:
        show(rows())
