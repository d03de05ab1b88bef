"""Per-query outcomes of a run as they are stored, and what a person is shown of each query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.data.types import Violation

#: Digits after the point that a stored margin keeps: float32 vectors carry no more.
MARGIN_DIGITS = 7
#: Digits after the point that a stored average precision keeps.
AP_DIGITS = 9


class FormOutcomes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Outcomes of every query in one form, in the order of the queries (CORA, eq. 1 to 7).

    Attributes:
        rank: of the target when asked in this form, other right answers left out.
        move: 1 - cosine to the source query.
        tal, hnp: target alignment loss and hard negative pull; their sum is the TBMD.
    """

    rank: list[int]
    move: list[float]
    tal: list[float]
    hnp: list[float]


class Outcomes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry per query, in document order; ranks are exact and 1-based.

    Attributes:
        id: query ids.
        cluster: the unit that is resampled.
        first_hit_rank: rank of the best relevant candidate, ties by document order.
        pessimistic_rank: the same, had every tied irrelevant candidate come first.
        tied: irrelevant candidates with exactly the best relevant candidate's score.
        ap: average precision at 10, divided by min(10, relevant).
        margin: best relevant minus best irrelevant cosine.
        relevant_ranks: ranks of all relevant candidates, where some query has more than one.
        source_rank: of the target, other right answers left out; what the forms' ranks are compared with.
        forms: by name, of a run of direction ``forms``.
        slice: the part of the benchmark that each query belongs to, where it has parts.
        swap_distance, paraphrase_distance: 1 - cosine of a caption to its swap and to its paraphrase, of a run of
            direction ``texts``.

    A direction states which of the optional columns its runs have (``directions.direction.Direction.columns``).
    """

    id: list[str]
    cluster: list[str]
    first_hit_rank: list[int]
    pessimistic_rank: list[int]
    tied: list[int]
    ap: list[float]
    margin: list[float]
    relevant_ranks: list[list[int]] | None = None
    source_rank: list[int] | None = None
    forms: dict[str, FormOutcomes] | None = None
    slice: list[str] | None = None
    swap_distance: list[float] | None = None
    paraphrase_distance: list[float] | None = None


#: Columns that runs of some directions alone have.
OPTIONAL = tuple(one.name for one in msgspec.structs.fields(Outcomes) if one.default is None and one.name != "slice")


class Shown(NamedTuple):
    """Words for a person to read, [Q] each: what was asked, what ranks first, and what should and why it does not.

    ``broken`` is what the query asks for and the first does not meet. Where the data tell neither, ``right`` and
    ``broken`` are empty.
    """

    query: Sequence[str]
    first: Sequence[str]
    right: Sequence[str] = ()
    broken: Sequence[Sequence[Violation]] = ()


def rounded(values: npt.NDArray[np.float64]) -> list[float]:
    """Return cosines and their differences with the digits that are stored."""
    return [round(float(value), MARGIN_DIGITS) for value in values]


def pool_digest(candidates: Iterable[tuple[str, str]]) -> str:
    """Return the sha256 (hex) over (id, content) of the candidate pool, in order."""
    return hashlib.sha256(json.dumps(list(candidates), ensure_ascii=False).encode()).hexdigest()
