"""Answers of one model, which is loaded only if the store lacks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pytest_audioretrieval.data.types import Clip
from pytest_audioretrieval.embedding.batches import Vectors
from pytest_audioretrieval.embedding.engine import embed_clips, embed_texts
from pytest_audioretrieval.embedding.pairs import Floats, Pairs, TextPairs, ask_preferences, score_pairs
from pytest_audioretrieval.embedding.store import space
from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.metrics.scores import VectorScores
from pytest_audioretrieval.models.imports import short_waits
from pytest_audioretrieval.models.registry import describe, load, retriever
from pytest_audioretrieval.models.types import is_pair_scorer, is_retriever

if TYPE_CHECKING:
    from pytest_audioretrieval.embedding.answerer import Side, Sides
    from pytest_audioretrieval.embedding.resources import Resources
    from pytest_audioretrieval.models.types import Model, ModelIdentity, PairScorer, Retriever
    from pytest_audioretrieval.pinning.spec import ModelSpec


T = TypeVar("T")
#: Kind of a space -> whether it is a pair scorer's.
_OF_PAIR_SCORERS = {"pairs": True, "prefer": True, "audio": False, "text": False}


class SingleModel:
    """An ``Answerer`` that is one model: hashed on first use, loaded (and torch imported) for what the store lacks."""

    def __init__(self, spec: ModelSpec, resources: Resources) -> None:
        self.spec, self.resources = spec, resources
        self._made: dict[tuple[str, ...], Any] = {}
        self._errors: dict[str, Exception] = {}

    @cached_property
    def identity(self) -> ModelIdentity:
        """Weights of the model, hashed and verified without loading them."""
        at = self.resources
        with self._tried_once("identity"), short_waits():
            return describe(self.spec, offline=at.offline, allow_unpinned=at.allow_unpinned, pins=at.pins)

    @cached_property
    def model(self) -> Model:
        """The model itself, on its device."""
        at = self.resources
        identity = self.identity
        with self._tried_once("model"), short_waits():
            loaded = load(self.spec, identity, device=at.device, offline=at.offline, pins=at.pins)
        self.resources.store.made_on(loaded.device)
        return loaded

    @property
    def retriever(self) -> Retriever:
        """The model; ``SpecError`` where it is a pair scorer."""
        return retriever(self.model, self.spec.id)

    @property
    def scorer(self) -> PairScorer:
        """The model; ``SpecError`` where it is a retriever."""
        if is_pair_scorer(self.model):
            return self.model
        raise self._no_preference()

    @cached_property
    def scores_pairs(self) -> bool:
        """True for a pair scorer; known without loading the model where the store holds answers of it."""
        if self.spec.kind not in ("backend", "factory"):
            return False
        for kind, answer in _OF_PAIR_SCORERS.items():
            where = space(self.identity.weights_sha256, self.resources.protocol, kind)
            if "model" not in vars(self) and self.resources.store.holds(where):
                return answer
        return not is_retriever(self.model)

    @property
    def device(self) -> str:
        """Device on which its answers were made, here or by the run that stored them."""
        if "model" in vars(self):
            return self.model.device
        return self.resources.store.device or self.resources.device

    def clips(self, clips: Sequence[Clip]) -> Vectors:
        """Return unit vectors, float32 [len(clips), D]; see ``engine.embed_clips``."""
        return self._once(embed_clips, self._retriever, clips, ("clips", *(clip.digest for clip in clips)))

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32 [len(texts), D]; see ``engine.embed_texts``."""
        return self._once(embed_texts, self._retriever, texts, ("texts", *texts))

    def sides(self, queries: Side, candidates: Side) -> Sides:
        """Return unit vectors of the queries [Q, D] and of the candidates [C, D]."""
        return self._side(queries), self._side(candidates)

    def pair_scores(self, pairs: Pairs) -> Floats:
        """Return how well each text describes its clip, float64 [N]: a pair scorer's answer, or a cosine.

        Texts and clips are embedded once each. Equal vectors have equal cosines, to the bit.
        """
        if self.scores_pairs:
            key = ("pairs", *(part for text, clip in pairs for part in (text, clip.digest)))
            return self._once(score_pairs, self._scorer, pairs, key)
        clips = {clip.digest: clip for _, clip in pairs}
        texts = dict.fromkeys(text for text, _ in pairs)
        row, column = ({item: i for i, item in enumerate(items)} for items in (texts, clips))
        cosines = VectorScores(self.texts(list(texts)), self.clips(list(clips.values())))
        places = np.array([(row[text], column[clip.digest]) for text, clip in pairs])
        return cosines.pairs(places[:, 0], places[:, 1])

    def text_preference(self, pairs: TextPairs) -> tuple[Floats, Floats]:
        """Return P(the first text of each pair is chosen) without audio, shown first and second, float64 [N] each.

        Their mean is free of position bias (MASB, Exp. 2). A retriever has none: ``SpecError``.
        """
        if not self.scores_pairs:
            raise self._no_preference()
        key = ("prefer", *(text for pair in pairs for text in pair))
        return self._once(ask_preferences, self._scorer, pairs, key)

    def _side(self, side: Side) -> Vectors:
        return np.concatenate([self.clips(part) if isinstance(part[0], Clip) else self.texts(part) for part in side])

    def _no_preference(self) -> SpecError:
        return SpecError(
            f"{self.spec.id} embeds texts and has no preference among them",
            remedy="ask a pair scorer, such as an audio LLM",
        )

    @contextmanager
    def _tried_once(self, what: str) -> Iterator[None]:
        """Raise an error again at once that took long to come: a hub that is down costs its retries once."""
        if error := self._errors.get(what):
            raise error.with_traceback(None)
        try:
            yield
        except Exception as error:  # of a user's own factory, any
            self._errors[what] = error
            raise

    def _retriever(self) -> Retriever:
        return self.retriever

    def _scorer(self) -> PairScorer:
        return self.scorer

    def _once(self, ask: Callable[..., T], model: Callable[[], Model], items: Sequence[Any], key: tuple[str, ...]) -> T:
        if key not in self._made:
            at = self.resources
            self._made[key] = ask(items, model, self.identity, at.protocol, at.store, at.track)
        made: T = self._made[key]
        return made
