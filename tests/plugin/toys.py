"""A model that costs nothing, clips it can tell apart, and a project that uses them.

Heavy modules are imported here, once: pytester forgets what an inner run imports, and numpy and torch load only once a
process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest
import soundfile

import pytest_audioretrieval

#: Slow to import, and needed by no test here.
SLOW = "transformers"


def _import_package() -> None:
    """Import every module of the package but those that need ``SLOW``, at their top or through another module."""
    absent = SLOW not in sys.modules
    if absent:
        sys.modules[SLOW] = None  # type: ignore[assignment]  # its import is a ModuleNotFoundError now
    try:
        for module in walk_packages(pytest_audioretrieval.__path__, "pytest_audioretrieval."):
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:
                if error.name != SLOW:
                    raise
    finally:
        if absent:
            del sys.modules[SLOW]


_import_package()
for _name in ("rich.console", "rich.table", "rich.text", "rich.box", "torch", "tqdm"):
    import_module(_name)

CLIPS = 40
CAPTIONS = 2
SPEC = "toy:Toy"

#: The captions of the first ``TOY_WRONG`` clips point to the next clip; ``TOY_LOG`` gets a line per load and batch.
MODEL = """
import hashlib, os, re
from pathlib import Path
import numpy as np

WRONG = int(os.environ.get("TOY_WRONG", "0"))

def hashed(text):
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=32)

def unit(rows):
    rows = np.stack(rows)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

def log(line):
    if "TOY_LOG" in os.environ:
        with Path(os.environ["TOY_LOG"]).open("a") as stream:
            stream.write(line + "\\n")

class Toy:
    device, text_limit = "cpu", 77

    def __init__(self, *, device):
        log("load")

    def embed_audio(self, windows, protocol):
        log(f"audio {len(windows)}")
        return unit([hashed(f"clip {round(float(w.mean()) * 64)}") for w in windows])

    def embed_text(self, texts, protocol):
        log(f"text {len(texts)}")
        numbers = [int(re.search(r"[0-9]+", text).group()) for text in texts]
        return unit([hashed(f"clip {n + (n <= WRONG)}") + 0.1 * hashed(t) for n, t in zip(numbers, texts)])

    def count_cut(self, texts, protocol):
        return 0

class Other(Toy):
    pass
"""

SUITE = """
import pytest
from pytest_audioretrieval.metrics import hit_rate, margin

@pytest.mark.retrieval(directions=["t2a"])
@pytest.mark.parametrize("metric", [hit_rate(1), hit_rate(5), hit_rate(10)], ids=str)
def test_not_inferior(gate, metric):
    gate.non_inferior(metric, margin=0.03)
"""

#: One claim on one metric, to be filled in.
CLAIM = """
import pytest
from pytest_audioretrieval import metrics

@pytest.mark.retrieval(directions=["t2a"])
def test_claim(gate):
    gate.{claim}
"""

INI = """
[pytest]
pythonpath = .
addopts = -p no:benchmark -p no:hypothesispytest
retrieval_model = toy:Toy
retrieval_dataset = {clips}
"""


def write_clips(folder: Path, names: Sequence[str] | None = None, *, name: str = "toys", clips: int = CLIPS) -> Path:
    """Clip ``n`` holds ``n / 64`` throughout, its captions say ``n``; ``names`` replace the first caption of each."""
    (folder / "clips").mkdir(parents=True)
    (folder / "dataset.toml").write_text(f'name = "{name}"\nlicence = "CC0-1.0"\n')
    lines = []
    for number in range(1, clips + 1):
        soundfile.write(folder / f"clips/{number:02}.wav", np.full(480, number / 64), 48_000, subtype="PCM_16")
        texts = [f"tone {number}, wording {i}" for i in range(CAPTIONS)]
        texts = [names[number - 1], *texts[1:]] if names and number <= len(names) else texts
        lines.append(json.dumps({"audio": f"clips/{number:02}.wav", "captions": texts}))
    (folder / "captions.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def skip_without_xdist(args: Sequence[str]) -> None:
    """Skip a test that asks for several processes where pytest-xdist is not installed."""
    if find_spec("xdist") is None and any(re.match(r"-n\d", one) for one in args):
        pytest.skip("needs pytest-xdist")


class Project:
    """A user's project: the toy model, a suite, an ini file; baselines lie in its ``baselines/``."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, clips: Path) -> None:
        self.pytester, self.monkeypatch = pytester, monkeypatch
        self.path = pytester.path
        self.log = self.path / "toy.log"
        monkeypatch.setenv("TOY_LOG", str(self.log))
        monkeypatch.delenv("TOY_WRONG", raising=False)
        pytester.makepyfile(toy=MODEL, test_toys=SUITE)
        self.ini(clips=clips)

    def ini(self, *lines: str, clips: Path) -> None:
        self.pytester.makeini("\n".join([INI.format(clips=clips), *lines]))

    def add_ini(self, *lines: str) -> None:
        path = self.path / "tox.ini"
        path.write_text("\n".join([path.read_text(), *lines]))

    def wrong(self, clips: int) -> None:
        """From now on the model mistakes the first ``clips`` clips."""
        self.monkeypatch.setenv("TOY_WRONG", str(clips))

    def run(self, *args: str, **keywords: object) -> pytest.RunResult:
        """pytest, in this process."""
        skip_without_xdist(args)
        return self.pytester.runpytest_inprocess(*args, **keywords)  # type: ignore[arg-type]

    def process(self, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """pytest, in a process of its own, its output in pipes."""
        skip_without_xdist(args)
        return subprocess.run(
            [sys.executable, "-m", "pytest", *args],
            cwd=self.path,
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )

    def record(self, *args: str) -> None:
        """Store the model's run as it is now."""
        done = self.run("--retrieval-record", "all", *args)
        assert done.ret == 0, done.outlines

    def record_once(self, kept: Path, *args: str) -> None:
        """Store the run that lies in ``kept``, where the first test to want it puts it."""
        if not kept.exists():
            self.record(*args)
            shutil.copytree(self.path / "baselines", kept)
        shutil.copytree(kept, self.path / "baselines", dirs_exist_ok=True)

    def claim(self, claim: str) -> None:
        """Let the suite be one test that makes this claim."""
        self.pytester.makepyfile(test_toys=CLAIM.format(claim=claim))

    def logged(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def stored(self) -> dict[str, bytes]:
        """Every file under ``baselines/``, by path."""
        root = self.path / "baselines"
        return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def failed(lines: list[str]) -> list[str]:
    """Names of the tests that pytest's summary lists as failed."""
    return sorted(line.split(" ")[1].partition("::")[2] for line in lines if line.startswith("FAILED "))


def counts(result: pytest.RunResult | subprocess.CompletedProcess[str]) -> dict[str, int]:
    """``{"passed": 2, "recorded": 1}`` from pytest's last line."""
    lines = result.stdout.splitlines() if isinstance(result, subprocess.CompletedProcess) else result.outlines
    last = next(line for line in reversed(lines) if re.search(r" in [\d.]+s", line))
    return {what: int(number) for number, what in re.findall(r"(\d+) ([a-z]+)", last.split(" in ")[0])}


def errors(result: pytest.RunResult) -> list[str]:
    """The lines in which pytest refuses to start."""
    return [line for line in (*result.errlines, *result.outlines) if line.startswith("ERROR: ")]


def has_traceback(result: pytest.RunResult) -> bool:
    """Whether a user sees code where one line should be."""
    signs = re.compile(r"Traceback|INTERNALERROR|\.py:\d+: (in |\w+Error)")
    return any(signs.search(line) for line in (*result.errlines, *result.outlines))
