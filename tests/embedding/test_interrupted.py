"""Runs that are stopped, killed, or meet a cache that they cannot use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from pytest_audioretrieval.embedding.engine import embed_clips
from pytest_audioretrieval.embedding.sharing import SHARD
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.pinning.protocol import NAMED
from tests.embedding.fake import WHO, Fake, clips, embed, expected, never, track

Vectors = npt.NDArray[np.float32]
SHORT = NAMED["short-clip"]
REPOSITORY = Path(__file__).parents[2]


def stop(when: int, how: Callable[[], object]) -> Callable[[int], None]:
    def before(done: int) -> None:
        if done == when:
            how()

    return before


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("when", [0, 1, SHARD, SHARD + 36])
def test_after_ctrl_c_the_next_run_makes_the_rest(when: int, tmp_path: Path) -> None:
    items = clips(SHARD * 2)
    with pytest.raises(KeyboardInterrupt):
        embed(items, Fake(stop(when, interrupt)), Store(tmp_path))
    assert len(list(tmp_path.rglob("*.npz"))) == -(-when // SHARD)
    fake = Fake()
    made = embed(items, fake, Store(tmp_path))
    assert sum(fake.audio) == len(items) - when
    np.testing.assert_array_equal(made, expected(items))


def test_ctrl_c_stays_ctrl_c_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="does not keep vectors"), pytest.raises(KeyboardInterrupt):
        embed(clips(5), Fake(stop(3, interrupt)), Store(tmp_path / "file" / "cache"))


def test_an_unwritable_cache_is_one_warning_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    items = clips(SHARD * 3)
    with pytest.warns(UserWarning, match="does not keep vectors") as caught:
        made = embed(items, Fake(), Store(tmp_path / "file" / "cache"))
    assert len(caught) == 1
    np.testing.assert_array_equal(made, expected(items))


def test_a_damaged_shard_is_made_anew(tmp_path: Path) -> None:
    items = clips(SHARD + 10)
    embed(items, Fake(), Store(tmp_path))
    sizes = {path.stat().st_size: path for path in tmp_path.rglob("*.npz")}
    smaller = sizes[min(sizes)]
    smaller.write_bytes(smaller.read_bytes()[:-1])
    fake = Fake()
    with pytest.warns(UserWarning, match="damaged"):
        made = embed(items, fake, Store(tmp_path))
    assert sum(fake.audio) == 10
    np.testing.assert_array_equal(made, expected(items))
    assert embed_clips(items, never, WHO, SHORT, Store(tmp_path), track).tobytes() == made.tobytes()


def start(store: Path, before: str = "None", count: int = 150) -> subprocess.Popen[str]:
    script = f"""
import os, signal, sys, time
from pathlib import Path
from pytest_audioretrieval.embedding.engine import embed_clips
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.pinning.protocol import Protocol
from tests.embedding.fake import WHO, Fake, clips, embed, expected, never, track
fake = Fake(lambda done: {before})
items = clips({count})
made = embed_clips(items, lambda: fake, WHO, Protocol(), Store(Path({str(store)!r})), track)
assert (made == expected(items)).all()
print(sum(fake.audio), [name for name in ("torch", "scipy.stats", "transformers") if name in sys.modules])
"""
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_kill_then_two_at_once_then_a_store_hit(tmp_path: Path) -> None:
    """A kill after 100 of 150 clips leaves one shard, and no damaged file; each run is a process of its own."""
    killed = start(tmp_path, "os.kill(os.getpid(), signal.SIGKILL) if done == 100 else None")
    assert killed.communicate(timeout=60) == ("", "")
    assert killed.returncode == -9
    assert len(list(tmp_path.rglob("*.npz"))) == 1
    both = [start(tmp_path, "time.sleep(0.01)") for _ in range(2)]
    made = []
    for process in both:
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        made.append(int(output.split()[0]))
    assert sum(made) == 150 - SHARD, "each once, whoever makes it"
    assert not list(tmp_path.rglob("*.tmp"))
    hit = start(tmp_path)
    assert hit.communicate(timeout=60) == ("0 []\n", "")
