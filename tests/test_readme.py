"""The README does what it says: its commands run, and print what is shown."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.stats.verdict import Verdict

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BUILTIN = ROOT / "pytest_audioretrieval/models/builtin"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.S)


def commands() -> list[str]:
    return [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with what the README supposes: a checkpoint of one's own and a folder of clips."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(BUILTIN / "tiny-clap-fused", folder / "my-checkpoint")
    clips = folder / "doorbells/clips"
    clips.mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines = [blocks("json")[0].strip()]
    soundfile.write(clips / "ding.wav", rng.uniform(-0.5, 0.5, 24_000), 48_000)
    for name in ("dong", "buzz"):
        soundfile.write(clips / f"{name}.wav", rng.uniform(-0.5, 0.5, 24_000), 48_000)
        lines.append(f'{{"audio": "clips/{name}.wav", "captions": ["a {name}"]}}')
    (folder / "doorbells/dataset.toml").write_text(blocks("toml")[0])
    (folder / "doorbells/captions.jsonl").write_text("\n".join(lines) + "\n")
    suite, metrics = blocks("python")
    (folder / "test_mine.py").write_text(suite)
    (folder / "mymetrics.py").write_text(metrics)
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command.partition("pytest ")[2])
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=folder, capture_output=True, text=True)


def lines(text: str) -> list[str]:
    """What it says, without rules, spacing and times."""
    plain = (" ".join(re.sub(r"=+|─+", " ", line).split()) for line in text.splitlines())
    return [re.sub(r" in \d+\.\d+s( \(\d+:\d+:\d+\))?$", "", line) for line in plain if line]


def unseen(block: str, output: str) -> str | None:
    """The first line of ``block`` that ``output`` has not, in the same order; ``...`` stands for anything."""
    printed = iter(lines(output))
    for line in lines(block):
        pattern = re.escape(line).replace(r"\.\.\.", ".*")
        if line != "..." and not any(re.fullmatch(pattern, one) for one in printed):
            return line
    return None


def test_make_targets_exist() -> None:
    makes = [command.split()[1] for command in commands() if command.startswith("make ")]
    assert makes == ["gate", "test"]
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}: " in makefile for target in makes)


def test_every_pytest_command_does_what_is_shown(project: Path) -> None:
    """One cache for all of them, so each clip is embedded once a checkpoint."""
    asked = [command for command in commands() if command.startswith(("pytest ", "python -m pytest "))]
    assert len(asked) == 9
    shown = {first[2:]: rest for first, _, rest in (block.partition("\n") for block in blocks("console"))}
    for command in asked:
        done = run(command, project)
        output = done.stdout + done.stderr
        expected = 1 if any(word in command for word in ("regressed", "brittle", "reasoning", "mymetrics")) else 0
        assert done.returncode == expected, f"{command}: exit {done.returncode}\n{output}"
        assert ("recorded" in output) == ("--retrieval-record" in command)
        # Of a block with two commands, none shows what they print.
        if "$ " not in shown.get(command, "$ "):
            line = unseen(shown[command], output)
            assert line is None, f"{command}: README shows {line!r}, which was not printed\n{output}"


def test_the_gate_shown_is_the_gate(project: Path) -> None:
    done = run("pytest --model builtin/tiny-clap-fused", project)
    gate = next(block for block in blocks("console") if block.startswith("$ make gate"))
    assert done.returncode == 0, done.stdout
    assert unseen(gate.partition("\n")[2], done.stdout) is None, done.stdout
    assert gate.count(" identical\n") == 10


def test_the_table_of_verdicts_stands_in_the_order_of_the_rules() -> None:
    """The first that fits is the one given."""
    table = README.partition("The first verdict of this table that fits is the one given:\n\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w+) \|", table, flags=re.M) == ["verdict", *Verdict]


def test_a_line_that_was_not_printed_is_seen() -> None:
    output = "==== a ====\nR@1   0.5  \n  clip: /tmp/x/1.flac\n3 failed in 2.00s\n"
    assert unseen("R@1 0.5\n...\nclip: .../1.flac\n= 3 failed in 1.10s =\n", output) is None
    assert unseen("a\nR@1 0.6\n", output) == "R@1 0.6"
    assert unseen("clip: ...flac\nR@1 0.5\n", output) == "R@1 0.5"
    assert unseen("2 failed in 2.00s", output) == "2 failed"


def test_the_suite_in_the_readme_runs(project: Path) -> None:
    done = run("pytest --model builtin/tiny-clap-fused test_mine.py", project)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
