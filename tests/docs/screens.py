"""Commands and screens of a page: found, run in a project of their own, and compared with what is printed.

A block in ``console`` holds commands, a line each after ``$ ``, and below each of them what it prints; ``...`` stands
for anything. Every such command is run. Commands that are not run here stand in blocks in ``sh``. A comment
``<!-- file: NAME -->`` says that the next block is a file of the project, under that name.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

ROOT = Path(__file__).parents[2]
BUILTIN = ROOT / "pytest_audioretrieval/models/builtin"
STORE = ".pytest_cache/d/audioretrieval"

#: Recipes of the Makefile, as far as a page shows what they print.
MAKE = {"make gate": "pytest --model builtin/tiny-clap-fused"}
#: Variables of whoever runs these tests that pytest or the plugin would heed.
FOREIGN = ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "GITHUB_STEP_SUMMARY", "HF_HUB_OFFLINE", "COLUMNS")


class Screen(NamedTuple):
    """A command and the text that a page shows below it, which may be empty."""

    command: str
    shown: str

    @property
    def exit_code(self) -> int:
        """The exit code that fits what is shown."""
        return 1 if re.search(r"^\W*\d+ failed", self.shown, flags=re.M) else 0


def blocks(page: str, language: str) -> list[str]:
    """Return the texts of all blocks in ``language``."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.S | re.M)


def screens(page: str) -> list[Screen]:
    """Return all commands of a page, in order."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            found.append(Screen(command, shown))
    return found


def files(page: str) -> dict[str, str]:
    """Return the files that a page shows, by name."""
    return dict(re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```", page, flags=re.S | re.M))


def make_project(folder: Path, page: str) -> None:
    """Write into ``folder`` what every page supposes, a checkpoint and three sounds, and the files it shows."""
    shutil.copytree(BUILTIN / "tiny-clap-fused", folder / "my-checkpoint")
    clips = folder / "doorbells/clips"
    clips.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("ding", "dong", "buzz"):
        soundfile.write(clips / f"{name}.wav", rng.uniform(-0.5, 0.5, 24_000), 48_000)
    for name, text in files(page).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as the page shows it, with the programs of the Python that runs the tests."""
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    programs = str(Path(sys.executable).parent)
    environment |= {"PATH": programs + os.pathsep + os.environ.get("PATH", ""), "OMP_NUM_THREADS": "1"}
    words = shlex.split(MAKE.get(command, command))
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def lines(text: str) -> list[str]:
    """Return the lines of a screen without rules, spacing, empty lines and times."""
    plain = (" ".join(re.sub(r"=+|─+", " ", line).split()) for line in text.splitlines())
    return [re.sub(r" in \d+\.\d+s( \(\d+:\d+:\d+\))?$", "", line) for line in plain if line]


def unseen(shown: str, output: str) -> str | None:
    """Return the first line of ``shown`` that ``output`` lacks, in the same order; None where it has all."""
    printed = iter(lines(output))
    for line in lines(shown):
        pattern = re.escape(line).replace(r"\.\.\.", ".*")
        if line != "..." and not any(re.fullmatch(pattern, one) for one in printed):
            return line
    return None


def differences(page: str, folder: Path) -> Iterator[str]:
    """Run every command of a page in ``folder`` and yield, a text each, how one differs from what is shown."""
    for screen in screens(page):
        done = run(screen.command, folder)
        output = done.stdout + done.stderr
        if done.returncode != screen.exit_code:
            yield f"{screen.command}: exit code {done.returncode}, expected {screen.exit_code}\n{output}"
        elif (line := unseen(screen.shown, output)) is not None:
            yield f"{screen.command}: the page shows {line!r}, which was not printed\n{output}"
