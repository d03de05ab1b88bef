"""Command ``python -m pytest_audioretrieval store``: listing, damage and pruning."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from pytest_audioretrieval.__main__ import main
from pytest_audioretrieval.embedding import inventory
from pytest_audioretrieval.embedding.engine import embed_clips, embed_texts
from pytest_audioretrieval.embedding.sharing import SHARD
from pytest_audioretrieval.embedding.store import Store, place
from pytest_audioretrieval.models.types import ModelIdentity
from pytest_audioretrieval.pinning.protocol import Protocol
from tests.embedding.fake import WHO, Fake, clips, expected, track

OTHER = ModelIdentity("other", None, "b" * 64)
ITEMS = clips(SHARD * 2 + 10)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Three spaces: clips and a text of one model, clips of another."""
    store = Store(place(tmp_path, "cpu"))
    store.made_on("cpu")
    embed_clips(ITEMS, Fake, WHO, Protocol(), store, track)
    embed_texts(["rain"], Fake, WHO, Protocol(), store, track)
    embed_clips(ITEMS[:5], Fake, OTHER, Protocol(), store, track)
    return tmp_path


def spaces(cache: Path) -> dict[str, Path]:
    """Folders by model and kind."""
    return {f"{found.info.model} {found.folder.name.split('-')[0]}": found.folder for found in inventory.spaces(cache)}


def ran(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main(["store", *map(str, arguments)])
    return code, capsys.readouterr().out


def unused(folder: Path, days: float) -> None:
    os.utime(folder, (time.time() - days * 86_400,) * 2)


def test_info(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unused(spaces(cache)["other audio"], 0)
    code, output = ran(capsys, "info", "--cache", cache)
    heading, _, *rows, total = output.splitlines()
    assert code == 0
    assert re.split(r"  +", heading) == [
        "model",
        "weights",
        "protocol",
        "kind",
        "made on",
        "vectors",
        "MB",
        "last used",
    ]
    found = {tuple(re.split(r"  +", row)[i] for i in (0, 1, 2, 3, 5)) for row in rows}
    assert found == {
        ("fake", "aaaaaaaa", "short-clip", "audio", "138"),
        ("fake", "aaaaaaaa", "short-clip", "text", "1"),
        ("other", "bbbbbbbb", "short-clip", "audio", "5"),
    }
    assert all(re.search(r"  \w+-cpu \(cpu\)  .*  \d{4}-\d\d-\d\d$", row) for row in rows)
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) - len("cpu")
    assert total == f"3 in {cache}, {size / 1e6:.1f} MB"


def test_pytests_cache_folder_stands_for_the_store_in_it(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for named in (".pytest_cache", "elsewhere"):
        store = Path(named, "d/audioretrieval")
        shutil.copytree(cache, store, ignore=shutil.ignore_patterns(".pytest_cache", "elsewhere"))
        for folder in (named, store):
            assert f"\n3 in {store}, " in ran(capsys, "info", "--cache", folder)[1]
    assert "\n3 in .pytest_cache/d/audioretrieval, " in ran(capsys, "info")[1]
    assert ran(capsys, "verify", "--cache", "elsewhere") == (0, "0 of 5 shards damaged\n")
    ran(capsys, "prune", "--keep-bytes", 0, "--cache", "elsewhere")
    assert spaces(tmp_path / "elsewhere/d/audioretrieval") == {}
    # No shell expands it after "=".
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "/elsewhere/d/audioretrieval, " in ran(capsys, "info", "--cache=~/elsewhere")[1]
    # Given to --retrieval-cache it has a store of its own.
    shutil.copytree(cache / "embeddings", "elsewhere/embeddings")
    assert "\n3 in elsewhere, " in ran(capsys, "info", "--cache", "elsewhere")[1]


def test_vectors_stored_by_who_says_nothing_of_them_are_listed_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store(place(tmp_path, "cpu")).put("pairs-1", ["a"], np.ones((1, 1), dtype=np.float32))
    _, output = ran(capsys, "info", "--cache", tmp_path)
    assert re.split(r"  +", output.splitlines()[2])[:6] == ["?", "?", "?", "pairs", f"{os.uname().machine}-cpu", "1"]
    assert list(inventory.prune(tmp_path)) == []


@pytest.mark.parametrize("at", [0.0, 0.3, 0.99])
def test_a_flipped_bit_is_found_and_only_that_shard_made_anew(
    at: float, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(capsys, "verify", "--cache", cache) == (0, "0 of 5 shards damaged\n")
    shard = next(path for path in spaces(cache)["fake audio"].glob("*.npz") if inventory._rows(path) == 10)
    content = bytearray(shard.read_bytes())
    content[int(at * len(content))] ^= 1 << 3
    shard.write_bytes(content)

    said = f"{shard}: damaged, its bytes are not those it was named after"
    assert ran(capsys, "verify", "--cache", cache) == (1, f"{said}\n1 of 5 shards damaged\n")
    assert shard.exists()
    assert ran(capsys, "verify", "--fix", "--cache", cache) == (0, f"{said}: removed\n1 of 5 shards damaged\n")
    assert ran(capsys, "verify", "--cache", cache) == (0, "0 of 4 shards damaged\n")
    fake = Fake()
    made = embed_clips(ITEMS, lambda: fake, WHO, Protocol(), Store(place(cache, "cpu")), track)
    assert len(fake.audio) == 10
    np.testing.assert_array_equal(made, expected(ITEMS))
    assert ran(capsys, "verify", "--cache", cache) == (0, "0 of 5 shards damaged\n")


def test_prune_by_age_of_last_use(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in spaces(cache).values():
        unused(folder, 40)
    embed_texts(["rain"], Fake, WHO, Protocol(), Store(place(cache, "cpu")), track)
    assert ran(capsys, "prune", "--cache", cache) == (0, "0.0 MB removed\n")
    assert ran(capsys, "prune", "--older-than", 41, "--cache", cache) == (0, "0.0 MB removed\n")
    before = spaces(cache)
    code, output = ran(capsys, "prune", "--older-than", 39.5, "--cache", cache)
    assert code == 0
    assert list(spaces(cache)) == ["fake text"], "reading is use"
    for name in ("fake audio", "other audio"):
        assert f"{before[name]}: last used 40 days ago: removed, 0." in output


def test_prune_what_other_libraries_made(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = spaces(cache)["fake audio"]
    about = json.loads((folder / "space.json").read_text())
    about["libraries"]["numpy"] = "0.9"
    (folder / "space.json").write_text(json.dumps(about))
    _, output = ran(capsys, "prune", "--cache", cache)
    assert f"{folder}: made with numpy 0.9, here is {np.__version__}: removed" in output
    assert sorted(spaces(cache)) == ["fake text", "other audio"]


def test_prune_to_a_size_takes_the_longest_unused_first(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {found.folder: found.size for found in inventory.spaces(cache)}
    folders = spaces(cache)
    for days, name in enumerate(("fake text", "other audio", "fake audio")):
        unused(folders[name], days)
    keep = sizes[folders["fake text"]] + sizes[folders["other audio"]]
    ran(capsys, "prune", "--keep-bytes", keep, "--cache", cache)
    assert sorted(spaces(cache)) == ["fake text", "other audio"]
    _, output = ran(capsys, "prune", "--keep-bytes", keep - 1, "--cache", cache)
    assert sorted(spaces(cache)) == ["fake text"]
    assert f"over {keep - 1} bytes, and longest unused: removed" in output
    ran(capsys, "prune", "--keep-bytes", 0, "--cache", cache)
    assert spaces(cache) == {}


def test_prune_what_stopped_processes_left_and_nothing_of_those_that_run(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = spaces(cache)["fake audio"]
    old, new, free, held = (folder / name for name in (".a.npz.1.tmp", ".b.npz.2.tmp", ".0a.lock", ".0b.lock"))
    for path in (old, new, free, held):
        path.write_bytes(b"")
    unused(old, 1)
    unused(folder, 7)
    with FileLock(str(held)):
        _, output = ran(capsys, "prune", "--cache", cache)
        assert held.exists()
    assert [path.exists() for path in (old, new, free)] == [False, True, False]
    assert output.count("left by a process that was stopped") == 2
    assert time.time() - folder.stat().st_mtime > 6 * 86_400, "pruning is no use"
    assert len(list(folder.glob("*.npz"))) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("info", "--cache", "nowhere"),
            "nowhere holds no embedding store: give --cache the folder of --retrieval-cache, or pytest's cache folder",
        ),
        (("verify",), r"\.pytest_cache holds no embedding store"),
        (("prune", "--older-than", "-1"), r"--older-than is -1\.0, expected 0 or more"),
        (("prune", "--older-than", "nan"), "--older-than is nan, expected 0 or more"),
        (("prune", "--keep-bytes", "-5"), "--keep-bytes is -5, expected 0 or more"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["store", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.search(said, lines[0])


def test_prune_of_what_cannot_be_removed_is_one_line(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", read_only)
    monkeypatch.setattr("shutil.rmtree", read_only)
    assert main(["store", "prune", "--cache", str(cache)]) == 0  # there is nothing to remove
    assert main(["store", "prune", "--cache", str(cache), "--older-than", "0"]) != 0
    output, said = capsys.readouterr()
    assert output == "0.0 MB removed\n"
    assert re.fullmatch(r".*: \S+ cannot be removed \(Read-only file system\): see who owns it\n", said)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", "encrypted"], ids=["empty", "cut", "a flag that says it is encrypted"]
)
def test_of_a_damaged_shard_no_vectors_are_listed(
    content: bytes | str, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shard,) = spaces(cache)["other audio"].glob("*.npz")
    whole = bytearray(shard.read_bytes())
    whole[whole.index(b"PK\x01\x02") + 8] ^= 1
    shard.write_bytes(whole if isinstance(content, str) else content)
    code, output = ran(capsys, "info", "--cache", cache)
    (row,) = (line for line in output.splitlines() if line.startswith("other"))
    assert (code, re.split(r"  +", row)[5]) == (0, "0")


def test_a_shard_that_cannot_be_read_may_be_whole_and_stays(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (shard,) = spaces(cache)["other audio"].glob("*.npz")
    reads = Path.read_bytes

    def denied(path: Path) -> bytes:
        if path == shard:
            raise PermissionError(13, "Permission denied", str(path))
        return reads(path)

    monkeypatch.setattr(Path, "read_bytes", denied)
    said = f"{shard}: cannot be read (Permission denied)\n1 of 5 shards damaged\n"
    for arguments in (["verify"], ["verify", "--fix"]):
        assert ran(capsys, *arguments, "--cache", cache) == (1, said)
    assert shard.exists()


@pytest.mark.parametrize("at", ["embeddings", "embeddings/*", "embeddings/*/*", "."])
@pytest.mark.parametrize("action", ["info", "verify", "prune"])
def test_a_folder_that_may_not_be_read_is_one_line(
    action: str, at: str, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = cache if at == "." else next(cache.glob(at))
    stats, lists = os.stat, Path.iterdir

    def stat(path: Any, **options: Any) -> os.stat_result:
        if isinstance(path, Path) and closed in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return stats(path, **options)

    def iterdir(path: Path) -> Iterator[Path]:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return lists(path)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert main(["store", action, "--cache", str(cache)]) == 2
    assert re.fullmatch(r".*: \S+ cannot be read \(Permission denied\): see who owns it\n", capsys.readouterr().err)


def test_a_broken_description_is_none(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, content in zip(spaces(cache).values(), ("", "[]", '{"libraries": 3, "protocol": "x"}'), strict=True):
        (folder / "space.json").write_text(content)
    assert ran(capsys, "info", "--cache", cache)[0] == 0
    assert ran(capsys, "prune", "--cache", cache) == (0, "0.0 MB removed\n")


@pytest.mark.slow
def test_nothing_heavy_is_imported(cache: Path) -> None:
    code = (
        "import sys; from pytest_audioretrieval.__main__ import main; "
        f"main(['store', 'verify', '--cache', {str(cache)!r}]); "
        "print([name for name in ('torch', 'transformers', 'scipy', 'soundfile') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0 of 5 shards damaged", "[]"]
