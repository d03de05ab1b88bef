"""Client of a worker process in another environment, over the process's standard streams."""

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

#: Most seconds until a worker says hello, and until it answers.
START, ANSWER = 120.0, 900.0
#: Most seconds until a worker that is no longer needed ends by itself.
PARTING = 10.0


class Worker:
    """Process of another Python that runs a script which calls ``worker_loop.serve``.

    The process ends with this object, and with the process that made it, however that ends.

    Args:
        name: name of the worker, for errors.
        python: interpreter of the environment that has the script's imports.
        script: path of the script, which must be able to import ``worker_loop.py`` and ``worker_frames.py``.
        remedy: remedy if that environment is missing or lacks something.

    Attributes:
        hello: first message of the worker, about itself.

    Raises:
        ModelError: the process does not start, dies, hangs, or answers with an error; from the constructor and ``ask``.
    """

    def __init__(self, name: str, python: Path, script: Path, *, remedy: str) -> None:
        self._name, self._remedy, self._python = name, remedy, python
        self._hung = False
        if not python.is_file():
            raise ModelError(f"{name} runs in an environment of its own, and there is no {python}", remedy=remedy)
        # -E and -s: PYTHONPATH and the user's site belong to this environment, not to the other one.
        command = [str(python), "-E", "-s", str(script)]
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by the finalizer)
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        except OSError as error:
            self._said.close()
            raise ModelError(f"{name}: {python} cannot be run: {one_line(error)}", remedy=remedy) from None
        self._finalizer = weakref.finalize(self, _end, self._process, self._said)
        with self._deadline("start", START):
            self.hello, _ = receive(self._stdout)
        if self.hello.get("worker") != VERSION:
            raise ModelError(
                f"{name}: its worker speaks version {self.hello.get('worker')}", expected=f"{VERSION}", remedy=remedy
            )

    def ask(
        self, operation: str, arrays: Sequence[npt.NDArray[np.float32]] = (), *, timeout: float = ANSWER, **fields: Any
    ) -> tuple[dict[str, Any], Arrays]:
        """Send one request and return the fields and arrays of its answer."""
        with self._deadline(operation, timeout):
            send(cast(BinaryIO, self._process.stdin), {"operation": operation, **fields}, arrays)
            header, found = receive(self._stdout)
        if "error" in header:
            raise ModelError(f"{self._name}: {header['error']}")  # the worker's line says what to do
        return header, found

    def close(self) -> None:
        """End the process now."""
        self._finalizer()

    @property
    def _stdout(self) -> BinaryIO:
        return cast(BinaryIO, self._process.stdout)

    @contextmanager
    def _deadline(self, operation: str, seconds: float) -> Iterator[None]:
        """Kill the process when the time is over, which ends the wait for it, and raise an error that says so."""
        timer = threading.Timer(seconds, self._hang)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, EOFError, FrameError) as error:
            raise self._gone(operation, seconds, error) from None
        except BaseException:  # Ctrl-C, a test's timeout: a late answer would be taken for the next request's
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
            return ModelError(f"{what} answered with no message ({error})", remedy=self._remedy)
        if self._hung:
            return ModelError(f"{what} gave no answer within {seconds:g} s and was ended", remedy="use smaller batches")
        if status < 0:
            killer = {one.value: one.name for one in signal.Signals}.get(-status, f"signal {-status}")
            return ModelError(
                f"{what} was killed by {killer}", remedy="run again; if memory was short, with a smaller audio_batch"
            )
        return ModelError(f"{what} ended with status {status} ({self._last_line()})", remedy=self._remedy)

    def _last_line(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _end(process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # bytes that were not sent yet to a process that is gone
            cast(BinaryIO, pipe).close()
    try:
        process.wait(PARTING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    said.close()
