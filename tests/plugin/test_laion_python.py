"""Where laion_clap's environment is, said on the command line or in the ini file, reaches the backend."""

from __future__ import annotations

import os

import pytest

from pytest_audioretrieval.models.laion import LAION_PYTHON
from tests.plugin.toys import Project


def test_the_option_and_its_ini_twin(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for before in ("before", "/from/the/user"):
        monkeypatch.setenv(LAION_PYTHON, before)
        project.pytester.inline_run("--collect-only")
        assert os.environ[LAION_PYTHON] == before
    project.add_ini("retrieval_laion_python = env/bin/python")
    project.pytester.inline_run("--collect-only")
    assert os.environ[LAION_PYTHON] == str(project.path / "env/bin/python")
    project.pytester.inline_run("--collect-only", "--retrieval-laion-python", "/other/python")
    assert os.environ[LAION_PYTHON] == "/other/python"
