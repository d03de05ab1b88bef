"""``--model``, and a user's own ``--model``."""

from __future__ import annotations

import pytest

from tests.plugin.toys import Project, counts

OWN = """
def pytest_addoption(parser):
    parser.addoption("--model", default="mine", help="the user's own")
"""
SAID = "audioretrieval: another plugin or conftest.py defines --model*--retrieval-model alone"


@pytest.fixture
def own(project: Project) -> Project:
    project.pytester.makeconftest(OWN)
    project.pytester.makepyfile(
        test_own="def test_own(request):\n    assert request.config.getoption('model') == 'yes'"
    )
    return project


def test_a_users_own_model_option_works(own: Project) -> None:
    result = own.run("--model", "yes", "test_own.py")
    assert (result.ret, counts(result)) == (0, {"passed": 1})
    result.stdout.no_fnmatch_line(SAID)


def test_ours_then_answers_to_retrieval_model_and_says_so_once(own: Project) -> None:
    result = own.run("--model", "yes", "--retrieval-model", "toy:Other", "--retrieval-record", "new", ".")
    assert (result.ret, counts(result)) == (0, {"passed": 1, "recorded": 3})
    assert list(own.stored()) == ["toys/t2a/toy%3AOther.json"]
    result.stdout.fnmatch_lines([SAID])
    assert sum("another plugin or conftest.py defines --model" in line for line in result.outlines) == 1


def test_nor_does_it_stop_pytest_where_warnings_are_errors(own: Project) -> None:
    own.add_ini("filterwarnings = error")
    result = own.run("--model", "yes", "--retrieval-model", "toy:Toy", "--retrieval-record", "new", ".")
    assert (result.ret, counts(result)) == (0, {"passed": 1, "recorded": 3})


def test_the_next_command_then_names_retrieval_model(own: Project) -> None:
    result = own.run("test_toys.py")
    result.stdout.fnmatch_lines(
        ["*record one with: pytest --retrieval-model toy:Toy test_toys.py --retrieval-record new"]
    )


def test_both_names_of_the_option_add_up(project: Project) -> None:
    args = ("--collect-only", "-q", "--model", "a/b", "--retrieval-model", "c/d", "test_toys.py")
    models = {line.split("-")[1] for line in project.run(*args).outlines if "::" in line}
    assert models == {"a/b", "c/d"}
