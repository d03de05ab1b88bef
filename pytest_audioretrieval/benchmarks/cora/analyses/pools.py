"""Pools of clips that are ranked together, each dataset by itself or all pooled, and their queries (CORA, 4.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_audioretrieval.data.fingerprint import fingerprint
from pytest_audioretrieval.data.queries import clusters
from pytest_audioretrieval.data.query_sets import QueryItem, QuerySet, from_dataset
from pytest_audioretrieval.data.types import Dataset
from pytest_audioretrieval.errors import DataError, refuse_namesakes
from pytest_audioretrieval.runs.directions.forms import with_forms


@dataclass(frozen=True)
class QueriedDataset:
    """A dataset, all clips of which are ranked, and the queries that ask for them."""

    dataset: Dataset
    queries: QuerySet


@dataclass(frozen=True)
class Pool:
    """Clips that are ranked together and the queries that ask for them; every id reads ``dataset::id``.

    Attributes:
        dataset: the clips and captions of all datasets of the pool.
        queries: the items of all of them.
        name_of: item id -> name of its dataset.
        cluster_of: clip id -> resampling unit: the clip, or the first of those that merged captions connect.
    """

    dataset: Dataset
    queries: QuerySet
    name_of: Mapping[str, str]
    cluster_of: Mapping[str, str]


def with_queries(dataset: Dataset) -> QueriedDataset:
    """Return ``dataset`` with every caption in all forms, made by rules where it has none (``with_forms``).

    Raises:
        DataError: no caption has all forms.
    """
    given = with_forms(dataset)
    return QueriedDataset(given, from_dataset(given))


def pools(given: Sequence[QueriedDataset], *, pooled: bool = False) -> list[Pool]:
    """Return one pool a dataset, or with ``pooled`` one of all clips.

    In a pool of several datasets, a clip of another dataset with the very same source caption is also relevant.

    Raises:
        SpecError: two datasets have the same name.
        DataError: query sets to pool have different forms.
    """
    refuse_namesakes("dataset", [one.dataset.name for one in given])
    return [_pool(given)] if pooled else [_pool([one]) for one in given]


def _pool(given: Sequence[QueriedDataset]) -> Pool:
    forms = list(dict.fromkeys(one.queries.forms for one in given))
    if len(forms) > 1:
        raise DataError(
            f"query sets have the forms {', '.join(forms[0])} and {', '.join(forms[1])}",
            expected="the same in all that are pooled",
            remedy="analyse them per dataset",
        )
    own = [_qualified(one) for one in given]
    sharing = _clips_by_text(own)
    items = {
        one.dataset.name: [_with_elsewhere(i, one.dataset.name, sharing) for i in one.queries.items] for one in own
    }
    queries = QuerySet(
        name=_together(one.queries.name for one in own),
        forms=forms[0],
        items=tuple(item for part in items.values() for item in part),
        clips=tuple(clip for one in own for clip in one.queries.clips),
        missing={},
        excluded=tuple(item for one in own for item in one.queries.excluded),
    )
    return Pool(
        dataset=_joined([one.dataset for one in own]),
        queries=queries,
        name_of={item.id: name for name, part in items.items() for item in part},
        cluster_of={
            f"{one.dataset.name}::{clip}": f"{one.dataset.name}::{first}"
            for one in given
            for clip, first in clusters(one.dataset).items()
        },
    )


def _qualified(one: QueriedDataset) -> QueriedDataset:
    """Return the dataset and its queries under ids that are unique over datasets."""
    dataset, queries = one.dataset, one.queries

    def full(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{dataset.name}::{name}" for name in ids)

    def item_of(item: QueryItem) -> QueryItem:
        own, clip = full((item.id, item.clip))
        return replace(item, id=own, clip=clip, also_relevant=full(item.also_relevant))

    clips = zip(dataset.clips, full(clip.id for clip in dataset.clips), strict=True)
    captions = zip(
        dataset.captions, full(c.id for c in dataset.captions), full(c.clip for c in dataset.captions), strict=True
    )
    return QueriedDataset(
        replace(
            dataset,
            clips=tuple(replace(clip, id=name) for clip, name in clips),
            captions=tuple(replace(caption, id=name, clip=clip) for caption, name, clip in captions),
        ),
        replace(
            queries,
            items=tuple(item_of(item) for item in queries.items),
            clips=full(queries.clips),
            excluded=full(queries.excluded),
        ),
    )


def _clips_by_text(own: Sequence[QueriedDataset]) -> Mapping[str, dict[str, str]]:
    """Map each text of captions and sources to its clips, and each clip to its dataset."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for one in own:
        for text, clip in (
            *((caption.text, caption.clip) for caption in one.dataset.captions),
            *((item.source, item.clip) for item in one.queries.items),
        ):
            found[text][clip] = one.dataset.name
    return found


def _with_elsewhere(item: QueryItem, name: str, sharing: Mapping[str, Mapping[str, str]]) -> QueryItem:
    elsewhere = (clip for clip, other in sharing[item.source].items() if other != name)
    return replace(item, also_relevant=(*item.also_relevant, *elsewhere))


def _joined(datasets: Sequence[Dataset]) -> Dataset:
    if len(datasets) == 1:
        return datasets[0]
    clips = tuple(clip for dataset in datasets for clip in dataset.clips)
    captions = tuple(caption for dataset in datasets for caption in dataset.captions)
    name = _together(dataset.name for dataset in datasets)
    return Dataset(name, None, clips, captions, fingerprint(clips, captions, merged=False))


def _together(names: Iterable[str]) -> str:
    return " + ".join(names)
