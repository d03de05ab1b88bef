"""Errors: one line made of fields, whatever is left out, and the same error in another process."""

from __future__ import annotations

import pickle

import pytest

from pytest_audioretrieval.errors import DataError, ModelError, RetrievalError, SpecError, one_line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            DataError("a.csv:3: id is empty", expected="a name", remedy="write one"),
            "a.csv:3: id is empty, expected a name: write one",
        ),
        (DataError("a.csv:3: id is empty", remedy="write one"), "a.csv:3: id is empty: write one"),
        (DataError("a.csv:3: id is empty", expected="a name"), "a.csv:3: id is empty, expected a name"),
        (ModelError(), "no reason was given"),
    ],
    ids=["all", "no expected", "no remedy", "bare"],
)
def test_the_fields_make_one_line(error: RetrievalError, line: str) -> None:
    assert str(error) == line
    assert error.problem == line.removesuffix(f": {error.remedy}")


def test_a_context_goes_in_front_and_the_kind_stays() -> None:
    error = ModelError("no vector", expected="one a text", remedy="check the model").about("texts 'a', 'b'")
    assert isinstance(error, ModelError)
    assert (error.found, error.expected, error.remedy) == ("texts 'a', 'b': no vector", "one a text", "check the model")


def test_it_crosses_processes_with_its_fields() -> None:
    error = pickle.loads(pickle.dumps(SpecError("x is 3", expected="4", remedy="correct it")))  # noqa: S301
    assert (type(error), error.found, error.expected, error.remedy) == (SpecError, "x is 3", "4", "correct it")


@pytest.mark.parametrize(
    ("error", "line"),
    [(SystemExit("bye\nnow"), "bye"), (SystemExit(3), "3"), (KeyError(), "KeyError"), (ValueError("\n a \n b"), "a")],
    ids=["exit", "code", "empty", "blank first"],
)
def test_a_foreign_error_is_one_line(error: BaseException, line: str) -> None:
    assert one_line(error) == line
