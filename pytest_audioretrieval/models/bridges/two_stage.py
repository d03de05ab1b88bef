"""Backend ``two-stage:CAPTIONER+EMBEDDER``: clips are captioned, and captions are embedded (ReasonAudio, 4.1)."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.errors import ModelError, SpecError
from pytest_audioretrieval.models.registry import built, describe, load, retriever, stated_digest
from pytest_audioretrieval.pinning.spec import ModelSpec, parse

if TYPE_CHECKING:
    from pytest_audioretrieval.models.inference import Vectors
    from pytest_audioretrieval.pinning.protocol import Protocol


class TwoStage:
    """A ``Retriever`` that embeds captions: a window's vector is the vector of its caption.

    Args:
        name: ``module:factory+SPEC``. The factory is called ``factory(device=device)`` and returns a captioner with
            ``caption(windows, protocol)``, one text for each window; it may state ``weights_sha256`` like a model's
            factory. A backend whose model has that method, such as ``qwen2-audio:NAME``, can take its place.
            SPEC is any model that embeds texts, such as ``st:NAME``.

    Raises:
        SpecError, PinError, ModelError: a stage is unknown, not pinned or not loadable.
    """

    def __init__(self, name: str, *, device: str, offline: bool = False, pins: Path = OWN) -> None:
        captioner, embedder = stages(name)
        self._name = f"two-stage:{name}"
        self._captioner = built(captioner, device=device, offline=offline, pins=pins)
        if not callable(getattr(self._captioner, "caption", None)):
            raise ModelError(
                f"{self._name}: {captioner.text} made no captioner",
                expected="a method caption(windows, protocol)",
                remedy="correct its factory",
            )
        # ``weights_sha256`` has checked the pins.
        identity = describe(embedder, offline=True, allow_unpinned=True, pins=pins)
        loaded = load(embedder, identity, device=device, offline=offline, pins=pins)
        self._embedder = retriever(loaded, embedder.id)
        self.device, self.text_limit = self._embedder.device, self._embedder.text_limit

    @staticmethod
    def weights_sha256(name: str, *, offline: bool = False, allow_unpinned: bool = False, pins: Path = OWN) -> str:
        """Return a digest over the digests of both stages, or ``""`` if one is unknown."""
        captioner, embedder = stages(name)
        both = (
            stated_digest(captioner, offline=offline, allow_unpinned=allow_unpinned, pins=pins),
            describe(embedder, offline=offline, allow_unpinned=allow_unpinned, pins=pins).weights_sha256,
        )
        return hashlib.sha256("\n".join(both).encode()).hexdigest() if all(both) else ""

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        """Embed windows by their captions; see ``Retriever``. A warning counts captions that the embedder cuts."""
        captions = self._captioner.caption(windows, protocol)
        if len(captions) != len(windows) or not all(isinstance(text, str) and text.strip() for text in captions):
            raise ModelError(
                f"{self._name}: {len(windows)} windows got the captions {list(captions)!r}",
                expected="one text each",
                remedy="correct the captioner",
            )
        cut = self._embedder.count_cut(captions, protocol)
        if cut:
            warnings.warn(f"{self._name}: {cut} captions are longer than what the embedder reads", stacklevel=2)
        embed = getattr(self._embedder, "embed_document", self._embedder.embed_text)
        vectors: Vectors = embed(captions, protocol)
        return vectors

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """Embed texts; see ``Retriever``."""
        return self._embedder.embed_text(texts, protocol)

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """Count the texts that lose tokens; see ``Retriever``."""
        return self._embedder.count_cut(texts, protocol)


def stages(name: str) -> tuple[ModelSpec, ModelSpec]:
    """Return the specs of captioner and embedder; ``SpecError`` if ``name`` is not made of these."""
    first, plus, second = name.partition("+")
    if not plus or not first or not second:
        raise SpecError(
            f"model 'two-stage:{name}' lacks a stage",
            expected="two-stage:CAPTIONER+SPEC, CAPTIONER module:factory or BACKEND:NAME",
            remedy="name both stages",
        )
    captioner, embedder = parse(first), parse(second)
    if captioner.kind not in ("factory", "backend"):
        raise SpecError(
            f"model 'two-stage:{name}': {first!r} is no captioner",
            expected="module:factory or BACKEND:NAME",
            remedy="name one that writes captions",
        )
    if embedder.kind == "fusion":
        raise SpecError(
            f"model 'two-stage:{name}': embedder {second!r} is a fusion",
            expected="one model",
            remedy="name one of its parts",
        )
    return captioner, embedder
