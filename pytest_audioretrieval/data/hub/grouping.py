"""Grouping of rows by clip, as the pinned protocol states it, with counts of what was changed or left out."""

from __future__ import annotations

from collections import Counter
from functools import partial

from pytest_audioretrieval.data.captions import clean
from pytest_audioretrieval.data.hub.sounds import Sound
from pytest_audioretrieval.data.texts import is_id
from pytest_audioretrieval.data.types import Caption, Clip
from pytest_audioretrieval.errors import DataError


class Grouped:
    """Clips and captions that are collected row by row.

    Attributes:
        clips: by id, in document order.
        texts: count of the texts that were added.
        notes: counts for the report.
    """

    def __init__(self) -> None:
        self.clips: dict[str, Clip] = {}
        self.texts = 0
        self.notes: Counter[str] = Counter()
        self._stated: dict[str, Caption] = {}

    def add_clip(self, name: str, sound: Sound) -> None:
        """Add a row of clip ``name``.

        Raises:
            DataError: ``name`` is no id, or an earlier row of this clip holds another sound.
        """
        known = self.clips.get(name)
        if known is None:
            if not is_id(name):
                raise DataError(
                    f"{sound.where}: clip id is {name!r}",
                    expected="printable characters",
                    remedy="name another column or commit",
                )
            self.clips[name] = Clip(name, sound.digest, partial(sound.read, name))
        elif known.digest == sound.digest:
            self.notes["rows grouped with an earlier row of their clip"] += 1
        else:
            raise DataError(
                f"{sound.where}: an earlier row of clip {name!r} holds another sound",
                expected="one sound a clip",
                remedy="name another column or commit",
            )

    def add_caption(self, name: str, raw: object, clip: str, where: str) -> None:
        """Add a text of ``clip``.

        Raises:
            DataError: it is no text, or its id occurs twice.
        """
        if raw is not None and not isinstance(raw, str):
            raise DataError(
                f"{where}: a caption of clip {clip!r} is {type(raw).__name__}",
                expected="a text",
                remedy="name another column or commit",
            )
        if name in self._stated or not is_id(name):
            raise DataError(
                f"{where}: text id is {name!r}",
                expected="printable characters, each id once",
                remedy="name another column or commit",
            )
        self.texts += 1
        self._stated[name] = Caption(id=name, text=raw or "", clip=clip)

    def cleaned(self) -> tuple[tuple[Clip, ...], tuple[Caption, ...]]:
        """Return the cleaned captions and their clips; a clip without a caption is left out."""
        captions = clean(self._stated.values(), self.notes)
        told = {caption.clip for caption in captions}
        kept = tuple(clip for name, clip in self.clips.items() if name in told)
        self.notes["clips without a caption, left out"] += len(self.clips) - len(kept)
        sounds = Counter(clip.digest for clip in kept)
        self.notes["clips whose sound another clip has too"] += sum(n for n in sounds.values() if n > 1)
        return kept, captions
