"""The command ``python -m pytest_audioretrieval binding`` on constant sounds, with models that cost nothing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.__main__ import main
from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.data import registry
from pytest_audioretrieval.data.types import Clip, Dataset
from tests.benchmarks.masb.analyses.toy_models import dataset, mirror, rewording, swap
from tests.plugin.toys import write_clips

MODELS = """
import hashlib
import numpy as np

def hashed(text):
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=8)

def unit(rows):
    rows = np.stack(rows)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

class Toy:
    device, text_limit = "cpu", 77

    def __init__(self, *, device):
        pass

    def embed_audio(self, windows, protocol):
        return unit([hashed(str(float(window.mean()))) for window in windows])

    def embed_text(self, texts, protocol):
        return unit([hashed(text) for text in texts])

    def count_cut(self, texts, protocol):
        return 0

class Scorer:
    '''Likes longer texts, whatever it hears, and what stands first.'''
    device = "cpu"

    def __init__(self, *, device):
        pass

    def score(self, windows, texts, protocol):
        return np.array([len(text) / 100 for text in texts], dtype=np.float32)

    def prefer(self, first, second):
        found = [0.625 + 0.25 * np.sign(len(a) - len(b)) for a, b in zip(first, second)]
        return np.array(found, dtype=np.float32)
"""
TITLES = [
    "Experiment 1: swap accuracy (MASB, Figure 2)",
    "Experiment 2: text-only prior (MASB, Experiment 2)",
    "Experiment 2: with audio and without (MASB, Experiment 2, Figure 3)",
    "Experiment 3: text distances (MASB, Figure 4)",
    "Experiment 4: mirror pairs (MASB, Table 1)",
    "Experiment 4: both comparisons of each mirror pair",
]


def sound(level: float) -> Waveform:
    return Waveform(samples=np.full((480, 1), level, dtype=np.float32), rate=48_000)


def built() -> Dataset:
    swaps = [swap(n, "order" if n < 9 else "role", f"pair {n // 2}") for n in range(12)]
    texts = [rewording(n, "order", cluster=f"r{n // 2}", recording=f"r{n}") for n in range(6)]
    made = dataset([*swaps, *(choice for n in range(5) for choice in mirror(n))], texts, notes={"odd clips": 2})
    clips = [
        Clip(clip.id, hashlib.sha256(clip.id.encode()).hexdigest(), partial(sound, (n + 1) / 64))
        for n, clip in enumerate(made.clips)
    ]
    return replace(made, clips=tuple(clips))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "binding_toys.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "registered", lambda group, own=frozenset(): {})
    monkeypatch.setitem(registry._OWN, "binding", registry.Source("binding", lambda loading: built()))
    return tmp_path


def strict(text: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return found


def test_tables_are_printed_and_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["binding_toys:Toy", "binding_toys:Scorer", "--json", "out/b.json", "--cache", "kept", "--device", "cpu"]
    assert main(["binding", *given]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    lines = output.out.splitlines()
    assert lines[0] == "toy: 22 clips, 22 choices (9 order, 3 role, 10 mirror-order), 6 rewordings, 2 odd clips"
    assert [line for line in lines if line.startswith("Experiment")] == TITLES
    assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in lines), "a column is cut"
    content = strict((project / "out/b.json").read_text())
    assert list(content) == ["schema", "prior", "models", "datasets", "protocol", "environment", "tables"]
    assert (content["schema"], content["prior"]) == ("pytest-audioretrieval/binding/1", None)
    assert [model["id"] for model in content["models"]] == ["binding_toys:Toy", "binding_toys:Scorer"]
    (data,) = content["datasets"]
    assert (data["clips"], data["choices"], data["rewordings"], data["notes"]) == (22, 22, 6, {"odd clips": 2})
    tables = {table["title"]: table for table in content["tables"]}
    assert list(tables) == TITLES
    assert all(table["rows"] for table in tables.values())
    labels = [{row[1] for row in tables[title]["rows"]} for title in (TITLES[0], TITLES[4], TITLES[5])]
    assert labels == [{"order", "role", "all"}, {"mirror-order", "all"}, {"mirror-order", "all"}]
    assert all(len(row) == len(table["columns"]) for table in tables.values() for row in table["rows"])


def cell(content: dict[str, Any], title: str, labels: tuple[str, ...], name: str) -> Any:
    (table,) = (table for table in content["tables"] if table["title"] == title)
    (row,) = (row for row in table["rows"] if tuple(row[: len(labels)]) == labels)
    return row[table["columns"].index(name)]


def test_a_prior_for_a_model_that_embeds(project: Path) -> None:
    assert main(["binding", "binding_toys:Toy", "--prior", "binding_toys:Scorer", "--json", "b.json"]) == 0
    content = strict((project / "b.json").read_text())
    assert content["prior"] == {"id": "binding_toys:Scorer", "revision": None, "weights_sha256": ""}
    assert [model["id"] for model in content["models"]] == ["binding_toys:Toy"]
    # "right N" and "wrong N" are equally long, and .625 for what stands first cancels out.
    scorer = ("binding_toys:Scorer", "order")
    assert cell(content, TITLES[1], scorer, "accuracy") == 0.5
    assert cell(content, TITLES[1], scorer, "ties") == 9
    assert cell(content, TITLES[1], scorer, "position bias") == 0.25
    toy = ("binding_toys:Toy", "binding_toys:Scorer", "all")
    assert cell(content, TITLES[2], toy, "kappa") == 0
    assert cell(content, TITLES[2], toy, "prior-balanced") is None


def test_a_dataset_of_captions_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_clips(project / "toys", clips=2)
    assert main(["binding", "binding_toys:Toy", "--dataset", "toys", "--json", "b.json"]) == 0
    tables = strict((project / "b.json").read_text())["tables"]
    assert [table["note"].partition(":")[0] for table in tables] == ["does not apply"] * 6
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "toys: 2 clips, 0 choices, 0 rewordings"
    assert sum(line.startswith("does not apply: ") for line in lines) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: SPEC"),
        (["builtin/nothing"], "no built-in model 'nothing'"),
        (["binding_toys:Toy", "--dataset", "bindin"], "did you mean 'binding'?"),
        (["binding_toys:Toy", "binding_toys:Toy"], "two models are called 'binding_toys:Toy'"),
        (
            ["binding_toys:Toy", "--prior", "binding_toys:Toy"],
            "--prior binding_toys:Toy embeds texts, expected a pair scorer, which can choose between",
        ),
        (["binding_toys:Toy", "--prior", ""], "model '' is empty"),
        (
            ["fusion:avg-z(binding_toys:Toy,binding_toys:Scorer)"],
            "has no vectors and no scores of pairs: name one of its parts",
        ),
        (["binding_toys:Toy", "--device", "../gpu"], "'../gpu': expected auto, cpu, cuda, cuda:N or mps"),
        (["binding_toys:Toy", "--json", "binding_toys.py/x"], "--json binding_toys.py/x was not written"),
        (["binding_toys:Nothing"], "binding_toys:Nothing"),
    ],
)
def test_an_error_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["binding", *arguments])
    except SystemExit as stopped:
        code = stopped.code  # type: ignore[assignment]
    output = capsys.readouterr()
    assert (code, output.err.count("\n")) == (2, 1)
    assert output.err.startswith("python -m pytest_audioretrieval")
    assert message in output.err
    assert "Experiment" not in output.out


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line_each(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    loud = replace(built(), clips=tuple(replace(clip, read=partial(sound, 2.0)) for clip in built().clips))
    monkeypatch.setitem(registry._OWN, "binding", registry.Source("binding", lambda loading: loud))
    assert main(["binding", "binding_toys:Toy"]) == 0
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("warning: ")
