"""``--retrieval-suite properties``: the catalogue on this package's or a user's own functions."""

from __future__ import annotations

import pytest

from pytest_audioretrieval.testing.properties import CATALOGUE
from tests.plugin.toys import counts, has_traceback

pytestmark = pytest.mark.slow

#: Ranks as they are written down; ``recall`` is wrong where several candidates are relevant.
MINE = """
import numpy as np

class Metrics:
    def __init__(self, works=True):
        self.works = works

    def ranks(self, scores):
        if not np.isfinite(scores).all():
            raise ValueError("not finite")
        return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) + 1

    def recall(self, scores, relevant, k):
        hits = [(row[part] <= k) for row, part in zip(self.ranks(scores), relevant)]
        return np.array([(row.mean() if self.works else row.any()) for row in hits])

right, wrong, nothing = Metrics(), Metrics(works=False), object()
"""

#: Four properties, one of which needs ``hit_rate``; all of them are checked in tests/testing.
SOME = "recall-follows or recall-grows or each-once or recall-of-one"


@pytest.fixture
def empty(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with no test; other plugins only cost time."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:benchmark -p no:hypothesispytest -p no:cacheprovider")
    monkeypatch.syspath_prepend(pytester.path)
    return pytester


@pytest.fixture
def mine(empty: pytest.Pytester) -> pytest.Pytester:
    empty.makepyfile(mine=MINE)
    return empty


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("--retrieval-suite", "properties", *args)


def test_a_case_per_property(empty: pytest.Pytester) -> None:
    lines = run(empty, "--collect-only", "-q").outlines
    assert [line for line in lines if "::" in line] == [
        f"suites/properties.py::test_property[{stated.name}]" for stated in CATALOGUE
    ]


def test_the_builtin_implementation_holds(empty: pytest.Pytester) -> None:
    result = run(empty, "-k", SOME)
    assert result.ret == 0
    assert counts(result) == {"passed": 4, "deselected": len(CATALOGUE) - 4}


def test_ones_own_implementation_and_what_it_does_not_offer(mine: pytest.Pytester) -> None:
    result = run(mine, "-rs", "-k", SOME, "--retrieval-implementation", "mine:right")
    assert result.ret == 0
    assert counts(result) == {"passed": 3, "skipped": 1, "deselected": len(CATALOGUE) - 4}
    result.stdout.fnmatch_lines(["SKIPPED *: the implementation has no hit_rate"])


def test_the_ini_file_may_name_it(mine: pytest.Pytester) -> None:
    mine.makeini("[pytest]\nretrieval_implementation = mine:wrong")
    assert counts(run(mine, "-k", "recall-follows"))["failed"] == 1


def test_what_breaks_is_shown_with_its_smallest_input(mine: pytest.Pytester) -> None:
    result = run(mine, "-k", "recall-follows-its-definition", "--retrieval-implementation", "mine:wrong")
    assert result.ret == 1
    assert not has_traceback(result)
    result.stdout.re_match_lines(
        [
            r"recall-follows-its-definition does not hold \(definition, see Implementation\)$",
            r"$",
            r"  recall\[0\] is 1, expected 0.5$",
            r"$",
            r"  smallest input found:$",
            r"    scores    \[\[-?\d, -?\d, -?\d\]\]$",
            r"    relevant  \[\[\d, \d\]\]$",
            r"    k         1$",
        ],
        consecutive=True,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nowhere:it", "implementation 'nowhere:it': No module named 'nowhere', expected MODULE or MODULE:OBJECT *"),
        ("mine:left", "implementation 'mine:left': module 'mine' has no attribute 'left', expected *"),
        (
            "mine:nothing",
            "implementation 'mine:nothing' has no function to check, expected a module or object*",
        ),
    ],
)
def test_an_unknown_one_is_one_line(mine: pytest.Pytester, text: str, expected: str) -> None:
    result = run(mine, "--retrieval-implementation", text)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not has_traceback(result)
    lines = [line for line in result.outlines if "implementation '" in line]
    assert len(lines) == 1
    result.stdout.fnmatch_lines([expected])


def test_without_hypothesis_it_says_how_to_get_it(empty: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util
    import sys

    for name in [name for name in sys.modules if name.startswith("pytest_audioretrieval.testing")]:
        monkeypatch.delitem(sys.modules, name)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *p: None if name == "hypothesis" else found(name, *p))
    result = run(empty)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not has_traceback(result)
    result.stdout.fnmatch_lines(["*hypothesis, which is not installed: pip install 'pytest-audioretrieval?testing?'"])
