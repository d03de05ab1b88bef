"""Build of a corpus from a folder of sounds (ReasonAudio, 3.2), spread over processes and resumable.

A clip is done once its metadata are written, and they hold the sha256 of its audio. So the same command finishes a
build that was killed at any moment, makes clips again that were damaged since, and gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import NamedTuple

import msgspec
import soundfile
from filelock import FileLock, Timeout

from pytest_audioretrieval.base.files import write_atomically
from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.benchmarks.reasonaudio.corpus import layout
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.atomic_sounds import RATE, AtomicSound, read_sounds
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.layout import Recipe
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.plan import plan
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.render import render
from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import make_choices
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import make_queries
from pytest_audioretrieval.benchmarks.reasonaudio.queries.templates import TASKS
from pytest_audioretrieval.benchmarks.reasonaudio.release.folder import write_queries
from pytest_audioretrieval.benchmarks.reasonaudio.release.tables import CHOICES, QRELS, QUERIES
from pytest_audioretrieval.data.loading import Track
from pytest_audioretrieval.data.manifest import SETTINGS
from pytest_audioretrieval.errors import DataError, SpecError

NAME = "reasonaudio"
LICENCE = "that of its sounds, which corpus.json lists"
#: Held by a build at work; it stays when the build ends.
LOCK = ".lock"
#: Number of clips that a process gets at a time.
CHUNK = 20


class Built(NamedTuple):
    """A finished corpus: its clips, the sha256 of each file by id, and the sha256 of ``clips.jsonl``."""

    composites: list[Composite]
    digests: dict[str, str]
    sha256: str


def build(
    sounds: Path,
    out: Path,
    *,
    clips: int = 10_000,
    queries: int = 1_000,
    choices_per_task: int = 120,
    seed: int = SEED,
    seconds: int = 10,
    workers: int | None = None,
    track: Track | None = None,
) -> Built:
    """Build a corpus with its queries, or finish one that was begun with the same arguments.

    Args:
        sounds: folder of atomic sounds, see ``read_sounds``; ``out`` that of the corpus, see ``corpus``.
        clips: number of clips; ``seconds`` the length of each.
        queries: number over all five tasks; ``choices_per_task`` two-option items of each.
        workers: processes, which do not change the bytes; by default one for each core. They are spawned, so a script
            that calls this needs ``if __name__ == "__main__"``.
        track: shows progress.

    Raises:
        DataError, AudioError: the sounds make no corpus; there are too few clips for the queries; ``out`` holds another
            corpus or foreign files, or cannot be written.
        SpecError: an argument is out of range.
    """
    workers = workers if workers is not None else os.cpu_count() or 1
    _check_arguments(sounds, out, workers, queries, choices_per_task)
    atoms = read_sounds(sounds)
    composites = plan({label: atom.duration for label, atom in atoms.items()}, clips, seed, seconds)
    # Before the sounds are mixed, so that a plan too small for its queries does not cost minutes.
    asked = make_queries(composites, queries // len(TASKS), seed)
    chosen = make_choices(composites, choices_per_task, seed)
    with _write_errors(out), _locked(out):
        recipe = _claim(out, _recipe(atoms, clips, seed, seconds), composites)
        work = _Work(sounds, recipe.samples, out / layout.FOLDER, seconds)
        built = _listed(composites, _make_all(composites, work, workers, track or Tracker()), out)
        write_queries(out, asked, chosen, name=NAME, licence=LICENCE)
    return built


def _listed(composites: list[Composite], made: list[str], out: Path) -> Built:
    """Write ``clips.jsonl``, which finishes the corpus, and return the corpus."""
    content = b"".join(map(layout.encoded, map(layout.record, composites, made)))
    write_atomically(out / layout.CLIPS, content)
    digests = {composite.id: digest for composite, digest in zip(composites, made, strict=True)}
    return Built(composites, digests, hashlib.sha256(content).hexdigest())


def _check_arguments(sounds: Path, out: Path, workers: int, queries: int, choices_per_task: int) -> None:
    if queries < len(TASKS) or queries % len(TASKS):
        raise SpecError(
            f"queries is {queries}",
            expected=f"a multiple of {len(TASKS)}, as many of each task",
            remedy="choose another number",
        )
    if choices_per_task < 0:
        raise SpecError(
            f"choices per task is {choices_per_task}", expected="at least 0", remedy="choose another number"
        )
    if workers < 1:
        raise SpecError(f"workers is {workers}", expected="at least 1", remedy="choose another number")
    if out.resolve().is_relative_to(sounds.resolve()):
        raise SpecError(f"{out} lies in the folder of sounds", remedy="build elsewhere")


@contextmanager
def _write_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where, why = error.filename or out, error.strerror
        raise DataError(
            f"{where} was not written ({why})", remedy="make sure that it can be, and run this again"
        ) from None


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Lock the folder against a second build, which would remove this one's unfinished files."""
    out.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise DataError(
            f"{out}: another build is at work there", remedy="let it end, or build into another folder"
        ) from None
    except NotImplementedError:
        raise DataError(f"{out}: files there cannot be locked", remedy="build into a folder on another disk") from None
    try:
        yield
    finally:
        lock.release()


def _recipe(atoms: Mapping[str, AtomicSound], clips: int, seed: int, seconds: int) -> Recipe:
    return Recipe(
        schema=layout.SCHEMA,
        revision=layout.REVISION,
        encoder=soundfile.__libsndfile_version__,
        seed=seed,
        clips=clips,
        seconds=seconds,
        sounds={label: atom.sha256 for label, atom in atoms.items()},
        samples=_samples(atoms),
    )


def _samples(atoms: Mapping[str, AtomicSound]) -> str:
    found = hashlib.sha256()
    for atom in atoms.values():
        found.update(atom.samples.astype("<i2").tobytes())
    return found.hexdigest()


def _claim(out: Path, recipe: Recipe, composites: list[Composite]) -> Recipe:
    """Reserve ``out`` for this corpus and recipe, and remove the unfinished files of a killed build."""
    folder = out / layout.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for place in (out, folder):
        for left in place.glob(".*.tmp"):
            left.unlink(missing_ok=True)
    known = (out / layout.RECIPE).exists()
    if known:
        _check_same(out, layout.read_recipe(out), recipe)
    layout.check_foreign(folder, composites)
    # Without corpus.json and clips, these files belong to another dataset.
    known = known or any(folder.iterdir())
    for name in (*QUERIES[known:], *QRELS[known:], *(() if known else (CHOICES, SETTINGS, layout.CLIPS))):
        if (out / name).exists():
            raise DataError(f"{out / name} is no file of this corpus", remedy="move it elsewhere")
    write_atomically(out / layout.RECIPE, msgspec.json.format(msgspec.json.encode(recipe)) + b"\n")
    return recipe


def _check_same(out: Path, found: Recipe, asked: Recipe) -> None:
    for field in Recipe.__struct_fields__:
        was, now = getattr(found, field), getattr(asked, field)
        if was == now:
            continue
        if field == "sounds":
            label = min(label for label in was.keys() | now.keys() if was.get(label) != now.get(label))
            was, now = (f"{label!r}: {sounds.get(label, 'none')}" for sounds in (was, now))
        raise DataError(f"{out} holds a corpus of {field} {was}", expected=str(now), remedy="build into another folder")


class _Work(NamedTuple):
    """The settings that a process needs besides its clips; it reads the sounds itself."""

    sounds: Path
    samples: str
    folder: Path
    seconds: int


def _make_all(composites: list[Composite], work: _Work, workers: int, track: Track) -> list[str]:
    """Return the sha256 of each clip, made now or found complete."""
    chunks = [composites[start : start + CHUNK] for start in range(0, len(composites), CHUNK)]
    pool = ProcessPoolExecutor(min(workers, len(chunks)), get_context("spawn"), _start)
    try:
        done = chain.from_iterable(pool.map(partial(_make_chunk, work), chunks))
        steps = track(composites, "building clips")
        return [next(done) for _ in steps]
    except BrokenProcessPool:
        raise DataError(
            f"{work.folder}: a process that makes clips was stopped (killed, out of memory, or started by a script "
            'without if __name__ == "__main__")',
            remedy="run this again to go on",
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is killed; a pool's process would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _make_chunk(work: _Work, composites: list[Composite]) -> list[str]:
    sounds = _read_once(work.sounds, work.samples)
    return [make_clip(composite, sounds, work.folder, work.seconds) for composite in composites]


@cache
def _read_once(folder: Path, samples: str) -> dict[str, AtomicSound]:
    """Return the sounds, read once in each process.

    Sending them would never end where a spawned process dies early.
    """
    atoms = read_sounds(folder)
    if _samples(atoms) != samples:
        raise DataError(f"{folder}: sounds changed while clips were made of them", remedy="run this again")
    return atoms


def make_clip(composite: Composite, sounds: Mapping[str, AtomicSound], folder: Path, seconds: int) -> str:
    """Return the sha256 of a clip's file; make and write it with its metadata unless both exist and agree."""
    audio, beside = folder / f"{composite.id}.flac", folder / f"{composite.id}.json"
    if audio.exists() and beside.exists():
        digest = hashlib.sha256(audio.read_bytes()).hexdigest()
        if beside.read_bytes() == layout.encoded(layout.record(composite, digest)):
            return digest
    encoded = io.BytesIO()
    soundfile.write(encoded, render(composite, sounds, seconds), RATE, format="FLAC", subtype="PCM_16")
    digest = hashlib.sha256(encoded.getvalue()).hexdigest()
    write_atomically(audio, encoded.getvalue())
    write_atomically(beside, layout.encoded(layout.record(composite, digest)))
    return digest
