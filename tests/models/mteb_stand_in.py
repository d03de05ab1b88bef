"""Stand-in for the package ``mteb`` (2.26.24), with the parts that the bridge uses."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FILES = {
    "__init__.py": """
        from types import SimpleNamespace
        from mteb.models.model_implementations import MODEL_REGISTRY

        def get_model_meta(name):
            if name not in MODEL_REGISTRY:
                raise KeyError(f"Model '{name}' not found in MTEB registry. Did you mean: 'nobody/else'?")
            return MODEL_REGISTRY[name]

        def get_task(name):
            return SimpleNamespace(metadata=SimpleNamespace(name=name))
    """,
    "types.py": """
        from enum import Enum
        PromptType = Enum("PromptType", "query document")
    """,
    "models/__init__.py": """
        class ModelMeta:
            def __init__(self, **fields):
                self.extra_requirements_groups, self.loader_kwargs = None, {}
                vars(self).update(fields)
    """,
    "models/model_implementations.py": "MODEL_REGISTRY = {}",
    "models/modality_collators.py": """
        class AudioCollator:
            def __init__(self, *, target_sampling_rate, max_samples=None, min_samples=None):
                self.asked = dict(
                    target_sampling_rate=target_sampling_rate, max_samples=max_samples, min_samples=min_samples
                )

            def __call__(self, rows):
                rate = self.asked["target_sampling_rate"]
                for row in rows:
                    row["audio"] = {"array": self.resample_audio(row, **self.asked), "sampling_rate": rate}
                return {key: [row[key] for row in rows] for key in rows[0]}

            @staticmethod
            def resample_audio(row, **asked):
                import torchaudio
    """,
}


def provide(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``import mteb`` find the real package, or the one above where there is none."""
    if find_spec("mteb") is not None:
        return
    for name, content in FILES.items():
        path = folder / "mteb" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        indent = "        " if content.startswith("\n") else ""
        path.write_text(content.replace(f"\n{indent}", "\n"))
    monkeypatch.syspath_prepend(folder)


def forget(folder: Path) -> None:
    """Undo ``provide``: the next import looks again."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "mteb"]:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]
