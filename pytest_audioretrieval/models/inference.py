"""Contexts that every model of transformers is loaded and run in, and the check of its vectors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import logging

from pytest_audioretrieval.errors import ModelError

Vectors = npt.NDArray[np.float32]


@contextmanager
def float32_inference() -> Iterator[None]:
    """Run inference in full float32 and by the same kernels each time.

    TF32, which rounds to 10 bits on recent GPUs, is off. Torch warns of an operation that has no deterministic kernel.
    The user's settings are restored afterwards.
    """
    # cuBLAS reads this with its first product; without it two streams may add in another order.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    with (
        _without_tf32(),
        _deterministic(),
        torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
        torch.inference_mode(),
    ):
        yield


@contextmanager
def _without_tf32() -> Iterator[None]:
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # the user has set the new switches of torch 2.9, and torch refuses to mix both kinds
        backends: Any = torch.backends
        parts = (backends.cuda.matmul, backends.mkldnn.matmul)
        before = [part.fp32_precision for part in parts]
        try:
            for part in parts:
                part.fp32_precision = "ieee"
            yield
        finally:
            for part, value in zip(parts, before, strict=True):
                part.fp32_precision = value
        return
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)


@contextmanager
def _deterministic() -> Iterator[None]:
    settings: Any = torch.utils.deterministic
    mode, filled = torch.get_deterministic_debug_mode(), settings.fill_uninitialized_memory
    torch.set_deterministic_debug_mode(max(mode, 1))  # 2, an error, stays if the user has set it
    settings.fill_uninitialized_memory = False  # kernels here read no memory that they have not written
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        settings.fill_uninitialized_memory = filled


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence bars, reports and hints of transformers; what matters of them is raised as errors."""
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def unit_rows(output: Any, count: int) -> Vectors:
    """Return the rows of ``output``, L2-normalised, float32 [count, D].

    Args:
        output: a tensor, or an object with ``pooler_output``, as ``get_*_features`` returns since transformers 5.
        count: number of inputs.

    Raises:
        ModelError: there is not one row for each input, or a row is zero or not finite.
    """
    pooled = output if isinstance(output, torch.Tensor) else output.pooler_output
    vectors: Vectors = pooled.float().cpu().numpy()
    if vectors.shape[0] != count or vectors.ndim != 2:
        raise ModelError(
            f"model returned {vectors.shape} for {count} inputs", expected="one vector each", remedy="check the model"
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        row = int(np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))[0])
        raise ModelError(
            f"input {row} of the batch has a vector that is zero or not finite", remedy="check weights and input"
        )
    unit: Vectors = vectors / norms
    return unit
