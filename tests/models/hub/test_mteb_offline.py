"""Specs ``mteb:TASK`` and ``mteb:NAME``, loaded from a hub on loopback, then with ``--retrieval-offline``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.models.hub.stub import HubStub, Place

pytestmark = pytest.mark.skipif(find_spec("mteb") is None, reason="needs mteb: make mteb runs this")

#: As mteb pins it; its own files are those of ``tests/data/hub/made.py``.
TASK, REPOSITORY, COMMIT = "mteb:MACST2ARetrieval", "mteb/MACS_t2a", "74ce553cb9b43aee5169f0bddd30bd5dee8d26d1"
CARD = b"""---
dataset_info:
  - config_name: corpus
    features:
      - name: id
        dtype: string
      - name: audio
        dtype: audio
configs:
  - config_name: corpus
    data_files:
      - split: corpus
        path: corpus/corpus-*
  - config_name: qrels
    data_files:
      - split: test
        path: qrels/test-*
  - config_name: query
    data_files:
      - split: test
        path: query/test-*
---
"""
#: A wrapper that loads a second file of the hub, and one that has a client of its own; both hear by the tiny CLAP.
CONFTEST = """
from urllib.request import urlopen
from huggingface_hub import hf_hub_download
from mteb.models.model_implementations import MODEL_REGISTRY
from mteb.models.model_implementations.clap_models import ClapZeroShotWrapper

class Two(ClapZeroShotWrapper):
    def __init__(self, name, revision, **more):
        hf_hub_download(name, "config.json", revision=revision)
        hf_hub_download(name, "more.json", revision=revision)
        super().__init__({folder!r}, None, **more)

class Own(ClapZeroShotWrapper):
    def __init__(self, name, revision, **more):
        urlopen({url!r})

known = MODEL_REGISTRY["laion/clap-htsat-fused"]
MODEL_REGISTRY["tiny/clap"] = known.model_copy(update={{"name": "tiny/clap", "loader": Two, "revision": {commit!r}}})
MODEL_REGISTRY["tiny/own"] = known.model_copy(update={{"name": "tiny/own", "loader": Own, "revision": {commit!r}}})
"""
ONCE = "--retrieval-offline forbids the network: download what is missing once with a network connection"


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Place]:
    from tests.data.hub.made import pairs

    files = pairs(3)
    files["query/test-00000-of-00001.parquet"] = files.pop("queries/test-00000-of-00001.parquet")
    files["corpus/corpus-00000-of-00001.parquet"] = files.pop("corpus/test-00000-of-00001.parquet")
    with HubStub(REPOSITORY, COMMIT, files | {"README.md": CARD}, kind="datasets").running() as running:
        yield Place(tmp_path, running)


def test_a_task_is_loaded_from_what_an_earlier_load_left(task: Place) -> None:
    ask = ("--model", "builtin/tiny-clap-fused", "--retrieval-dataset", TASK, "--retrieval-suite", "captions")
    cold = task.pytest(*ask, "--retrieval-offline")
    assert (
        f"DataError: dataset '{TASK}': dataset {REPOSITORY}@{COMMIT}: it is not, or not whole, in the local cache: "
        "download it once with a network connection, without --retrieval-offline and HF_HUB_OFFLINE"
    ) in cold.stdout
    ill = task.command("doctor", *ask)
    assert "next, dataset mteb-MACST2ARetrieval: download it once with a network connection" in ill.stdout
    assert task.stub.asked == []
    recorded = task.pytest(*ask, "--retrieval-record", "new")
    assert "10 recorded" in recorded.stdout, recorded.stdout
    task.stub.asked.clear()
    judged = task.pytest(*ask, "--retrieval-offline", "--retrieval-no-cache")
    assert "10 passed" in judged.stdout, judged.stdout
    well = task.command("doctor", *ask)
    assert (well.returncode, well.stdout.splitlines()[-1]) == (0, "nothing is missing"), well.stdout
    assert task.stub.asked == []


def test_a_model_is_loaded_from_the_cache_or_refused_in_one_line(place: Place, stub: HubStub, tiny_clap: Path) -> None:
    stub.files["more.json"] = b"{}"
    conftest = CONFTEST.format(folder=str(tiny_clap), url=f"{stub.url}/own", commit=stub.commit)
    (place.folder / "conftest.py").write_text(conftest)
    (place.folder / "pytest.ini").write_text("[pytest]\n")
    ask = ("--retrieval-dataset", "sounds-single", "--retrieval-suite", "captions", "-x", "--retrieval-no-cache")
    cold = place.pytest("--model", "mteb:tiny/clap", *ask, "--retrieval-offline")
    assert f"ModelError: mteb:tiny/clap: tiny/clap@{stub.commit}: it is not, or not whole, in the local" in cold.stdout
    ill = place.command("doctor", "--model", "mteb:tiny/clap", *ask[:-2])
    assert "next, files mteb:tiny/clap: run it once without --retrieval-offline: mteb downloads what it" in ill.stdout
    assert stub.asked == []
    # Of the two files that it loads one is here, as is a model with a client of its own.
    assert place.command("pins", "add", f"tiny/clap@{stub.commit}").returncode == 0
    shutil.copytree(place.snapshots.parent, place.home / "hub/models--tiny--own", symlinks=True)
    (place.snapshots / stub.commit / "more.json").unlink()
    stub.asked.clear()
    for name, kind in (("tiny/clap", "LocalEntryNotFoundError"), ("tiny/own", "URLError")):
        half = place.pytest("--model", f"mteb:{name}", *ask, "--retrieval-offline")
        line = next(line for line in half.stdout.splitlines() if "ModelError: " in line)
        assert f"mteb:{name}: mteb's wrapper failed: {kind}: " in line
        assert line.endswith(ONCE)
    assert stub.asked == []
    assert "10 recorded" in place.pytest("--model", "mteb:tiny/clap", *ask, "--retrieval-record", "new").stdout
    assert stub.asked
    stub.asked.clear()
    assert "10 passed" in place.pytest("--model", "mteb:tiny/clap", *ask, "--retrieval-offline").stdout
    assert stub.asked == []
