"""A run: the per-query outcomes of one model on one dataset, direction and protocol, with its provenance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.errors import BaselineError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.data.types import Violation
    from pytest_audioretrieval.runs.form_rows import FormRow

SCHEMA = "pytest-audioretrieval/run/1"

#: Digits after the point that a stored margin keeps: float32 vectors carry no more.
MARGIN_DIGITS = 7
#: Two cosines differ by at most this.
COSINES_APART = 2.0
MOST_CANDIDATES = 2**31
#: Directions with two candidates a query, so that chance is one half.
TWO_OPTIONS = ("choice", "texts")
#: Digits after the point that a stored average precision keeps.
AP_DIGITS = 9


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which weights answered."""

    id: str
    revision: str | None
    weights_sha256: str


class DatasetRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was asked: ``candidates`` is a digest of the pool that is ranked, the rest as in ``Dataset``."""

    name: str
    revision: str | None
    fingerprint: str
    candidates: str
    clips: int
    queries: int


class FormOutcomes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one form does to every query, in the order of the queries (CORA, eq. 1 to 7).

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

    Of a run of direction ``choice`` the candidates are the two options, of ``texts`` the swap and the paraphrase, which
    should be nearer; on a tie the one that is right has rank 2.
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


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """See the module; ``metrics`` are means for reading, never for judging."""

    schema: str
    model: Model
    dataset: DatasetRef
    direction: str
    protocol: dict[str, Any]
    environment: dict[str, str]
    metrics: dict[str, float]
    queries: Outcomes

    @cached_property
    def columns(self) -> Columns:
        """The outcomes as arrays, as a ``Metric`` reads them."""
        return Columns(self.queries, self.direction)

    @cached_property
    def form_rows(self) -> list[FormRow]:
        """What each reformulation costs; empty but for direction ``forms``."""
        from pytest_audioretrieval.runs.form_rows import form_rows

        return form_rows(self)


class Columns:
    """What a metric reads of a run: arrays of one entry per query."""

    def __init__(self, outcomes: Outcomes, direction: str) -> None:
        import numpy as np

        self.direction = direction
        self.first_hit_rank: npt.NDArray[np.int64] = np.asarray(outcomes.first_hit_rank, dtype=np.int64)
        self.margin: npt.NDArray[np.float64] = np.asarray(outcomes.margin, dtype=np.float64)
        if direction in TWO_OPTIONS:  # of a pool, a tie is no half of an answer
            self.tied: npt.NDArray[np.int64] = np.asarray(outcomes.tied, dtype=np.int64)
        rows = outcomes.relevant_ranks or [[rank] for rank in outcomes.first_hit_rank]
        self.relevant_ranks: list[npt.NDArray[np.int64]] = [np.asarray(row, dtype=np.int64) for row in rows]
        self.source_rank: npt.NDArray[np.int64] = np.asarray(outcomes.source_rank or [], dtype=np.int64)
        self.slices: list[str] = outcomes.slice or []
        self.swap_distance, self.paraphrase_distance = (
            np.asarray(column or [], dtype=np.float64)
            for column in (outcomes.swap_distance, outcomes.paraphrase_distance)
        )
        self.forms: dict[str, FormColumns] = {
            name: FormColumns(*(np.asarray(getattr(form, field)) for field in FormOutcomes.__struct_fields__))
            for name, form in (outcomes.forms or {}).items()
        }


class FormColumns(NamedTuple):
    """One form's outcomes as arrays of one entry per query; see ``FormOutcomes``."""

    rank: npt.NDArray[np.int64]
    move: npt.NDArray[np.float64]
    tal: npt.NDArray[np.float64]
    hnp: npt.NDArray[np.float64]


class Shown(NamedTuple):
    """For a person to read, [Q] each: what was asked, what ranks first, and where the data tell, what should and why.

    ``broken`` is what the query asks for and the first does not meet; both are empty where the data tell neither.
    """

    query: Sequence[str]
    first: Sequence[str]
    right: Sequence[str] = ()
    broken: Sequence[Sequence[Violation]] = ()


class Subject(msgspec.Struct, frozen=True):
    """A run at hand, with what only memory holds.

    Attributes:
        shown: of the run's queries.
        forms: the same of each form, in a run of direction ``forms``.
        notes: what the dataset's loader counted, such as repeated captions it removed.
    """

    run: Run
    shown: Shown
    notes: Sequence[str] = ()
    forms: Mapping[str, Shown] = {}


def same_outcomes(one: Run, other: Run) -> bool:
    """Whether every per-query outcome is equal."""
    return one.queries == other.queries


def pool_digest(candidates: Iterable[tuple[str, str]]) -> str:
    """sha256 (hex) over (id, content) of the candidate pool, in order."""
    return hashlib.sha256(json.dumps(list(candidates), ensure_ascii=False).encode()).hexdigest()


def encode(run: Run) -> str:
    """Strict JSON: UTF-8, sorted keys, one array a line, no NaN."""
    return _pretty(msgspec.to_builtins(run), indent=0) + "\n"


def _pretty(value: Any, indent: int) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    pad = "  " * (indent + 1)
    rows = ",\n".join(f"{pad}{json.dumps(key)}: {_pretty(value[key], indent + 1)}" for key in sorted(value))
    return "{\n" + rows + "\n" + "  " * indent + "}"


def decode(content: bytes, where: str) -> Run:
    """Read a stored run strictly.

    Raises:
        BaselineError: cut short, not JSON, NaN, another schema, or columns that contradict each other;
            the message names ``where`` and the field.
    """
    again = "restore the file from version control or record it anew with --retrieval-record all"
    try:
        run = msgspec.json.decode(content, type=Run)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{where}: no readable run: {error}: {again}") from None
    if run.schema != SCHEMA:
        raise BaselineError(f"{where}: schema is {run.schema!r}, expected {SCHEMA!r}: {again}")
    fault = _contradiction(run)
    if fault:
        raise BaselineError(f"{where}: {fault}: {again}")
    return run


def _contradiction(run: Run) -> str | None:
    """The first thing in a run that cannot be, or None."""
    q, count = run.queries, run.dataset.queries
    if count < 1:
        return f"dataset.queries is {count}, expected at least 1"
    for name, column in _stored_columns(q):
        if len(column) != count:
            return f"queries.{name} has {len(column)} entries, expected dataset.queries = {count}"
    if len(set(q.id)) != count:
        twice = next(i for i in q.id if q.id.count(i) > 1)
        return f"query id {twice!r} stands twice"
    # Of a choice, the margin may be one of a pair scorer, which has a scale of its own.
    apart = float("inf") if run.direction == "choice" else COSINES_APART
    for name, low, high in (("margin", -apart, apart), ("ap", 0.0, 1.0)):
        for query, value in zip(q.id, getattr(q, name), strict=True):
            if not low <= value <= high:
                return f"query {query!r}: {name} is {value}, expected {low:g} to {high:g}"
    return (
        _missing_or_spare_columns(run)
        or _impossible_rank(run)
        or _impossible_form(run)
        or _impossible_distance(run)
        or _impossible_choice(run)
        or _wrong_precision(run)  # last: a number that cannot be may be too large for an array
    )


def _stored_columns(q: Outcomes) -> Iterator[tuple[str, list[Any]]]:
    """Every list of one entry per query, by name."""
    for name in q.__struct_fields__:
        column = getattr(q, name)
        if isinstance(column, list):
            yield name, column
    for form, outcomes in (q.forms or {}).items():
        for name in outcomes.__struct_fields__:
            yield f"forms.{form}.{name}", getattr(outcomes, name)


def _missing_or_spare_columns(run: Run) -> str | None:
    q, asked = run.queries, run.direction == "forms"
    for field, needed in (
        ("forms", asked),
        ("source_rank", asked),
        ("swap_distance", run.direction == "texts"),
        ("paraphrase_distance", run.direction == "texts"),
    ):
        if (getattr(q, field) is not None) != needed:
            return f"direction is {run.direction!r} {'without' if needed else 'with'} queries.{field}"
    if run.direction in TWO_OPTIONS and q.relevant_ranks is not None:
        return f"direction is {run.direction!r} with queries.relevant_ranks"
    if asked and set(q.forms or ()) != set(FORMS):
        return f"queries.forms are {', '.join(q.forms or ()) or 'none'}, expected {', '.join(FORMS)}"
    return None


def _impossible_form(run: Run) -> str | None:
    q = run.queries
    for query, source, first in zip(q.id, q.source_rank or [], q.first_hit_rank, strict=False):
        if not 1 <= source <= first:  # it has no more rivals
            return f"query {query!r}: source_rank {source} with first_hit_rank {first} cannot be"
    for name, form in (q.forms or {}).items():
        for query, rank in zip(q.id, form.rank, strict=True):
            if not 1 <= rank <= run.dataset.clips:
                return f"query {query!r}: rank {rank} of form {name!r}, expected 1 to {run.dataset.clips}"
        for column in (form.move, form.tal, form.hnp):
            for query, value in zip(q.id, column, strict=True):
                if not abs(value) <= COSINES_APART:
                    return f"query {query!r}: {value} of form {name!r}, expected cosines apart by at most 2"
    return None


def _impossible_distance(run: Run) -> str | None:
    q = run.queries
    for column in (q.swap_distance or [], q.paraphrase_distance or []):
        for query, value in zip(q.id, column, strict=False):
            if not 0 <= value <= COSINES_APART:
                return f"query {query!r}: distance {value}, expected 0 to {COSINES_APART:g}"
    return None


def _impossible_choice(run: Run) -> str | None:
    """Of two options: rank, tie, margin and distances say one thing, but for the digits that are not stored."""
    q = run.queries
    if run.direction not in TWO_OPTIONS:
        return None
    for query, rank, worst, tied, margin in zip(
        q.id, q.first_hit_rank, q.pessimistic_rank, q.tied, q.margin, strict=True
    ):
        right = margin >= 0 if rank == 1 else margin <= 0
        if not right or worst != rank or tied not in (0, 1) or (tied and (rank == 1 or margin)):
            return f"query {query!r}: rank {rank} (pessimistic {worst}), tied {tied} and margin {margin} cannot be"
    for query, margin, swap, near in zip(
        q.id, q.margin, q.swap_distance or [], q.paraphrase_distance or [], strict=False
    ):
        if abs(margin - (swap - near)) > 2 * 10**-MARGIN_DIGITS:
            return f"query {query!r}: margin {margin} does not follow from its distances {swap} and {near}"
    return None


def _impossible_rank(run: Run) -> str | None:
    q = run.queries
    # Every text is a query of one direction and a candidate of the other; only the number of clips is known.
    last = {"a2t": MOST_CANDIDATES, "choice": 2, "texts": 2}.get(run.direction, run.dataset.clips)
    for position, rank in enumerate(q.first_hit_rank):
        ranks = q.relevant_ranks[position] if q.relevant_ranks else [rank]
        if not ranks or ranks[0] != rank or sorted(set(ranks)) != ranks or ranks[0] < 1 or ranks[-1] > last:
            return f"query {q.id[position]!r}: ranks {ranks} with first_hit_rank {rank} cannot be"
        if (
            not q.tied[position] >= 0
            or not 1 <= q.pessimistic_rank[position] <= last
            or q.pessimistic_rank[position] < rank
        ):
            return (
                f"query {q.id[position]!r}: pessimistic_rank {q.pessimistic_rank[position]} with rank {rank} cannot be"
            )
    return None


def _wrong_precision(run: Run) -> str | None:
    from pytest_audioretrieval.metrics.retrieval import map_at

    for name, stored, found in zip(run.queries.id, run.queries.ap, map_at(10)(run.columns), strict=True):
        if abs(stored - found) > 1e-6:
            return f"query {name!r}: ap {stored} does not follow from its ranks, which give {found:.9f}"
    return None
