from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audioretrieval.benchmarks.cora.analyses.pairs import measure
from pytest_audioretrieval.benchmarks.cora.analyses.pools import pools
from pytest_audioretrieval.benchmarks.cora.analyses.preprocessing import (
    NONE,
    canonicalized,
    canonicalizer,
    preprocessing_tables,
    rewriting,
)
from pytest_audioretrieval.errors import DataError, SpecError
from tests.benchmarks.cora.analyses.planted import FORMS, VectorModel, ask, cells

(POOL,) = pools([ask("rain", {f"r{i}": [f"rain {i}"] for i in range(12)})])


class Lower:
    def __call__(self, text: str) -> str:
        return text.lower()

    def method(self, text: str) -> str:
        return text.lower()


def with_default(text: str, strict: str = "no") -> str:
    return f"{text} {strict}"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (str.lower, "ab"),
        (Lower(), "ab"),
        (Lower().method, "ab"),
        (lambda text: text + "!", "AB!"),
        (lambda text, form: f"{text} {form}", "AB command"),
        (lambda *texts: "-".join(texts), "AB"),
        (with_default, "AB no"),
        (lambda text: f"  {text} \n", "AB"),
    ],
    ids=["builtin", "object", "method", "text", "form-aware", "any", "default", "stripped"],
)
def test_a_canonicalizer_is_any_callable(function: Any, expected: str) -> None:
    assert rewriting(function, "it")("AB", "command") == expected


def test_it_is_called_once_for_each_text_and_form() -> None:
    asked: list[str] = []
    rewrite = rewriting(lambda text: asked.append(text) or text, "it")
    for form in ("command", "question", "command"):
        rewrite("same", form)
    assert asked == ["same", "same"]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (3, SpecError, "canonicalizer 'it' is int, expected a callable"),
        (lambda: "", SpecError, "takes neither (text) nor (text, form)"),
        (lambda a, b, c: a, SpecError, "takes neither (text) nor (text, form)"),
        (lambda text, *, form: text, SpecError, "takes neither (text) nor (text, form)"),
        (lambda text: None, DataError, "canonicalizer 'it' made None of 'AB', expected text to ask with"),
        (lambda text: " ", DataError, "canonicalizer 'it' made ' ' of 'AB'"),
        (
            lambda text: "a\x00b",
            DataError,
            "the output of canonicalizer 'it' for 'AB' holds the control character U+0000",
        ),
        (
            lambda text: "a\ud800",
            DataError,
            "the output of canonicalizer 'it' for 'AB' holds the lone surrogate U+D800",
        ),
        (lambda text: sys.exit(7), DataError, "canonicalizer 'it' failed on 'AB' (SystemExit: 7)"),
        (lambda text: text[9], DataError, "canonicalizer 'it' failed on 'AB' (IndexError: string index out of range)"),
    ],
    ids=["int", "no-text", "three", "keyword", "none", "blank", "null", "surrogate", "exit", "index"],
)
def test_what_is_no_canonicalizer(function: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        rewriting(function, "it")("AB", "command")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_it_is_named_as_module_and_callable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_canon.py").write_text("def upper(text):\n    return text.upper()\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert canonicalizer("my_canon:upper")("ab", "command") == "AB"
    for name, what in (("my_canon:lower", "lower"), ("no_such_module:f", "no_such_module"), (":f", "Empty module")):
        with pytest.raises(
            SpecError, match=f"canonicalizer '{name}' cannot be imported .*{what}.*, expected module:callable"
        ):
            canonicalizer(name)


def test_source_queries_stay() -> None:
    model = VectorModel("m")
    changed = canonicalized(POOL, rewriting(lambda text, form: f"{form}: {text}", "it"))
    measure([model], [changed])
    assert "rain 3" in model.asked
    assert "command: rain 3, command" in model.asked
    assert "rain 3, command" not in model.asked


def test_a_canonicalizer_that_restores_captions_restores_their_ranks() -> None:
    model = VectorModel("m")
    before = measure([model], [POOL])
    after = measure([model], [canonicalized(POOL, rewriting(lambda text: text.split(",")[0], "it"))])
    alone, differences, by_form = preprocessing_tables({NONE: before, "it": after})
    row = cells(alone)["it"]
    assert (row["N"], row["MeanRD"], row["R@5"]) == (60, 0.0, pytest.approx((after.source_rank <= 5).mean()))
    assert row["r(TAL,RD)"] is None
    assert "no correlation in 3 places" in alone.note
    found = cells(differences)["it"]
    items = before.rank_drop.reshape(12, 5).mean(axis=1)
    assert found["MeanRD difference"] == pytest.approx(-before.rank_drop.mean())
    assert (found["improved"], found["worsened"], found["unchanged"]) == (
        (items > 0).sum(),
        (items < 0).sum(),
        (items == 0).sum(),
    )
    assert found["MeanRD difference low"] < found["MeanRD difference"] < found["MeanRD difference high"]
    assert len(by_form.rows) == 2 * len(FORMS)
    np.testing.assert_array_equal(before.source_rank, after.source_rank)
