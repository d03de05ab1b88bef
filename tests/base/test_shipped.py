"""Paths of shipped files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audioretrieval.base import shipped as shipping


def test_what_is_shipped_lies_in_the_wheel_or_beside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "top" / "package"
    package.mkdir(parents=True)
    monkeypatch.setattr(shipping, "_PACKAGE", package)
    assert shipping.shipped.__wrapped__("suites") == tmp_path / "top" / "suites"
    (package / "base" / "_shipped" / "suites").mkdir(parents=True)
    assert shipping.shipped.__wrapped__("suites") == package / "base" / "_shipped" / "suites"
