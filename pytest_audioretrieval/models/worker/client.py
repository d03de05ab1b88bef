"""The side of the run: a worker process of another environment, asked over its standard streams."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.errors import ModelError, one_line
from pytest_audioretrieval.models.worker.worker_frames import VERSION, Arrays, FrameError, receive, send

#: Seconds until a worker has to have said hello, and answered.
START, ANSWER = 120.0, 900.0
#: Seconds it has to end by itself when it is no longer needed.
PARTING = 10.0


class Worker:
    """A script in another Python, which calls ``worker_loop.serve``.

    It ends with this object, and with this process, however that ends.

    Args:
        name: what errors call it.
        python: interpreter of the environment that has what the script imports.
        script: its path; ``worker_loop.py`` and ``worker_frames.py`` have to be importable for it.
        remedy: what to do where that environment is not there or lacks something.

    Attributes:
        hello: what it said of itself first.

    Raises:
        ModelError: from the constructor and from ``ask``, where the process does not start, dies or hangs, or answers
            with an error; one line each.
    """

    def __init__(self, name: str, python: Path, script: Path, *, remedy: str) -> None:
        self._name, self._remedy, self._python = name, remedy, python
        self._hung = False
        if not python.is_file():
            raise ModelError(f"{name} runs in an environment of its own, and there is no {python}: {remedy}")
        # -E and -s: what PYTHONPATH and the user's site hold belongs to this environment, not to that one.
        command = [str(python), "-E", "-s", str(script)]
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by the finalizer)
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        except OSError as error:
            self._said.close()
            raise ModelError(f"{name}: {python} cannot be run: {one_line(error)}: {remedy}") from None
        self._finalizer = weakref.finalize(self, _end, self._process, self._said)
        with self._deadline("start", START):
            self.hello, _ = receive(self._stdout)
        if self.hello.get("worker") != VERSION:
            raise ModelError(
                f"{name}: its worker speaks version {self.hello.get('worker')}, expected {VERSION}: {remedy}"
            )

    def ask(
        self, operation: str, arrays: Sequence[npt.NDArray[np.float32]] = (), *, timeout: float = ANSWER, **fields: Any
    ) -> tuple[dict[str, Any], Arrays]:
        """One request, one answer: its fields and arrays."""
        with self._deadline(operation, timeout):
            send(cast(BinaryIO, self._process.stdin), {"operation": operation, **fields}, arrays)
            header, found = receive(self._stdout)
        if "error" in header:
            raise ModelError(f"{self._name}: {header['error']}")
        return header, found

    def close(self) -> None:
        """End the process now."""
        self._finalizer()

    @property
    def _stdout(self) -> BinaryIO:
        return cast(BinaryIO, self._process.stdout)

    @contextmanager
    def _deadline(self, operation: str, seconds: float) -> Iterator[None]:
        """Kill the process when the time is over, which ends the wait for it; say what became of it."""
        timer = threading.Timer(seconds, self._hang)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, EOFError, FrameError) as error:
            raise self._gone(operation, seconds, error) from None
        except BaseException:  # Ctrl-C, a test's timeout: its answer would be read as that to the next question
            self._process.kill()
            raise
        finally:
            timer.cancel()

    def _hang(self) -> None:
        self._hung = True
        self._process.kill()

    def _gone(self, operation: str, seconds: float, error: Exception) -> ModelError:
        what = f"{self._name}: its worker process, asked to {operation},"
        try:
            if isinstance(error, FrameError):
                self._process.kill()
            status = self._process.wait(PARTING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if isinstance(error, FrameError):
            return ModelError(f"{what} answered with no message ({error}): {self._remedy}")
        if self._hung:
            return ModelError(f"{what} gave no answer within {seconds:g} s and was ended: use smaller batches")
        if status < 0:
            killer = {one.value: one.name for one in signal.Signals}.get(-status, f"signal {-status}")
            return ModelError(
                f"{what} was killed by {killer}: run again; if memory was short, with a smaller audio_batch"
            )
        return ModelError(f"{what} ended with status {status} ({self._last_words()}): {self._remedy}")

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _end(process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # what was not sent yet to a process that is gone
            cast(BinaryIO, pipe).close()
    try:
        process.wait(PARTING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    said.close()
