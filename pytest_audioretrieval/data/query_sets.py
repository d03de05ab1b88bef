"""Query sets: one source caption, its reformulations, one fixed target (CORA, Section 3.1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import DataError

Cases = Literal["complete", "available"]
#: Number of ids that an error shows of each side.
SHOWN = 3


@dataclass(frozen=True)
class QueryItem:
    """One source caption and its reformulations.

    Attributes:
        id: unique within its set.
        clip: id of the target, which is also the cluster: all forms of all captions of a clip are resampled together.
        source: the source caption.
        forms: form -> query; in a ``QuerySet``, a form that the item lacks has no key.
        others: further captions of the clip; they are neither asked nor counted as items.
        also_relevant: other clips that have the very same source caption, in document order.
    """

    id: str
    clip: str
    source: str
    forms: Mapping[str, str]
    others: tuple[str, ...] = ()
    also_relevant: tuple[str, ...] = ()


class QueryPair(NamedTuple):
    """A source caption and one reformulation of it: ``items[item]``, the form, the query."""

    item: int
    form: str
    text: str


@dataclass(frozen=True)
class QuerySet:
    """The items of a query set that are asked, and an account of those left out.

    Attributes:
        name: of the set.
        forms: all forms of the set, in the order of ``pairs``.
        items: the analysed ones, in document order.
        clips: the clips of all items, also of excluded ones, in document order: the pool to rank where no dataset
            gives a larger one.
        missing: form -> ids of the items whose query of that form is missing or empty; forms that no item lacks
            have no key.
        excluded: ids of the items left out of ``items``.
        notes: counts for the report.
    """

    name: str
    forms: tuple[str, ...]
    items: tuple[QueryItem, ...]
    clips: tuple[str, ...]
    missing: Mapping[str, tuple[str, ...]]
    excluded: tuple[str, ...]
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def pairs(self) -> tuple[QueryPair, ...]:
        """The pairs of source caption and reformulation, [P]: item by item, in the order of ``forms``."""
        return tuple(
            QueryPair(number, form, item.forms[form])
            for number, item in enumerate(self.items)
            for form in self.forms
            if form in item.forms
        )


def collect(
    name: str,
    items: Iterable[QueryItem],
    forms: Sequence[str] = FORMS,
    *,
    cases: Cases = "complete",
    captions: Iterable[tuple[str, str]] | None = None,
    notes: Mapping[str, int] | None = None,
) -> QuerySet:
    """Make a query set by the complete-case rule, and count what it leaves out (CORA, Table 1 and Appendix A.2).

    Args:
        name: of the set.
        items: in document order; a form may be missing or empty.
        forms: all forms of the set, in the order of pairs.
        cases: ``"complete"`` leaves out an item that lacks any form, as the paper does; ``"available"`` keeps the
            forms there are and leaves out an item only where it has none.
        captions: (text, clip) of every known caption; clips that share an item's source become ``also_relevant``.
            By default the items' own sources, also of excluded items: their clips are still ranked.
        notes: counts that a loader has made already.

    Raises:
        DataError: an item has a form that the set lacks; no item is left.
    """
    known = [_strip(item, forms) for item in items]
    missing = {form: tuple(item.id for item in known if form not in item.forms) for form in forms}
    needed = len(forms) if cases == "complete" else 1
    sharing = _clips_by_text(captions or ((item.source, item.clip) for item in known))
    made = QuerySet(
        name=name,
        forms=tuple(forms),
        items=tuple(_with_others(item, sharing) for item in known if len(item.forms) >= needed),
        clips=tuple(dict.fromkeys(item.clip for item in known)),
        missing={form: ids for form, ids in missing.items() if ids},
        excluded=tuple(item.id for item in known if len(item.forms) < needed),
    )
    if not made.items:
        raise _no_items(made, cases)
    return replace(made, notes={**(notes or {}), **_count(made, cases)})


def from_dataset(dataset: Dataset, *, cases: Cases = "complete") -> QuerySet:
    """Make a query set of the captions of ``dataset`` that have forms; a caption's id is the item's.

    Raises:
        DataError: no caption has forms; or as ``collect``.
    """
    asked = [QueryItem(c.id, c.clip, c.text, c.forms) for c in dataset.captions if c.forms]
    if not asked:
        raise DataError(
            f"{dataset.name}: no caption has forms", remedy=f"add 'forms' ({', '.join(FORMS)}) to its captions"
        )
    return collect(
        dataset.name,
        asked,
        cases=cases,
        captions=[(c.text, c.clip) for c in dataset.captions],
        notes={"captions without any form, not asked": left} if (left := len(dataset.captions) - len(asked)) else {},
    )


def positions(queries: QuerySet, candidates: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the candidate indices of each item's clips: the target first, then those also relevant.

    Args:
        queries: a set of I items.
        candidates: the clip ids that are ranked, in document order.

    Returns:
        Candidate indices, [I][>= 1].

    Raises:
        DataError: a clip of the set, or of an excluded item, is no candidate; both sides are shown. Ids are never
            matched loosely: released query sets and audio spell the ids of the same clips differently.
    """
    index = {clip: number for number, clip in enumerate(candidates)}
    unknown = [clip for clip in queries.clips if clip not in index]
    if unknown:
        raise _unmatched(queries, unknown, candidates)
    return tuple(
        (index[item.clip], *(index[clip] for clip in item.also_relevant if clip in index)) for item in queries.items
    )


def _strip(item: QueryItem, forms: Sequence[str]) -> QueryItem:
    foreign = [form for form in item.forms if form not in forms]
    if foreign:
        raise DataError(
            f"item {item.id!r} has the form {foreign[0]!r}",
            expected=f"only {', '.join(forms)}",
            remedy="remove it or correct its name",
        )
    stripped = {form: item.forms.get(form, "").strip() for form in forms}
    return replace(item, forms={form: text for form, text in stripped.items() if text})


def _clips_by_text(captions: Iterable[tuple[str, str]]) -> Mapping[str, dict[str, None]]:
    """Map each text to its clips, in document order."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for text, clip in captions:
        found[text][clip] = None
    return found


def _with_others(item: QueryItem, sharing: Mapping[str, Iterable[str]]) -> QueryItem:
    return replace(item, also_relevant=tuple(clip for clip in sharing[item.source] if clip != item.clip))


def _count(made: QuerySet, cases: Cases) -> dict[str, int]:
    asked = _clips_by_text((pair.text, made.items[pair.item].clip) for pair in made.pairs)
    rule = "a form is missing (complete cases)" if cases == "complete" else "no form is there (available cases)"
    counts = Counter({f"items without a query of form {form}": len(ids) for form, ids in made.missing.items()})
    counts[f"items left out because {rule}"] = len(made.excluded)
    counts["items whose source caption other clips have too"] = sum(bool(item.also_relevant) for item in made.items)
    counts["queries that read the same for several clips"] = sum(len(asked[pair.text]) > 1 for pair in made.pairs)
    return {what: count for what, count in counts.items() if count}


def _no_items(made: QuerySet, cases: Cases) -> DataError:
    lacks = ", ".join(f"{form} {len(ids)}" for form, ids in made.missing.items())
    return DataError(
        f"{made.name}: no item to ask among {len(made.excluded)} (items that lack a form: {lacks or 'none'})",
        expected=f"{'all of' if cases == 'complete' else 'one of'} {', '.join(made.forms)} for one item at least",
        remedy="write the missing queries",
    )


def _unmatched(queries: QuerySet, unknown: Sequence[str], candidates: Sequence[str]) -> DataError:
    asked = set(queries.clips)
    spare = [clip for clip in candidates if clip not in asked]
    stems = {_stem(clip) for clip in spare}
    # An id may hold a point and yet have no ending.
    alike = sum(_stem(clip) in stems or clip in stems for clip in unknown)
    hint = f" ({alike} of these match a clip but for the ending of its name)" if alike else ""
    return DataError(
        f"{queries.name}: {len(unknown)} of {len(queries.clips)} audio ids are not among the {len(candidates)} clips "
        f"that are ranked: {_few(unknown)}{hint}; {len(spare)} of those clips have no query: {_few(spare)}",
        remedy="spell the ids alike or load the dataset that the queries were written for",
    )


def _stem(clip: str) -> str:
    return clip.rpartition(".")[0] or clip


def _few(ids: Sequence[str]) -> str:
    return (", ".join(map(repr, ids[:SHOWN])) or "none") + (", ..." if len(ids) > SHOWN else "")
