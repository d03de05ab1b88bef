"""``two-stage:CAPTIONER+EMBEDDER``: clips are put into words, words are compared (ReasonAudio, 4.1)."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.shipped import OWN
from pytest_audioretrieval.errors import ModelError, SpecError
from pytest_audioretrieval.models.registry import describe, load, made, retriever, stated
from pytest_audioretrieval.pinning.spec import ModelSpec, parse

if TYPE_CHECKING:
    from pytest_audioretrieval.models.inference import Vectors
    from pytest_audioretrieval.pinning.protocol import Protocol


class TwoStage:
    """A ``Retriever`` of captions: a window's vector is that of the caption it gets.

    Args:
        name: ``module:factory+SPEC``. The factory is called ``factory(device=device)`` and returns a captioner with
            ``caption(windows, protocol)``, one text a window; like that of a model it may state ``weights_sha256``.
            A backend whose model has that method, ``qwen2-audio:NAME``, stands there as well.
            SPEC is any model that embeds texts, such as ``st:NAME``.

    Raises:
        SpecError, PinError, ModelError: of either stage.
    """

    def __init__(self, name: str, *, device: str, offline: bool = False, pins: Path = OWN) -> None:
        captioner, embedder = stages(name)
        self._name = f"two-stage:{name}"
        self._captioner = made(captioner, device=device, offline=offline, pins=pins)
        if not callable(getattr(self._captioner, "caption", None)):
            raise ModelError(
                f"{self._name}: {captioner.text} made no captioner: expected a method caption(windows, protocol)"
            )
        # ``weights_sha256`` has asked for pins by now.
        identity = describe(embedder, offline=True, allow_unpinned=True, pins=pins)
        loaded = load(embedder, identity, device=device, offline=offline, pins=pins)
        self._embedder = retriever(loaded, embedder.id)
        self.device, self.text_limit = self._embedder.device, self._embedder.text_limit

    @staticmethod
    def weights_sha256(name: str, *, offline: bool = False, allow_unpinned: bool = False, pins: Path = OWN) -> str:
        """Digest over those of both stages; ``""`` where one is not known."""
        captioner, embedder = stages(name)
        both = (
            stated(captioner, offline=offline, allow_unpinned=allow_unpinned, pins=pins),
            describe(embedder, offline=offline, allow_unpinned=allow_unpinned, pins=pins).weights_sha256,
        )
        return hashlib.sha256("\n".join(both).encode()).hexdigest() if all(both) else ""

    def embed_audio(self, windows: Sequence[Vectors], protocol: Protocol) -> Vectors:
        """See ``Retriever``; captions that the embedder cuts are counted in a warning."""
        captions = self._captioner.caption(windows, protocol)
        if len(captions) != len(windows) or not all(isinstance(text, str) and text.strip() for text in captions):
            raise ModelError(
                f"{self._name}: {len(windows)} windows got the captions {list(captions)!r}: expected one text each"
            )
        cut = self._embedder.count_cut(captions, protocol)
        if cut:
            warnings.warn(f"{self._name}: {cut} captions are longer than what the embedder reads", stacklevel=2)
        embed = getattr(self._embedder, "embed_document", self._embedder.embed_text)
        vectors: Vectors = embed(captions, protocol)
        return vectors

    def embed_text(self, texts: Sequence[str], protocol: Protocol) -> Vectors:
        """See ``Retriever``."""
        return self._embedder.embed_text(texts, protocol)

    def count_cut(self, texts: Sequence[str], protocol: Protocol) -> int:
        """See ``Retriever``."""
        return self._embedder.count_cut(texts, protocol)


def stages(name: str) -> tuple[ModelSpec, ModelSpec]:
    first, plus, second = name.partition("+")
    if not plus or not first or not second:
        raise SpecError(
            f"model 'two-stage:{name}': expected two-stage:CAPTIONER+SPEC, CAPTIONER module:factory or BACKEND:NAME"
        )
    captioner, embedder = parse(first), parse(second)
    if captioner.kind not in ("factory", "backend"):
        raise SpecError(f"model 'two-stage:{name}': captioner {first!r}: expected module:factory or BACKEND:NAME")
    if embedder.kind == "fusion":
        raise SpecError(f"model 'two-stage:{name}': embedder {second!r} is a fusion: expected one model")
    return captioner, embedder
