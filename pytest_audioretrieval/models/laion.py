"""Backend ``laion_clap:CHECKPOINT.pt``: the package itself, as a control, in an environment of its own (fault 82)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.errors import ModelError, PinError
from pytest_audioretrieval.models.inputs import check_windows, token_limit
from pytest_audioretrieval.models.worker.client import Worker
from pytest_audioretrieval.pinning.pins import project_pins, sha256_of, verify
from pytest_audioretrieval.pinning.protocol import Protocol

#: Environment variable behind ``--retrieval-laion-python``.
LAION_PYTHON = "RETRIEVAL_LAION_PYTHON"
#: Python of the environment that ``make laion`` builds.
DEFAULT = ".venv-laion/bin/python"
REMEDY = (
    "build it with `make laion` in the folder of this package's sources, and name its Python with "
    f"--retrieval-laion-python, ini retrieval_laion_python or {LAION_PYTHON}"
)
SCRIPT = Path(__file__).parent / "worker/worker_laion.py"
#: Rate in Hz and samples of a window, the same for every checkpoint of the package.
SAMPLE_RATE, LONGEST = 48_000, 480_000


class LaionClap:
    """A ``Retriever`` whose vectors the package laion_clap makes.

    The protocol decides where the package has defaults of its own: sounds are not quantised again
    (``quantize_int16``), and texts are cut at ``max_text_tokens``, or at the package's 77 if that is less.
    ``is_longer`` changes nothing, because the package itself compares a clip's length with the window's. Clips longer
    than a window reach it under ``window="processor"`` only; its draws are then seeded anew for each batch.

    Args:
        name: path of the checkpoint.
        device: auto, cpu, cuda[:N] or mps.

    Attributes:
        fused: True for a checkpoint with the tensors of a fused model.
        versions: versions of the libraries in the other environment.

    Raises:
        ModelError: there is no such environment or checkpoint; see also ``models.worker.client``.
    """

    def __init__(self, name: str, *, device: str) -> None:
        path = _checkpoint(name)
        self._worker = _start()
        self.versions: dict[str, str] = self._worker.hello["versions"]
        told, _ = self._worker.ask("load", path=str(path), device=device)
        self.device: str = told["device"]
        self.fused: bool = told["fused"]
        self.text_limit: int = told["text_limit"]
        self._special: int = told["special"]

    @staticmethod
    def weights_sha256(name: str, *, allow_unpinned: bool = False, pins: Path = OWN) -> str:
        """Return a digest over the checkpoint, the tokenizer and the libraries that read them.

        The checkpoint is a pickle and is hashed here before anything opens it.

        Raises:
            PinError: PINS.json has no hash of a file of this name, or a different one.
        """
        path = _checkpoint(name)
        digest = sha256_of(path)
        _admit(path, digest, allow_unpinned, pins)
        worker = _start()
        worker.close()
        return hashlib.sha256(json.dumps([digest, worker.hello], sort_keys=True).encode()).hexdigest()

    def embed_audio(self, windows: Sequence[npt.NDArray[np.float32]], protocol: Protocol) -> npt.NDArray[np.float32]:
        """Embed windows; see ``Retriever``."""
        check_windows(windows, protocol, sample_rate=SAMPLE_RATE, longest=LONGEST)
        _, (vectors,) = self._worker.ask("audio", windows, seed=protocol.seed)
        return vectors

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> npt.NDArray[np.float32]:
        """Embed texts; see ``Retriever``."""
        _, (vectors,) = self._worker.ask("text", texts=list(texts), limit=self._limit(protocol))
        return vectors

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """Count the texts that lose tokens; see ``Retriever``."""
        told, _ = self._worker.ask("count", texts=list(texts), limit=self._limit(protocol))
        return int(told["count"])

    def close(self) -> None:
        """End the worker process now, before this object goes."""
        self._worker.close()

    def _limit(self, protocol: Protocol) -> int:
        return token_limit(protocol, self.text_limit, self._special)


def _checkpoint(name: str) -> Path:
    path = Path(os.path.realpath(expanded(name)))  # resolve() raises where links lead in a circle
    if not path.is_file():
        raise ModelError(f"laion_clap:{name}: there is no such file", remedy="give the path of a checkpoint (.pt)")
    return path


def _admit(path: Path, digest: str, allow_unpinned: bool, pins: Path) -> None:
    pin = project_pins(pins).model(f"laion_clap:{path.name}")
    if pin is not None and pin.files.get(path.name):
        verify({path.name: digest}, pin, f"laion_clap:{path.name}")
    elif not allow_unpinned:
        raise PinError(
            f"laion_clap:{path.name} is a pickle that PINS.json does not pin (sha256 {digest})",
            remedy="compare the hash with its publisher's and pass --retrieval-allow-unpinned",
        )


def _start() -> Worker:
    # Not resolved: a virtual environment's Python is a link to one that knows nothing of it.
    python = expanded(os.environ.get(LAION_PYTHON) or DEFAULT).absolute()
    worker = Worker("laion_clap", python, SCRIPT, remedy=REMEDY)
    if worker.hello["versions"]["laion_clap"] is None:
        worker.close()
        raise ModelError(f"laion_clap: {python} has no package laion_clap", remedy=REMEDY)
    return worker
