"""One run of ``doctor``, in a process of its own, and what it said."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.plugin.toys import Project

#: Ends by saying whether torch was imported.
PROBE = """
import sys
from pytest_audioretrieval.__main__ import main
code = main(["doctor", *sys.argv[1:]])
print("TORCH", "torch" in sys.modules)
raise SystemExit(code)
"""

Report = dict[tuple[str, str], tuple[str, str]]


class Told:
    """What one run of it said: (what, name) -> (state, found), and (what, name) -> what is next."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.error = done.returncode, done.stderr.strip()
        lines = done.stdout.splitlines()
        self.torch = "TORCH True" in lines
        self.last = lines[-2] if len(lines) > 1 else ""
        cells = [re.split(r"  +", line, maxsplit=3) for line in lines if re.search(r"  (ok|missing)  ", line)]
        self.rows: Report = {(what, name): (state, found) for what, name, state, found in cells}
        told = (line.removeprefix("next, ").partition(": ") for line in lines if line.startswith("next, "))
        self.next = {tuple(who.split(" ", 1)): then for who, _, then in told}


def doctor(project: Project, *arguments: str) -> Told:
    return Told(
        subprocess.run(
            [sys.executable, "-c", PROBE, *arguments], cwd=project.path, capture_output=True, text=True, timeout=60
        )
    )
