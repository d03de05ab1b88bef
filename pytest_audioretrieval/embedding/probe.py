"""Self-noise probe: the same clips embedded in other ways must keep their ranks (faults 1, 3, 4, 11 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.audio.decode import describe
from pytest_audioretrieval.audio.types import Waveform
from pytest_audioretrieval.audio.window import prepare
from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.data.types import Clip, Dataset
from pytest_audioretrieval.embedding.engine import embed_clips, embed_texts
from pytest_audioretrieval.embedding.store import Store
from pytest_audioretrieval.metrics import first_hit_rank
from pytest_audioretrieval.models.types import ModelIdentity, Retriever
from pytest_audioretrieval.pinning.protocol import Protocol

Vectors = npt.NDArray[np.float32]
Ranks = npt.NDArray[np.int64]

#: Clips of a probe: enough to show noise, few enough to wait for.
SAMPLE = 64
BATCH = 8
LONG_SECONDS = 12


class Probe:
    """Sample of a dataset, its first ``SAMPLE`` clips and their captions, embedded in several ways without a store.

    Args:
        retriever: a loaded model.
        dataset: the dataset.
        protocol: settings of the embedding; only its batch size is varied.
    """

    def __init__(self, retriever: Retriever, dataset: Dataset, protocol: Protocol) -> None:
        self.clips = dataset.clips[:SAMPLE]
        self._retriever, self._protocol = retriever, protocol
        index = {clip.id: position for position, clip in enumerate(self.clips)}
        captions = [caption for caption in dataset.captions if caption.clip in index]
        self._relevant = [[index[caption.clip]] for caption in captions]
        self._texts = [caption.text for caption in captions]

    @cached_property
    def alone(self) -> Vectors:
        """Vectors of clips embedded one at a time, in document order, [clips, D]."""
        return self._embed(self.clips, batch=1)

    @cached_property
    def raw(self) -> Vectors:
        """Vectors of each clip's first window as the model returns them, unchecked, [clips, D]."""
        windows = [prepare(clip.read(), self._protocol, name=clip.id)[0] for clip in self.clips]
        return np.concatenate([self._retriever.embed_audio([window], self._protocol) for window in windows])

    @cached_property
    def again(self) -> Vectors:
        """Vectors of a second pass like ``alone``, [clips, D]."""
        return self._embed(self.clips, batch=1)

    @cached_property
    def reordered(self) -> Vectors:
        """Vectors of clips embedded last to first, in document order, [clips, D]."""
        return self._embed(self.clips[::-1], batch=1)[::-1]

    @cached_property
    def crowded(self) -> Vectors:
        """Vectors of clips embedded in batches of 8, each with a clip of 12 s among them, [clips, D]."""
        step = BATCH - 1
        mixed = [(*self.clips[i : i + step], _long(self.clips[i])) for i in range(0, len(self.clips), step)]
        made = [self._embed(batch, batch=BATCH)[:-1] for batch in mixed]
        return np.concatenate(made)

    def ranks(self, vectors: Vectors) -> Ranks:
        """Return the text-to-audio rank of every caption's clip among ``vectors``."""
        return first_hit_rank(self._text_vectors, np.ascontiguousarray(vectors), self._relevant)

    @cached_property
    def _text_vectors(self) -> Vectors:
        return embed_texts(self._texts, lambda: self._retriever, _UNNAMED, self._protocol, Store(None), Tracker())

    def _embed(self, clips: Sequence[Clip], *, batch: int) -> Vectors:
        protocol = replace(self._protocol, audio_batch=batch)
        return embed_clips(clips, lambda: self._retriever, _UNNAMED, protocol, Store(None), Tracker())

    def twins(self) -> list[tuple[str, str]]:
        """Return the pairs of different clips with the same vector, without pairs of two silent clips."""
        seen: dict[bytes, int] = {}
        found = []
        for position, vector in enumerate(self.alone):
            other = seen.setdefault(vector.tobytes(), position)
            one, two = self.clips[other], self.clips[position]
            if one.digest != two.digest and not (_silent(one) and _silent(two)):
                found.append((one.id, two.id))
        return found


#: Identity of an unnamed model: nothing is stored, so nothing needs a real one.
_UNNAMED = ModelIdentity("probe", None, "")


def _long(clip: Clip) -> Clip:
    """Return ``clip`` repeated to 12 s."""

    def read() -> Waveform:
        wave = clip.read()
        frames = LONG_SECONDS * wave.rate
        return Waveform(np.resize(wave.samples, (frames, wave.samples.shape[1])), wave.rate)

    return Clip(f"{clip.id} repeated to {LONG_SECONDS} s", f"{clip.digest}-long", read)


def _silent(clip: Clip) -> bool:
    return describe(clip.read()).silent
