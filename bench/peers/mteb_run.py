"""mteb on clips written as WAV and their captions: ``python -m bench.peers.mteb_run MODEL DATA RESULTS``.

``DATA`` holds ``clips.json`` (id -> file) and ``captions.json`` ([id, text, right clip's id]). Clips are at the model's
rate, so that torchaudio, which mteb imports to resample and does not require, is not called: where it is absent, an
empty one stands for it.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import mteb
import soundfile
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.models.model_implementations.clap_models import ClapZeroShotWrapper


def decoded(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What a column of sounds gives: decoded as it is read."""
    if "audio" in batch:
        read = [soundfile.read(path, dtype="float32") for path in batch["audio"]]
        batch = {**batch, "audio": [{"array": samples, "sampling_rate": rate} for samples, rate in read]}
    return batch


def task(data: Path) -> AbsTaskRetrieval:
    clips: dict[str, str] = json.loads((data / "clips.json").read_text())
    captions: list[list[str]] = json.loads((data / "captions.json").read_text())

    class BuiltIn(AbsTaskRetrieval):  # type: ignore[misc]
        metadata = mteb.get_task("AudioCapsT2ARetrieval").metadata.model_copy(update={"name": "BuiltIn"})

        def load_data(self, **_: Any) -> None:
            corpus = Dataset.from_dict({"id": list(clips), "audio": list(clips.values())}).with_transform(decoded)
            queries = Dataset.from_dict({"id": [row[0] for row in captions], "text": [row[1] for row in captions]})
            right = {name: {clip: 1} for name, _, clip in captions}
            parts = {"queries": queries, "corpus": corpus, "relevant_docs": right, "top_ranked": None}
            self.dataset = {"default": {"test": parts}}
            self.data_loaded = True

    return BuiltIn()


def main(model: str, data: Path, results: Path) -> None:
    class Tiny(ClapZeroShotWrapper):  # type: ignore[misc]
        def __init__(self, name: str, revision: str, **more: Any) -> None:
            super().__init__(model, None, **more)
            # Only now: libraries that look for it while they load are to see that it is not there.
            if find_spec("torchaudio") is None:
                sys.modules["torchaudio"] = ModuleType("torchaudio")

    known = mteb.get_model_meta("laion/clap-htsat-fused")
    # Loaded here, because mteb's own loading refuses where torchaudio is not installed.
    tiny = Tiny("builtin/tiny", "")
    tiny.mteb_model_meta = known.model_copy(update={"name": "builtin/tiny"})
    found = mteb.evaluate(tiny, task(data), cache=mteb.ResultCache(results), show_progress_bar=False)
    print(found.task_results[0].scores["test"][0]["hit_rate_at_1"])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
