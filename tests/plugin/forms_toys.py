"""A toy model and captions whose reformulations can be led astray one form at a time."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_audioretrieval.data.forms import FORMS
from tests.plugin.toys import CAPTIONS, CLIPS, Project, write_clips

SPEC = "asked:Asked"
STORED = "toys/forms/asked%3AAsked.json"

#: Clip n is axis n; a text about it leans to that axis by 0.6. ``ASTRAY="FORM:away"`` takes that from texts of a form,
#: ``"FORM:rival"`` adds 0.7 of the next clip's axis; ``"tone"`` stands for the captions themselves.
MODEL = """
import os, re
import numpy as np
from toy import Toy, hashed, unit

SIZE = 64
FORM, _, WAY = os.environ.get("ASTRAY", "").partition(":")

def axis(number):
    return np.eye(SIZE)[number]

class Asked(Toy):
    def embed_audio(self, windows, protocol):
        return unit([axis(round(float(w.mean()) * 64)) for w in windows])

    def embed_text(self, texts, protocol):
        return unit([self.one(text) for text in texts])

    def one(self, text):
        number = int(re.search(r"[0-9]+", text).group())
        astray = WAY if FORM and text.startswith(FORM) else ""
        own = 0 if astray == "away" else 0.6
        pulled = 0.7 * axis(1 + number % {clips}) if astray == "rival" else 0
        noise = np.tile(hashed(text), 2) * 0.01
        length = np.linalg.norm(own * axis(number) + pulled + noise)
        # Axis 0 is no clip's: it takes up what is left, so that only what was said above changes.
        return own * axis(number) + pulled + noise + axis(0) * max(0, 1 - length**2) ** 0.5

class Other(Asked):
    pass
""".replace("{clips}", str(CLIPS))

SUITE = """
import pytest
from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.metrics import form_hit_rate, hit_rate, rank_loss, rank_spread, tbmd, worst_hit_rate

@pytest.mark.retrieval(directions=["forms"])
@pytest.mark.parametrize("metric", [hit_rate(1), *(form_hit_rate(f, 1) for f in FORMS), worst_hit_rate(1)], ids=str)
def test_found(gate, metric):
    gate.non_inferior(metric, margin=0.03)
"""


def write_forms(folder: Path, **reworded: str) -> Path:
    """The clips of ``toys`` with forms, "FORM of tone N, wording I"; ``reworded`` replaces the word of a form."""
    write_clips(folder)
    lines = []
    for number in range(1, CLIPS + 1):
        texts = [f"tone {number}, wording {i}" for i in range(CAPTIONS)]
        forms = {form: [f"{reworded.get(form, form)} of {text}" for text in texts] for form in FORMS}
        lines.append(json.dumps({"audio": f"clips/{number:02}.wav", "captions": texts, "forms": forms}))
    (folder / "captions.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def use(project: Project, clips: Path) -> Project:
    """Let ``project`` ask in forms."""
    project.monkeypatch.delenv("ASTRAY", raising=False)
    project.pytester.makepyfile(asked=MODEL, test_toys=SUITE)
    project.ini(clips=clips)
    ini = project.path / "tox.ini"
    ini.write_text(ini.read_text().replace("retrieval_model = toy:Toy", f"retrieval_model = {SPEC}"))
    return project
