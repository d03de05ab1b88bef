"""Dataset ``reasoning``: a small ReasonAudio from the shipped recordings (ReasonAudio, 3.2, 3.3 and 5.1)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.atomic_sounds import AtomicSound, read_sound
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.events import Composite
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.layout import REVISION
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.plan import plan
from pytest_audioretrieval.benchmarks.reasonaudio.corpus.render import render
from pytest_audioretrieval.benchmarks.reasonaudio.queries.choices import ReasonChoice, make_choices
from pytest_audioretrieval.benchmarks.reasonaudio.queries.queries import ReasonQuery, make_queries
from pytest_audioretrieval.benchmarks.reasonaudio.release.folder import choices_of, explain_by, queries_of
from pytest_audioretrieval.benchmarks.reasonaudio.release.reader import Release
from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.rendered import Progress, load_rendered
from pytest_audioretrieval.data.sounds.render import FOLDER, recording
from pytest_audioretrieval.data.types import Choice, Clip, Dataset, Explain, Query

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CLIPS, QUERIES_A_TASK, CHOICES_A_TASK = 500, 20, 40
#: Few enough to occur together often: a query with three sounds needs clips with all of them, and near misses.
SOUNDS = (
    "amen-break", "cat", "chime", "choir", "computer", "cow", "cowbell", "dog", "door", "drone", "drum-roll", "duck",
    "frog", "groove", "guitar-chord", "guitar-slide", "horse", "owl", "phone", "piano", "pig", "printer", "rewind",
    "robot", "rooster", "sauna", "sheep", "snare", "swoosh", "tabla-loop", "twang", "woodblock",
)  # fmt: skip


def load_reasoning(pinned: str | None, *, cache: Path | None = None, progress: Progress[Composite] = iter) -> Dataset:
    """Load 500 clips of 10 s, with 20 queries and 40 two-option items for each of the five tasks.

    Args:
        pinned: fingerprint that PINS.json holds for ``builtin/reasoning``; None accepts any.
        cache: folder for the index of digests; None keeps none.
        progress: wraps the composites while they are rendered on first use.

    Raises:
        PinError: the rendered clips, queries or choices are not the pinned ones.
    """
    composites, asked, chosen = _made()
    explain = explain_by((*asked, *chosen), {composite.id: composite for composite in composites})
    made = partial(_dataset, tuple(queries_of(asked)), tuple(choices_of(chosen, asked)), explain)
    index = cache / f"reasoning-{REVISION}.json" if cache else None
    recipes = {composite.id: composite for composite in composites}
    return load_rendered(recipes, _render, made, pinned, index=index, progress=progress)


def builtin_release() -> Release:
    """Return the same as a release without sounds, whose files are named by their clip alone."""
    composites, asked, chosen = _made()
    known = {composite.id: composite for composite in composites}
    return Release({clip: Path(clip) for clip in known}, {}, known, tuple(asked), tuple(chosen))


def _made() -> tuple[list[Composite], list[ReasonQuery], list[ReasonChoice]]:
    composites = plan({label: atom.duration for label, atom in atoms().items()}, CLIPS, SEED)
    asked = make_queries(composites, QUERIES_A_TASK, SEED)
    return composites, asked, make_choices(composites, CHOICES_A_TASK, SEED)


@cache
def atoms() -> dict[str, AtomicSound]:
    """Return the sounds by label."""
    found = {}
    for label in SOUNDS:
        recording(label)  # checks the file against its pin
        found[label] = read_sound(Path(str(FOLDER / f"{label}.flac")), label)
    return found


def _render(composite: Composite) -> npt.NDArray[np.int16]:
    return render(composite, atoms())


def _dataset(
    queries: tuple[Query, ...], choices: tuple[Choice, ...], explain: Explain, clips: Iterable[Clip]
) -> Dataset:
    clips = tuple(clips)
    return Dataset(
        name="reasoning",
        revision=REVISION,
        clips=clips,
        captions=(),
        fingerprint=fingerprint(clips, stated=(*queries, *choices)),
        queries=queries,
        choices=choices,
        explain=explain,
        explain_command="reasonaudio show",
    )
