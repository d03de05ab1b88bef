"""Rows grouped by clip and captions cleaned as in the pinned protocol; all that happens on the way is counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial

from pytest_audioretrieval.data.hub.sounds import Sound
from pytest_audioretrieval.data.texts import is_id, shows_nothing
from pytest_audioretrieval.data.types import Caption, Clip
from pytest_audioretrieval.errors import DataError


class Grouped:
    """Clips and captions as they come in.

    Attributes:
        clips: by id, in document order; ``captions`` those that are kept.
        texts: how many came in.
        notes: what was counted.
    """

    def __init__(self) -> None:
        self.clips: dict[str, Clip] = {}
        self.captions: list[Caption] = []
        self.texts = 0
        self.notes: Counter[str] = Counter()
        self._kept: defaultdict[str, set[str]] = defaultdict(set)
        self._ids: set[str] = set()

    def add_clip(self, name: str, sound: Sound) -> None:
        """A row of clip ``name``.

        Raises:
            DataError: no id, or an earlier row of this clip holds another sound.
        """
        known = self.clips.get(name)
        if known is None:
            if not is_id(name):
                raise DataError(f"{sound.where}: clip id {name!r}: expected printable characters")
            self.clips[name] = Clip(name, sound.digest, partial(sound.read, name))
        elif known.digest == sound.digest:
            self.notes["rows grouped with an earlier row of their clip"] += 1
        else:
            raise DataError(f"{sound.where}: an earlier row of clip {name!r} holds another sound: expected one a clip")

    def add_caption(self, name: str, raw: object, clip: str, where: str) -> None:
        """A text of ``clip``.

        Raises:
            DataError: no text, or its id stands twice.
        """
        if raw is not None and not isinstance(raw, str):
            raise DataError(f"{where}: a caption of clip {clip!r} is {type(raw).__name__}, expected a text")
        if name in self._ids or not is_id(name):
            raise DataError(f"{where}: text id {name!r}: expected printable characters, each id once")
        self._ids.add(name)
        self.texts += 1
        text = (raw or "").strip()
        if shows_nothing(text):
            self.notes["empty captions, removed"] += 1
            return
        self.notes["captions with white space around them, stripped"] += text != raw
        if text in self._kept[clip]:
            self.notes["captions repeated within a clip, removed"] += 1
            return
        self._kept[clip].add(text)
        self.captions.append(Caption(id=name, text=text, clip=clip))

    def asked(self) -> tuple[Clip, ...]:
        """The clips that have a caption: what has none is neither asked nor right."""
        kept = tuple(clip for name, clip in self.clips.items() if self._kept.get(name))
        self.notes["clips without a caption, left out"] += len(self.clips) - len(kept)
        sounds = Counter(clip.digest for clip in kept)
        self.notes["clips whose sound another clip has too"] += sum(n for n in sounds.values() if n > 1)
        return kept
