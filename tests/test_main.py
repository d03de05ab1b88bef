"""The command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from pytest_audioretrieval.__main__ import main
from pytest_audioretrieval.base.registered import COMMANDS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("arguments", [["pins", "list"], ["doctor", "--model", "builtin/tiny-clap-fused"]])
def test_a_reader_that_leaves_ends_it_without_a_word(arguments: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "pytest_audioretrieval", *arguments]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, "")


def modules_after(*arguments: str) -> set[str]:
    """Modules of this package that a command has imported, in a process of its own."""
    code = (
        "import sys; from pytest_audioretrieval.__main__ import main; code = main(sys.argv[1:])\n"
        "print('MODULES', *(name for name in sys.modules if name.startswith('pytest_audioretrieval.')))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("MODULES "))
    return set(line.split()[1:])


def test_a_command_of_the_package_imports_no_paper() -> None:
    assert not {name for name in modules_after("pins", "list") if name.startswith("pytest_audioretrieval.benchmarks")}


def test_a_command_of_another_package_that_is_broken_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    point = EntryPoint("broken", "nosuch_module_at_all:register", COMMANDS)
    monkeypatch.setattr("pytest_audioretrieval.__main__.registered", lambda group, own: {"broken": point})
    with pytest.raises(SystemExit) as caught:
        main(["nothing"])
    assert caught.value.code == 2
    warned, refused = capsys.readouterr().err.splitlines()
    assert warned.startswith(
        "warning: command 'broken' (nosuch_module_at_all:register) cannot be loaded: No module named"
    )
    assert "invalid choice: 'nothing'" in refused
