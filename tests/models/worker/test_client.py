"""Worker process: requests, answers, and every way in which it can fail."""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pytest_audioretrieval.errors import ModelError
from pytest_audioretrieval.models.worker import client
from pytest_audioretrieval.models.worker.client import Worker
from pytest_audioretrieval.models.worker.worker_frames import FrameError, receive, send

SCRIPT = f"""
import os, signal, sys, time
sys.path.insert(0, {str(Path(client.__file__).parent)!r})
from worker_loop import serve

def twice(arrays, *, times):
    print("a library prints", flush=True)
    os.system("echo and its programs do")
    return {{"read": sys.stdin.read()}}, [times * array for array in arrays]

def fail(arrays):
    raise LookupError("first line\\nsecond line")

def stop(arrays, *, status):
    print("some hint\\nOutOfLuck: nothing left", file=sys.stderr)
    sys.exit(status)

def kill(arrays, *, number=signal.SIGKILL):
    os.kill(os.getpid(), number)

def wait(arrays):
    time.sleep(60)

def slow(arrays):
    time.sleep(1)
    return {{}}, arrays

print("printed before it began", file=sys.stderr)
serve(lambda: {{"pid": os.getpid(), "path": [p for p in sys.path if "of-the-user" in p]}},
      {{"twice": twice, "fail": fail, "stop": stop, "kill": kill, "wait": wait, "slow": slow}})
"""
REMEDY = "build it"


def started(folder: Path, script: str = SCRIPT) -> Worker:
    path = folder / "toy_worker.py"
    path.write_text(script)
    return Worker("toy", Path(sys.executable), path, remedy=REMEDY)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    monkeypatch.setenv("PYTHONPATH", "/of-the-user")
    made = started(tmp_path)
    yield made
    made.close()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_arrays_go_there_and_back_whatever_is_printed(worker: Worker) -> None:
    arrays = [np.float32([1.5, -2]), np.zeros((0,), np.float32), np.float32([[1, 2], [3, 1e-30]])]
    for times in (2, -1):
        told, found = worker.ask("twice", arrays, times=times)
        assert told == {"read": ""}
        for one, other in zip(arrays, found, strict=True):
            assert other.dtype == np.float32
            np.testing.assert_array_equal(other, np.float32(times) * one)
    assert worker.hello["path"] == []  # PYTHONPATH belongs to this environment


def test_an_error_is_one_line_and_the_worker_goes_on(worker: Worker) -> None:
    for operation, expected in (("fail", "toy: LookupError: first line"), ("none", "toy: KeyError: 'none'")):
        with pytest.raises(ModelError) as caught:
            worker.ask(operation)
        assert str(caught.value) == expected
    assert worker.ask("twice", times=1) == ({"read": ""}, [])


@pytest.mark.parametrize(
    ("operation", "fields", "expected"),
    [
        ("kill", {"number": 40}, "was killed by signal 40: run again; if memory was short, with a smaller audio_batch"),
        ("kill", {}, "was killed by SIGKILL: run again; if memory was short, with a smaller audio_batch"),
        ("stop", {"status": 3}, "ended with status 3 (OutOfLuck: nothing left): build it"),
        ("wait", {"timeout": 0.5}, "gave no answer within 0.5 s and was ended: use smaller batches"),
    ],
)
def test_a_worker_that_dies(operation: str, fields: dict[str, float], expected: str, worker: Worker) -> None:
    with pytest.raises(ModelError) as caught:
        worker.ask(operation, **fields)  # type: ignore[arg-type]
    assert str(caught.value) == f"toy: its worker process, asked to {operation}, {expected}"
    with pytest.raises(ModelError, match=r"^toy: its worker process, asked to twice, .*$"):
        worker.ask("twice", times=1)


def test_an_answer_nobody_waited_for_is_not_that_to_the_next_question(worker: Worker) -> None:
    """Such answers come after Ctrl-C, or if a plugin ends a slow test by raising from a signal."""

    def raise_it(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raise_it)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            worker.ask("slow", [np.ones(1, np.float32)])
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ModelError, match="asked to twice, was killed by SIGKILL"):
        worker.ask("twice", [np.ones(1, np.float32)], times=5)


def test_a_worker_killed_from_outside(worker: Worker) -> None:
    os.kill(worker.hello["pid"], signal.SIGKILL)
    with pytest.raises(ModelError, match="asked to twice, was killed by SIGKILL"):
        worker.ask("twice", [np.zeros(100_000, np.float32)], times=1)


@pytest.mark.slow
def test_a_worker_ends_with_its_object(tmp_path: Path) -> None:
    one, other = started(tmp_path), started(tmp_path)
    one.close()
    assert gone(one.hello["pid"])
    pid = other.hello["pid"]
    del other
    gc.collect()
    assert gone(pid)


@pytest.mark.slow
def test_a_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Also where that one is killed: its end of the pipe closes."""
    started(tmp_path).close()
    script = f"""
import os, sys
from pathlib import Path
from pytest_audioretrieval.models.worker.client import Worker
worker = Worker("toy", Path(sys.executable), Path({str(tmp_path / "toy_worker.py")!r}), remedy="")
Path({str(tmp_path / "pid")!r}).write_text(str(worker.hello["pid"]))
os.kill(os.getpid(), 9)
"""
    root = str(Path(client.__file__).parents[3])
    os.spawnve(os.P_WAIT, sys.executable, [sys.executable, "-c", script], {**os.environ, "PYTHONPATH": root})
    pid, end = int((tmp_path / "pid").read_text()), time.monotonic() + 10
    while not gone(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert gone(pid)


def test_what_does_not_start(tmp_path: Path) -> None:
    path = tmp_path / "python"
    with pytest.raises(ModelError) as caught:
        Worker("toy", path, path, remedy=REMEDY)
    assert str(caught.value) == f"toy runs in an environment of its own, and there is no {path}: build it"
    path.write_text("no program")
    with pytest.raises(ModelError, match=r"python cannot be run: \[Errno 13\] Permission denied: .*: build it$"):
        Worker("toy", path, path, remedy=REMEDY)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import nothing_of_this_name", "ended with status 1 (ModuleNotFoundError: No module named 'nothing_of_this_"),
        ("print('Welcome to this library')", "answered with no message (found b'Welc', expected b'ARW1'): build it"),
        ("", "ended with status 0 (it said nothing): build it"),
    ],
)
def test_a_script_that_is_no_worker(script: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        started(tmp_path, script)
    assert str(caught.value).startswith(f"toy: its worker process, asked to start, {expected}")
    assert "\n" not in str(caught.value)


def test_a_worker_of_another_version(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^toy: its worker speaks version 0, expected 1: build it$"):
        started(tmp_path, SCRIPT.replace("serve(lambda: {", 'serve(lambda: {"worker": 0, '))


def test_a_message_byte_by_byte() -> None:
    stream = io.BytesIO()
    send(stream, {"b": "\u00e9"}, [np.float32([[1], [-2]])])
    header = json.dumps({"b": "\u00e9", "shapes": [[2, 1]]}).encode()
    whole = b"ARW1" + struct.pack(">I", len(header)) + header + struct.pack("<2f", 1, -2)
    assert stream.getvalue() == whole
    found, (array,) = receive(io.BytesIO(whole))
    assert (found, array.tolist()) == ({"b": "\u00e9"}, [[1.0], [-2.0]])
    array[0] = 3  # a writable copy, which torch takes without a warning
    for end in (0, 3, 10, len(whole) - 1):
        with pytest.raises(EOFError):
            receive(io.BytesIO(whole[:end]))


@pytest.mark.parametrize("header", [b"[]", b"{}", b"{", b"\xff", b'{"shapes": 3}', b'{"shapes": [["x"]]}', b"null"])
def test_a_header_that_is_none(header: bytes) -> None:
    with pytest.raises(FrameError, match="no JSON object with shapes"):
        receive(io.BytesIO(b"ARW1" + struct.pack(">I", len(header)) + header))
