"""Tasks of mteb as datasets: reading, counts and errors, on a stand-in with the interface of 2.26.24.

``tests/models/test_mteb_itself.py`` loads tasks of mteb itself.
"""

from __future__ import annotations

import hashlib
import io
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile

from pytest_audioretrieval.api import load_dataset
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.queries import clip_queries, text_queries
from pytest_audioretrieval.data.registry import source
from pytest_audioretrieval.data.types import Caption, Query
from pytest_audioretrieval.errors import AudioError, DataError, SpecError
from pytest_audioretrieval.runs import directions

NAME = "mteb:SoundsT2A"


def sound(level: float) -> bytes:
    content = io.BytesIO()
    soundfile.write(content, np.full(480, level, dtype=np.float32), 48_000, format="FLAC")
    return content.getvalue()


SOUNDS = {"a": sound(0.25), "b": sound(0.5)}


class Audio:
    """A stand-in for ``datasets.Audio`` that knows whether it decodes sounds."""

    def __init__(self, decode: bool = True) -> None:
        self.decode = decode

    def decode_example(self, value: Any) -> Any:
        raise ImportError("To support decoding audio data, please install 'torchcodec'.")


class Rows:
    """A stand-in for ``datasets.Dataset`` with the methods that are used."""

    def __init__(self, rows: list[dict[str, Any]], features: dict[str, Any]) -> None:
        self.rows, self.features = rows, features

    def __getitem__(self, key: Any) -> Any:
        return [row[key] for row in self.rows] if isinstance(key, str) else self.rows[key]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        assert not self.features["audio"].decode, "sounds are not decoded to be hashed"
        return iter(self.rows)

    def select_columns(self, names: list[str]) -> Rows:
        return Rows([{name: row[name] for name in names} for row in self.rows], self.features)

    def cast_column(self, name: str, kind: Any) -> Rows:
        return Rows(self.rows, {**self.features, name: kind})


def texts(*said: tuple[str, Any]) -> Rows:
    return Rows([{"id": name, "text": text} for name, text in said], {"text": None})


def sounds(**contents: bytes) -> Rows:
    rows = [{"id": name, "audio": {"bytes": content, "path": None}} for name, content in contents.items()]
    return Rows(rows, {"audio": Audio()})


class Task:
    """An mteb task of one split."""

    def __init__(self, parts: dict[str, Any], category: str = "t2a", subsets: tuple[str, ...] = ("default",)) -> None:
        self.metadata = SimpleNamespace(
            category=category, type="Any2AnyRetrieval", hf_subsets=subsets, eval_splits=["test"],
            dataset={"path": "owner/sounds", "revision": "c" * 40},
        )  # fmt: skip
        self.parts, self.hf_subsets, self.dataset = parts, list(subsets), {}

    def load_data(self) -> None:
        self.loaded_from = self.metadata.dataset["path"]
        # mteb logs a row.
        Audio().decode_example({})
        self.dataset = {subset: {"test": self.parts} for subset in self.hf_subsets}

    def convert_v1_dataset_format_to_v2(self, *, num_proc: int | None) -> None:
        pass


Provide = Callable[[Task], None]


@pytest.fixture
def provide(monkeypatch: pytest.MonkeyPatch) -> Provide:
    """A function that makes mteb have one task, SoundsT2A."""
    mteb, datasets = ModuleType("mteb"), ModuleType("datasets")
    datasets.Audio = Audio  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mteb", mteb)
    monkeypatch.setitem(sys.modules, "datasets", datasets)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)

    def provide(made: Task) -> None:
        def get_task(name: str) -> Task:
            if name != "SoundsT2A":
                raise KeyError(f"KeyError: '{name}' not found. Did you mean: 'SoundsT2A'?")
            return made

        mteb.get_task = get_task  # type: ignore[attr-defined]

    return provide


T2A = {
    "queries": texts(("q1", " rain "), ("q2", "wind"), ("q3", "thunder")),
    "corpus": sounds(**SOUNDS),
    "relevant_docs": {"q1": {"a": 1, "b": 0}, "q2": {"b": 1}, "q3": {"a": 2}},
}
SAID = (Caption("q1", "rain", "a"), Caption("q2", "wind", "b"), Caption("q3", "thunder", "a"))


def test_texts_that_are_right_for_one_clip_are_its_captions(provide: Provide) -> None:
    provide(Task(T2A))
    made = load_dataset(NAME)
    assert (made.name, made.revision) == ("mteb-SoundsT2A", "c" * 40)
    assert made.notes == {"captions with white space around them, stripped": 1}
    assert made.captions == SAID
    assert [(clip.id, clip.digest) for clip in made.clips] == [
        (name, hashlib.sha256(content).hexdigest()) for name, content in SOUNDS.items()
    ]
    wave = made.clips[1].read()
    assert wave.rate == 48_000
    np.testing.assert_allclose(wave.samples, np.full((480, 1), 0.5), atol=1e-4)
    assert made.fingerprint == fingerprint(made.clips, SAID)
    assert clip_queries(made).relevant == ((0, 2), (1,))


def test_a_task_that_asks_with_sounds_has_the_same_captions(provide: Provide) -> None:
    answers = {"a": {"q1": 1, "q3": 1, "q2": 0}, "b": {"q2": 1}}
    provide(Task({"queries": T2A["corpus"], "corpus": T2A["queries"], "relevant_docs": answers}, "a2t"))
    assert load_dataset(NAME).captions == SAID


def test_what_is_removed_is_counted(provide: Provide) -> None:
    """Fault 51: an empty text, as splitting at full stops leaves, is no query; a repeated caption is asked once."""
    asked = texts(("q1", "rain"), ("q2", "wind"), ("q3", " rain"), ("q4", "  "), ("q5", None), ("q6", "wind"))
    right = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1}, "q4": {"a": 1}, "q5": {"b": 1}, "q6": {"a": 1}}
    provide(Task({**T2A, "queries": asked, "relevant_docs": right}))
    made = load_dataset(NAME)
    assert made.captions == (*SAID[:2], Caption("q6", "wind", "a"))
    assert made.notes == {
        "captions with white space around them, stripped": 1,
        "captions repeated within a clip, removed": 1,
        "empty captions, removed": 2,
        "captions that several clips share": 2,
    }


def test_a_text_that_is_right_for_several_clips_is_one_query(provide: Provide) -> None:
    provide(Task({**T2A, "relevant_docs": {"q1": {"a": 1, "b": 1}, "q2": {"b": 1}, "q3": {"a": 1}}}))
    made = load_dataset(NAME)
    assert made.captions[:2] == (Caption("q1#a", "rain", "a"), Caption("q1#b", "rain", "b"))
    assert made.merge_identical_captions
    assert text_queries(made).relevant == ((0, 1), (1,), (0,))
    assert clip_queries(made).relevant == ((0, 2), (0, 1))


def test_a_clip_that_no_text_describes_is_ranked_and_not_asked(provide: Provide) -> None:
    provide(Task({**T2A, "relevant_docs": {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}}))
    made = load_dataset(NAME)
    assert made.captions == ()
    assert made.queries[0] == Query("q1", "rain", ("a",), "all")
    asked = text_queries(made)
    assert asked.relevant == ((0,), (0,), (0,))
    assert asked.clusters == ("a", "a", "a")
    with pytest.raises(DataError, match="asks nothing in direction a2t"):
        directions.refuse_unasked(made, directions.named("a2t"))


def test_queries_that_read_the_same_are_asked_once_with_all_their_right_clips(provide: Provide) -> None:
    """Sound c has no text, so texts are queries; equal ones are merged where one is relevant to several clips."""
    asked = texts(("q1", "rain"), ("q2", " rain"), ("q3", "wind"), ("q4", "rain"))
    parts = {"queries": asked, "corpus": sounds(**SOUNDS, c=sound(0.75))}
    provide(Task({**parts, "relevant_docs": {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1}, "q4": {"a": 1}}}))
    assert load_dataset(NAME).queries == (
        Query("q1", "rain", ("a",), "all"),
        Query("q2", "rain", ("b",), "all"),
        Query("q3", "wind", ("a",), "all"),
    )
    provide(Task({**parts, "relevant_docs": {"q1": {"a": 1}, "q2": {"b": 1, "a": 1}, "q3": {"a": 1}, "q4": {"b": 1}}}))
    made = load_dataset(NAME)
    assert made.queries == (Query("q1", "rain", ("a", "b"), "all"), Query("q3", "wind", ("a",), "all"))
    assert text_queries(made).clusters == ("a", "a")
    assert made.notes["captions repeated within a clip, removed"] == 2


def test_a_sound_that_lies_in_a_file(provide: Provide, tmp_path: Path) -> None:
    (tmp_path / "a.flac").write_bytes(SOUNDS["a"])
    stored = Rows(
        [{"id": "a", "audio": {"bytes": None, "path": str(tmp_path / "a.flac")}}, *sounds(b=SOUNDS["b"]).rows],
        {"audio": Audio()},
    )
    provide(Task(T2A))
    before = load_dataset(NAME).fingerprint
    provide(Task({**T2A, "corpus": stored}))
    made = load_dataset(NAME)
    assert made.fingerprint == before
    (tmp_path / "a.flac").write_bytes(SOUNDS["b"])
    with pytest.raises(AudioError, match=r"^clip 'a \(mteb:SoundsT2A, row 0\)': its bytes changed since"):
        made.clips[0].read()
    (tmp_path / "a.flac").unlink()
    with pytest.raises(AudioError, match=r"a\.flac cannot be read \(No such file or directory\)"):
        made.clips[0].read()
    with pytest.raises(DataError, match=r"^mteb:SoundsT2A, row 0: .*a\.flac cannot be read \(No such file"):
        load_dataset(NAME)


def test_a_sound_of_no_bytes_is_told_when_it_is_read(provide: Provide) -> None:
    provide(Task({**T2A, "corpus": sounds(**SOUNDS | {"a": b""})}))
    with pytest.raises(AudioError, match=r"^clip 'a"):
        load_dataset(NAME).clips[0].read()


@pytest.mark.parametrize("audio", [None, {"bytes": None, "path": None}])
def test_a_row_without_a_sound_is_one_line(audio: Any, provide: Provide) -> None:
    provide(
        Task({**T2A, "corpus": Rows([*sounds(a=SOUNDS["a"]).rows, {"id": "b", "audio": audio}], {"audio": Audio()})})
    )
    with pytest.raises(DataError) as caught:
        load_dataset(NAME)
    assert str(caught.value) == (
        "mteb:SoundsT2A, row 1 holds no bytes of a sound and no path of a file, expected one of them: name another task"
    )


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            {"relevant_docs": {"q1": {"a": 1}, "q2": {"b": 1}}},
            "text 'q3' is relevant to no clip, expected one at least",
        ),
        ({"relevant_docs": {"q1": {"z": 1}}}, "text 'q1' is relevant to clip 'z', which is not there"),
        (
            {"queries": texts(("q1", " "), ("q2", ""), ("q3", "\u200b"))},
            "all of its 3 texts are empty",
        ),
        ({"queries": texts(("q1", 5), ("q2", "wind"), ("q3", "thunder"))}, "text 'q1' is int, expected a text"),
        ({"queries": texts(("q1", "rain"), ("q1", "wind"))}, "text id 'q1' occurs twice, expected each id once"),
        (
            {"corpus": Rows(2 * sounds(a=SOUNDS["a"]).rows, {"audio": Audio()})},
            "clip id 'a' occurs twice, expected each id once",
        ),
        (
            {"corpus": Rows([], {"audio": {"array": "float"}})},
            "its sounds are {'array': 'float'}, expected encoded audio",
        ),
    ],
)
def test_what_is_no_dataset(parts: dict[str, Any], expected: str, provide: Provide) -> None:
    provide(Task({**T2A, **parts}))
    with pytest.raises(DataError) as caught:
        load_dataset(NAME)
    assert str(caught.value) == f"dataset 'mteb:SoundsT2A': {expected}: name another task"


def test_which_task_is_said(provide: Provide) -> None:
    provide(Task(T2A, subsets=("de", "en")))
    with pytest.raises(
        SpecError,
        match=r"^dataset 'mteb:SoundsT2A' names no subset, expected mteb:SoundsT2A:SUBSET: add one of de, en$",
    ):
        load_dataset(NAME)
    assert load_dataset(f"{NAME}:en").name == "mteb-SoundsT2A-en"
    with pytest.raises(
        SpecError, match=r"mteb has no such task \(KeyError: 'Sounds' not found\. Did you mean: 'SoundsT2A'"
    ):
        load_dataset("mteb:Sounds")
    provide(Task(T2A, "t2t"))
    with pytest.raises(
        SpecError, match=r"is Any2AnyRetrieval t2t, expected Any2AnyRetrieval t2a or a2t: name another task$"
    ):
        load_dataset(NAME)
    made = Task(T2A)
    made.metadata.eval_splits.append("dev")
    provide(made)
    with pytest.raises(SpecError, match=r"has splits test, dev, expected one: name another task$"):
        load_dataset(NAME)


def test_what_mteb_raises_is_one_line(provide: Provide, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ConnectionError("no network\nfor you")

    made = Task(T2A)
    monkeypatch.setattr(made, "load_data", fail)
    provide(made)
    with pytest.raises(
        DataError,
        match=r"^dataset 'mteb:SoundsT2A': mteb cannot load it \(ConnectionError: no network\): load it with mteb",
    ):
        load_dataset(NAME)


@pytest.mark.parametrize("how", ["option", "variable"])
def test_offline_it_is_loaded_from_the_cache_of_the_hubs_client(
    how: str, provide: Provide, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", how == "variable")
    made = Task(T2A)
    provide(made)
    with pytest.raises(DataError) as caught:
        load_dataset(NAME, offline=how == "option")
    assert str(caught.value) == (
        f"dataset 'mteb:SoundsT2A': dataset owner/sounds@{'c' * 40}: it is not, or not whole, in the local cache: "
        "download it once with a network connection, without --retrieval-offline and HF_HUB_OFFLINE"
    )
    folder = tmp_path / f"datasets--owner--sounds/snapshots/{'c' * 40}"
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus/test-00001-of-00002.parquet").touch()
    with pytest.raises(DataError, match=r"1 of the 2 files corpus/test-\*\.parquet are in the local cache, and"):
        load_dataset(NAME, offline=how == "option")
    (folder / "corpus/test-00000-of-00002.parquet").touch()
    assert load_dataset(NAME, offline=how == "option").captions == SAID
    assert made.loaded_from == str(folder)
    assert made.metadata.dataset["path"] == "owner/sounds"


def test_offline_a_task_that_connects_by_itself_is_one_line(
    provide: Provide, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    (tmp_path / f"datasets--owner--sounds/snapshots/{'c' * 40}").mkdir(parents=True)
    made = Task(T2A)
    monkeypatch.setattr(made, "load_data", lambda: socket.create_connection(("127.0.0.1", 9)))
    provide(made)
    with pytest.raises(DataError) as caught:
        load_dataset(NAME, offline=True)
    assert str(caught.value) == (
        "dataset 'mteb:SoundsT2A': mteb cannot load it (OSError: no network is reached here, asked for '127.0.0.1'): "
        "--retrieval-offline forbids the network: download what is missing once with a network "
        "connection"
    )


def test_an_mteb_that_fails_when_it_is_imported_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mteb.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mteb", raising=False)
    with pytest.raises(
        SpecError,
        match=r"^dataset 'mteb:SoundsT2A' needs mteb \('mteb' fails when .*::nms.*\): mend the installation of mteb$",
    ):
        load_dataset(NAME)


def test_nothing_is_loaded_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    named = source(NAME, Path())
    assert (named.name, named.folder) == ("mteb-SoundsT2A", None)
    with pytest.raises(SpecError, match=r"^dataset 'mteb:SoundsT2A' needs mteb \(.*\): pip install mteb$"):
        load_dataset(NAME)
