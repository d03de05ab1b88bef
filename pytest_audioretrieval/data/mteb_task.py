"""Audio retrieval tasks of mteb as datasets (``mteb:TASK``), loaded by mteb at their pinned revision.

Queries, clips and relevance are those of mteb. Three things differ, and are counted (``captions.clean``): texts are
stripped, empty ones are removed (fault 51), and of equal texts of one clip one stays. Sounds are decoded here, from the
stored bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_audioretrieval.base.importing import imported, remedy
from pytest_audioretrieval.base.network import ONCE, no_network
from pytest_audioretrieval.data.captions import clean
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.hub.download import cached
from pytest_audioretrieval.data.hub.sounds import Sound
from pytest_audioretrieval.data.types import Caption, Clip, Dataset, Query
from pytest_audioretrieval.errors import DataError, RetrievalError, SpecError, one_line

PREFIX = "mteb:"
CATEGORIES = ("t2a", "a2t")
TYPES = ("Any2AnyRetrieval", "Any2AnyMultilingualRetrieval")
#: Ids of a text and of a clip that are relevant to each other.
Relevance = list[tuple[str, str]]


def name_of(text: str) -> str:
    """Return the dataset name of ``mteb:TASK`` or ``mteb:TASK:SUBSET`` for tests and baselines."""
    return text.replace(":", "-")


def load_task(text: str, *, offline: bool = False) -> Dataset:
    """Load the task that ``mteb:TASK`` names, or ``mteb:TASK:SUBSET`` where it has several subsets.

    Texts are captions, which both directions ask; where a clip has none they are queries, which only ``t2a`` asks. A
    text with several relevant clips is one query with all of them; then texts that read the same are merged too.

    Args:
        offline: read the files from the hub's cache, without the network.

    Raises:
        SpecError: there is no such task, it is not one of text and audio alone, or has several subsets or splits.
        DataError: mteb cannot load it, or an id, a text or a sound is not what it should be.
    """
    task, subset = _task(text)
    parts = _loaded(task, subset, text, offline)
    asks_with_texts = task.metadata.category == "t2a"
    texts, sounds = (parts[name] for name in (("queries", "corpus") if asks_with_texts else ("corpus", "queries")))
    clips = tuple(_clips(sounds, text))
    _check_ids([clip.id for clip in clips], "clip", text)
    _check_ids(texts["id"], "text", text)
    answers = _answers(texts["id"], _relevance(parts["relevant_docs"], task.metadata.category), clips, text)
    several = any(len(found) > 1 for found in answers.values())
    notes: Counter[str] = Counter()
    kept = clean(_stated(texts, answers, text), notes)
    if not kept:
        raise DataError(f"dataset {text!r}: all of its {len(answers)} texts are empty", remedy="name another task")
    described = {caption.clip for caption in kept} == {clip.id for clip in clips}
    captions = tuple(_with_own_id(caption, answers) for caption in kept) if described else ()
    queries = () if described else tuple(_queries(kept, several))
    return Dataset(
        name=name_of(text),
        revision=task.metadata.dataset["revision"],
        clips=clips,
        captions=captions,
        fingerprint=fingerprint(clips, captions, queries, merged=several),
        merge_identical_captions=several,
        notes={note: count for note, count in notes.items() if count},
        queries=queries,
        queries_describe_clips=bool(queries),
    )


def _task(text: str) -> tuple[Any, str]:
    name, _, subset = text.removeprefix(PREFIX).partition(":")
    try:
        mteb = imported("mteb")
    except ImportError as error:
        raise SpecError(f"dataset {text!r} needs mteb ({one_line(error)})", remedy=remedy(error, "mteb")) from None
    try:
        task = mteb.get_task(name)
    except KeyError as error:
        raise SpecError(
            f"dataset {text!r}: mteb has no such task ({error.args[0]})", remedy="correct the name"
        ) from None
    about = task.metadata
    if about.type not in TYPES or about.category not in CATEGORIES:
        raise SpecError(
            f"dataset {text!r} is {about.type} {about.category}",
            expected=f"{TYPES[0]} {' or '.join(CATEGORIES)}",
            remedy="name another task",
        )
    subsets = list(about.hf_subsets)
    if subset not in (subsets if len(subsets) > 1 else ("", *subsets)):
        raise SpecError(
            f"dataset {text!r} names no subset",
            expected=f"{PREFIX}{name}:SUBSET",
            remedy=f"add one of {', '.join(subsets)}",
        )
    if len(about.eval_splits) > 1:
        raise SpecError(
            f"dataset {text!r} has splits {', '.join(about.eval_splits)}", expected="one", remedy="name another task"
        )
    return task, subset or subsets[0]


def _loaded(task: Any, subset: str, text: str, offline: bool) -> Mapping[str, Any]:
    try:
        with _stored_sounds(), _from_cache(task, offline=offline):
            task.hf_subsets = [subset]
            task.load_data()
            # For tasks in the older of mteb's two layouts.
            task.convert_v1_dataset_format_to_v2(num_proc=None)
            found: Mapping[str, Any] = task.dataset[subset][task.metadata.eval_splits[0]]
    except RetrievalError as error:
        raise error.about(f"dataset {text!r}") from None
    except Exception as error:  # datasets, the hub and the task raise many kinds
        raise DataError(
            f"dataset {text!r}: mteb cannot load it ({type(error).__name__}: {one_line(error)})",
            remedy=ONCE if offline else "load it with mteb alone",
        ) from None
    return found


@contextmanager
def _from_cache(task: Any, *, offline: bool) -> Iterator[None]:
    """Let a task load its revision, when offline, from the files that the hub's client keeps.

    What datasets itself remembers of a repository lacks the names of its subsets, which mteb needs.

    What datasets itself remembers of a repository has lost the names of its subsets, for which mteb asks.
    """
    from huggingface_hub import constants

    if not (offline or constants.HF_HUB_OFFLINE):
        yield
        return
    stated = task.metadata.dataset
    path = stated["path"]
    with no_network():
        stated["path"] = str(cached(path, stated["revision"]))
        try:
            yield
        finally:
            stated["path"] = path


@contextmanager
def _stored_sounds() -> Iterator[None]:
    """Keep sounds encoded: mteb's loader logs a row, for which datasets would decode it by torchcodec."""
    from datasets import Audio

    own = Audio.decode_example
    Audio.decode_example = lambda self, value, *_, **__: value
    try:
        yield
    finally:
        Audio.decode_example = own


def _clips(rows: Any, text: str) -> Iterator[Clip]:
    from datasets import Audio

    if not isinstance(rows.features.get("audio"), Audio):
        raise DataError(
            f"dataset {text!r}: its sounds are {rows.features.get('audio')}",
            expected="encoded audio",
            remedy="name another task",
        )
    stored = rows.select_columns(["id", "audio"]).cast_column("audio", Audio(decode=False))
    for place, row in enumerate(stored):
        where = f"{text}, row {place}"
        digest = hashlib.sha256(_content(row["audio"], where)).hexdigest()
        sound = Sound(digest, where, partial(_again, stored, place, where))
        yield Clip(row["id"], digest, partial(sound.read, row["id"]))


def _again(stored: Any, place: int, where: str) -> bytes:
    return _content(stored[place]["audio"], where)


def _content(sound: Mapping[str, Any] | None, where: str) -> bytes:
    if not sound or (sound["bytes"] is None and sound["path"] is None):
        raise DataError(
            f"{where} holds no bytes of a sound and no path of a file",
            expected="one of them",
            remedy="name another task",
        )
    try:
        found: bytes = sound["bytes"] if sound["bytes"] is not None else Path(sound["path"]).read_bytes()
    except OSError as error:
        raise DataError(
            f"{where}: {sound['path']} cannot be read ({error.strerror})", remedy="remove the task from the cache"
        ) from None
    return found


def _check_ids(ids: Iterable[str], kind: str, text: str) -> None:
    twice = next((name for name, count in Counter(ids).items() if count > 1), None)
    if twice is not None:
        raise DataError(
            f"dataset {text!r}: {kind} id {twice!r} occurs twice", expected="each id once", remedy="name another task"
        )


def _relevance(stated: Mapping[str, Mapping[str, float]], category: str) -> Relevance:
    pairs = [(query, found) for query, scores in stated.items() for found, score in scores.items() if score > 0]
    return pairs if category == "t2a" else [(found, query) for query, found in pairs]


def _answers(texts: Iterable[str], right: Relevance, clips: Iterable[Clip], name: str) -> dict[str, list[str]]:
    """Return the relevant clips of each text."""
    known = {clip.id for clip in clips}
    found: dict[str, list[str]] = {text: [] for text in texts}
    for text, clip in right:
        if clip not in known:
            raise DataError(
                f"dataset {name!r}: text {text!r} is relevant to clip {clip!r}, which is not there",
                remedy="name another task",
            )
        if text in found:
            found[text].append(clip)
    alone = next((text for text, answers in found.items() if not answers), None)
    if alone is not None:
        raise DataError(
            f"dataset {name!r}: text {alone!r} is relevant to no clip",
            expected="one at least",
            remedy="name another task",
        )
    return found


def _stated(rows: Any, answers: Mapping[str, list[str]], text: str) -> Iterator[Caption]:
    """Yield each text as a caption of each of its relevant clips, under mteb's id."""
    for name, said in zip(rows["id"], rows["text"], strict=True):
        if said is not None and not isinstance(said, str):
            raise DataError(
                f"dataset {text!r}: text {name!r} is {type(said).__name__}",
                expected="a text",
                remedy="name another task",
            )
        for clip in answers[name]:
            yield Caption(name, said or "", clip)


def _with_own_id(caption: Caption, answers: Mapping[str, list[str]]) -> Caption:
    return replace(caption, id=f"{caption.id}#{caption.clip}") if len(answers[caption.id]) > 1 else caption


def _queries(captions: Iterable[Caption], several: bool) -> Iterator[Query]:
    groups: defaultdict[str, list[Caption]] = defaultdict(list)
    for caption in captions:
        groups[caption.text if several else caption.id].append(caption)
    for group in groups.values():
        yield Query(group[0].id, group[0].text, tuple(caption.clip for caption in group), "all")
