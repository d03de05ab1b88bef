"""The command as a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("arguments", [["pins", "list"], ["doctor", "--model", "builtin/tiny-clap-fused"]])
def test_a_reader_that_leaves_ends_it_without_a_word(arguments: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "pytest_audioretrieval", *arguments]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, "")
