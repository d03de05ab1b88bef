"""Script that writes the pins of shipped checkpoints and datasets.

    python tools/pin_builtin.py

Run it after training a checkpoint or changing a recipe, and look at the difference: every baseline recorded
on a changed checkpoint or dataset has to be recorded again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pytest_audioretrieval.benchmarks.masb.builtin import recipe as binding
from pytest_audioretrieval.benchmarks.masb.builtin.dataset import load_binding
from pytest_audioretrieval.benchmarks.reasonaudio.builtin.dataset import load_reasoning
from pytest_audioretrieval.benchmarks.reasonaudio.corpus import layout
from pytest_audioretrieval.data.sounds import recipe as sounds
from pytest_audioretrieval.data.sounds.dataset import load_sounds, load_sounds_single
from pytest_audioretrieval.models.registry import deciding_files
from pytest_audioretrieval.pinning.spec import BUILTIN, builtin_names

PINS = Path(__file__).parents[1] / "PINS.json"


def main() -> None:
    pins = json.loads(PINS.read_text(encoding="utf-8"))
    for name in builtin_names():
        pins["models"][f"builtin/{name}"] = {"revision": None, "files": deciding_files(BUILTIN / name)}
    for name, revision, load in (
        ("binding", binding.REVISION, load_binding),
        ("reasoning", layout.REVISION, load_reasoning),
        ("sounds", sounds.REVISION, load_sounds),
        ("sounds-single", sounds.REVISION, load_sounds_single),
    ):
        pins["datasets"][f"builtin/{name}"] = {"revision": revision, "fingerprint": load(None).fingerprint}
    PINS.write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{PINS.name}: sha256 {hashlib.sha256(PINS.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
