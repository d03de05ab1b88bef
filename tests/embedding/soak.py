"""Soak test: embedding processes are killed at random moments, and the store must stay whole and usable.

    python -m tests.embedding.soak [KILLS] [SEED]

Each trial starts one to three processes on one empty store, kills one of them with SIGKILL, lets the others end, runs
once more, and checks vectors, work done twice, and every file. All are forks of this process, so that a trial costs
no imports; a model's time is a wait, long enough for kills to fall on it as well as on writing.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import torch  # noqa: F401  # before the forks

from pytest_audioretrieval.embedding.engine import embed_clips
from pytest_audioretrieval.embedding.inventory import ABANDONED, prune, spaces
from pytest_audioretrieval.embedding.sharing import SHARD
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.pinning.protocol import Protocol
from tests.embedding.fake import WHO, Fake, clips, expected, track

CLIPS = clips(300)
RIGHT = expected(CLIPS)
#: Seconds a clip takes.
MODEL = 0.0005
WRONG, RAISED = 3, 4


class Noting(Fake):
    """Appends a line to ``log`` for each clip it embeds."""

    def __init__(self, log: Path) -> None:
        super().__init__(lambda _: time.sleep(MODEL))
        self.log = log.open("a")

    def embed_audio(self, windows, protocol):  # type: ignore[no-untyped-def]
        self.log.write(f"{float(windows[0][0])!r}\n")
        self.log.flush()
        return super().embed_audio(windows, protocol)


def embedding(folder: Path, log: str = "log") -> int:
    """Start a process that embeds all clips and ends with 0 if its vectors are right; its id."""
    child = os.fork()
    if child:
        return child
    code = RAISED
    warnings.simplefilter("error", UserWarning)  # of a damaged shard, or of a store that keeps nothing
    try:
        model = Noting(folder / log)
        made = embed_clips(CLIPS, lambda: model, WHO, Protocol(), Store(folder / "cache"), track)
        code = 0 if np.array_equal(made, RIGHT) else WRONG
    finally:
        os._exit(code)


def ended(child: int) -> int:
    """Exit code, or the negative signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def trial(folder: Path, processes: int, moment: float) -> tuple[int, int]:
    """Kill one of ``processes`` after ``moment`` seconds; clips embedded again, and files that ``prune`` removed."""
    children = [embedding(folder) for _ in range(processes)]
    time.sleep(moment)
    os.kill(children[0], signal.SIGKILL)
    codes = [ended(child) for child in children]
    assert codes[0] in (-signal.SIGKILL, 0), codes
    assert not any(codes[1:]), codes
    assert ended(embedding(folder)) == 0
    done = Counter((folder / "log").read_text().splitlines())
    assert len(done) == len(CLIPS)
    again = done.total() - len(CLIPS)
    assert again <= SHARD, again
    return again, _checked(folder / "cache")


def _checked(place: Path) -> int:
    """Look at every file of the store below ``place``; how many of them a stopped process left."""
    cache = place.parent / "all"
    (cache / "embeddings").mkdir(parents=True)
    place.rename(cache / "embeddings/cpu")
    (space,) = spaces(cache)
    assert not list(space.damaged())
    assert space.vectors == len(CLIPS), "no vector is stored twice"
    for path in space.folder.glob(".*.tmp"):
        os.utime(path, (time.time() - 2 * ABANDONED,) * 2)
    left = len(list(prune(cache)))
    names = {path.suffix for path in space.folder.iterdir()}
    assert names == {".npz", ".json"}, names
    return left


def soak(kills: int, seed: int) -> str:
    """Run the trials; one line that says what was seen."""
    draw = random.Random(seed)
    lengths: dict[int, float] = {}
    again, left, started = [], 0, time.monotonic()
    for number in range(kills):
        processes = 1 + number % 3
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        if processes not in lengths:
            begun = time.monotonic()
            assert not any(map(ended, [embedding(folder) for _ in range(processes)]))
            lengths[processes] = time.monotonic() - begun
            shutil.rmtree(folder)
            folder.mkdir()
        twice, leftovers = trial(folder, processes, draw.uniform(0, lengths[processes]))
        again.append(twice)
        left += leftovers
        shutil.rmtree(folder)
    return (
        f"{kills} kills: vectors equal, nothing damaged; clips embedded twice a kill: "
        f"{sum(again) / kills:.1f} of {len(CLIPS)} on average, {max(again)} at most; "
        f"{left} files left for prune; {time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    print(soak(*(int(text) for text in (sys.argv[1:] + ["200", "0"][len(sys.argv) - 1 :]))))
