"""Table of the named sets of the hub, one entry each; what is not known of a set is stated, never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: For each subset of a repository, the patterns of its files; the first one that matches counts.
Subsets = list[tuple[str, ...]]


@dataclass(frozen=True)
class CaptionRows:
    """Layout in which a row holds a sound and captions of it; several rows may be of one clip.

    Attributes:
        audio: column of the sounds, a struct with ``bytes``; of an archive the ending of its sounds.
        clip: column of clip ids; ``audio.path`` is the name of the file inside the struct.
        captions: columns of texts, or of lists of texts.
        pattern: of file names: parquet, or tar archives (``archive`` says how their columns are called).
    """

    audio: str
    clip: str
    captions: tuple[str, ...]
    pattern: str = "data/test-*.parquet"

    @property
    def subsets(self) -> Subsets:
        """The patterns of its one subset."""
        return [(self.pattern,)]


@dataclass(frozen=True)
class MtebLayout:
    """Layout of mteb's retrieval sets: subsets ``corpus``, ``queries`` (``id``, and ``text`` or ``audio``) and qrels.

    Attributes:
        audio: subset of the sounds; the other one holds the texts.
    """

    audio: Literal["corpus", "queries"]

    @property
    def subsets(self) -> Subsets:
        """The patterns of each of ``SUBSETS``, in their order."""
        return list(SUBSETS.values())


#: Subset of ``MtebLayout`` -> patterns of its files (mteb 2.26, ``RetrievalDatasetLoader``: split ``test``, or the only
#: one; for the corpus of MACS that is ``corpus``, as the README of its repository says).
SUBSETS = {
    "corpus": ("corpus/test-*.parquet", "corpus/corpus-*.parquet"),
    "queries": ("query/test-*.parquet", "queries/test-*.parquet"),
    "qrels": ("data/test-*.parquet", "qrels/test-*.parquet"),
}


@dataclass(frozen=True)
class Expected:
    """Known counts of a set; None where a count is not known.

    Attributes:
        clips: after rows are grouped.
        texts: in the files.
        captions: after empty ones and repeats are removed.
    """

    clips: int | None = None
    texts: int | None = None
    captions: int | None = None


@dataclass(frozen=True)
class HubSet:
    """One named set of the hub.

    Attributes:
        name: the one that ``--retrieval-dataset`` takes.
        hub: id of the repository; None where it is not known.
        layout: of its files; None where it is not known.
        licence: of the data, and who says so.
        merge: True to make one query with several relevant clips of captions that read the same.
        unknown: reason why it cannot be read; None where it can.
        remedy: what to do instead.
    """

    name: str
    hub: str | None
    layout: CaptionRows | MtebLayout | None
    licence: str
    expected: Expected
    merge: bool = False
    unknown: str | None = None
    remedy: str = ""

    @property
    def slug(self) -> str:
        """The name as a folder of baselines."""
        return self.name.replace("/", "--")


_STATE = "state them in a folder of layout 'hub' (docs/how-to/hub-datasets.md)"
_COLUMNS = "the columns of its rows that hold the captions and the clip's identity are not known here"
_MIT, _MACS = "MIT, as mteb 2.26 states", "see zenodo.org/records/5114771, as mteb 2.26 states"

#: Counts of the first two: pinned protocol, "Fixtures and protocol"; of mteb's sets: its descriptive statistics.
SETS: dict[str, HubSet] = {
    one.name: one
    for one in (
        HubSet(
            "audiocaps", "CLAPv2/audiocaps", None, "unknown", Expected(957, None, 957), unknown=_COLUMNS, remedy=_STATE
        ),
        HubSet("clotho", "gijs/clotho", None, "unknown", Expected(1_045, None, 5_225), unknown=_COLUMNS, remedy=_STATE),
        HubSet("mteb/audiocaps_t2a", "mteb/audiocaps_t2a", MtebLayout("corpus"), _MIT, Expected(883, 4_411)),
        HubSet("mteb/audiocaps_a2t", "mteb/audiocaps_a2t", MtebLayout("queries"), _MIT, Expected(883, 4_411)),
        HubSet(
            "mteb/Clotho",
            "mteb/Clotho",
            None,
            _MIT,
            Expected(1_045),
            unknown="it joins the captions of a clip into one text, and splitting that at full stops makes 905 empty "
            "queries (mteb #5062)",
            remedy="use lxercode/clotho_t2a_v2",
        ),
        HubSet("lxercode/clotho_t2a_v2", "lxercode/clotho_t2a_v2", MtebLayout("corpus"), _MIT, Expected(1_045, 4_680)),
        HubSet("lxercode/clotho_a2t_v2", "lxercode/clotho_a2t_v2", MtebLayout("queries"), _MIT, Expected(1_045, 4_680)),
        HubSet("mteb/MACS_t2a", "mteb/MACS_t2a", MtebLayout("corpus"), _MACS, Expected(393, 393)),
        HubSet("mteb/MACS_a2t", "mteb/MACS_a2t", MtebLayout("queries"), _MACS, Expected(393, 393)),
        HubSet(
            "mecat",
            "mispeech/MECAT-Caption",
            CaptionRows("flac", "__key__", ("json.short",), "00A/test_*.tar.gz"),
            "CC-BY-3.0, as its page states",
            Expected(848),
        ),
    )
}


def subsets_of(hub: str) -> Subsets:
    """Return the file patterns of a repository's subsets: a named set's own, else those of split ``test``."""
    known = next((one.layout for one in SETS.values() if one.hub == hub and one.layout is not None), None)
    return known.subsets if known else [(CaptionRows.pattern,)]


def patterns_of(hub: str) -> list[str]:
    """Return the patterns of ``subsets_of`` in one list."""
    return [pattern for subset in subsets_of(hub) for pattern in subset]
