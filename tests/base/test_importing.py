"""Import of a user's ``module:object``, and every way in which it can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audioretrieval.base.importing import imported


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('boom\\nmore')", "RuntimeError: boom"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("def x(:", "SyntaxError: "),
        ("def __getattr__(name): raise KeyError(name)", "KeyError: 'thing'"),
        (
            "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
            "fails when it is imported: Mute: Mute",
        ),
    ],
)
def test_it_is_one_line(body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request) -> None:
    name = f"failing_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(body + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="fails when it is imported") as caught:
        imported(f"{name}:thing")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
