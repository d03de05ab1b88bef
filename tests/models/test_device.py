"""Names of devices, and the devices they mean."""

from __future__ import annotations

import pytest
import torch

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.models.device import choose


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    cuda, mps = getattr(request, "param", (0, False))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("machine", "text", "expected"),
    [
        ((0, False), "auto", "cpu"),
        ((0, True), "auto", "mps"),
        ((2, True), "auto", "cuda:0"),
        ((2, True), "cpu", "cpu"),
        ((2, True), "mps", "mps"),
        ((2, False), "cuda", "cuda:0"),
        ((2, False), "cuda:1", "cuda:1"),
    ],
    indirect=["machine"],
)
def test_a_device_that_is_there(text: str, expected: str) -> None:
    assert choose(text) == expected


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("machine", "text", "expected"),
    [
        ((0, False), "cuda", "sees 0 CUDA devices"),
        ((2, False), "cuda:2", "sees 2 CUDA devices"),
        ((0, False), "mps", "torch does not see it"),
        ((2, True), "gpu", "expected auto, cpu, cuda, cuda:N or mps"),
        ((2, True), "cuda:", "expected auto"),
        ((2, True), "cuda:-1", "expected auto"),
        ((2, True), "CPU", "expected auto"),
        ((2, True), "", "expected auto"),
    ],
    indirect=["machine"],
)
def test_any_other_is_refused(text: str, expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        choose(text)
    assert str(caught.value).startswith(f"device {text!r}")
    assert expected in str(caught.value)
