"""Claims about reformulated queries: a value per source query first, as in ``metrics.retrieval``.

MeanRD (CORA, eq. 2) is no ``Metric``: no interval for a mean of raw rank drops is honest when a few queries fall by
hundreds of places. Ranks are claimed on a logarithmic scale instead, where the pool's size bounds every value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.metrics.retrieval import Metric, RankingLike, depth

if TYPE_CHECKING:
    from pytest_audioretrieval.metrics.retrieval import Floats, Ints


#: As the ``form`` of a metric: it is about every form at once.
ALL = "all"


class FormLike(Protocol):
    """What one form does to Q queries, [Q] each."""

    @property
    def rank(self) -> Ints:
        """1-based rank of the target."""

    @property
    def tal(self) -> Floats:
        """Target alignment loss."""

    @property
    def hnp(self) -> Floats:
        """Hard negative pull."""


class FormsLike(RankingLike, Protocol):
    """What these metrics read: the columns of a run of direction ``forms``."""

    @property
    def source_rank(self) -> Ints:
        """Rank of the target under the source query, [Q]."""

    @property
    def forms(self) -> Mapping[str, FormLike]:
        """By name of the form."""


def form_hit_rate(form: str, k: int) -> Metric:
    """``FORM:R@k``: 1 where the target is among the first ``k`` when asked in this form, else 0."""
    return _metric(f"{form}:R@{depth(k)}", True, (0.0, 1.0), partial(_hits, form=form, k=k), form)


def rank_loss(form: str) -> Metric:
    """``FORM:rank_loss``: log2(rank / source rank); 1 where the target stands twice as far down as under the source."""
    return _metric(f"{form}:rank_loss", False, (None, None), partial(_loss, form=form), form, (-1, 1))


def tbmd(form: str) -> Metric:
    """``FORM:TBMD``: target boundary margin degradation, in cosine (CORA, eq. 6)."""
    return _metric(f"{form}:TBMD", False, (-4.0, 4.0), partial(_tbmd, form=form), form)


def worst_hit_rate(k: int) -> Metric:
    """``worst:R@k``: 1 where the target is among the first ``k`` in every form, else 0."""
    return _metric(f"worst:R@{depth(k)}", True, (0.0, 1.0), partial(_worst_hits, k=k), ALL)


def worst_rank_loss() -> Metric:
    """``worst:rank_loss``: the largest ``rank_loss`` of a query's forms."""
    return _metric("worst:rank_loss", False, (None, None), _worst_loss, ALL, (-1, 1))


def rank_spread() -> Metric:
    """``spread:log2_rank``: log2 of a query's worst rank over its best among its forms; 0 where all rank alike."""
    return _metric("spread:log2_rank", False, (0.0, None), _spread, ALL, (0, 1))


def _metric(
    name: str,
    higher_is_better: bool,
    bounds: tuple[float | None, float | None],
    per_query: Callable[[FormsLike], Floats],
    form: str | None = None,
    octaves: tuple[int, int] | None = None,
) -> Metric:
    return Metric(
        name, higher_is_better, bounds, cast("Callable[[RankingLike], Floats]", per_query), form=form, octaves=octaves
    )


def _form(run: FormsLike, name: str) -> FormLike:
    forms = _forms(run)
    if name not in forms:
        raise SpecError(f"no form {name!r} in this run: expected one of {', '.join(forms)}")
    return forms[name]


def _forms(run: FormsLike) -> Mapping[str, FormLike]:
    if not getattr(run, "forms", None):
        raise SpecError("this run has no forms: ask in direction 'forms'")
    return run.forms


def _hits(run: FormsLike, form: str, k: int) -> Floats:
    return (_form(run, form).rank <= k).astype("float64")


def _loss(run: FormsLike, form: str) -> Floats:
    return _log2_ratio(_form(run, form).rank, run.source_rank)


def _tbmd(run: FormsLike, form: str) -> Floats:
    chosen = _form(run, form)
    degradation: Floats = chosen.tal + chosen.hnp
    return degradation


def _worst_hits(run: FormsLike, k: int) -> Floats:
    import numpy as np

    worst: Ints = np.max([form.rank for form in _forms(run).values()], axis=0)
    return (worst <= k).astype("float64")


def _worst_loss(run: FormsLike) -> Floats:
    import numpy as np

    return _log2_ratio(np.max([form.rank for form in _forms(run).values()], axis=0), run.source_rank)


def _spread(run: FormsLike) -> Floats:
    import numpy as np

    ranks = [form.rank for form in _forms(run).values()]
    return _log2_ratio(np.max(ranks, axis=0), np.min(ranks, axis=0))


def _log2_ratio(one: Ints, other: Ints) -> Floats:
    import numpy as np

    ratio: Floats = np.log2(one.astype(np.float64)) - np.log2(other.astype(np.float64))
    return ratio
