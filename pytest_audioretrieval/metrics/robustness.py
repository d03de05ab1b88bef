"""Metrics of reformulated queries, with one value for each source query.

MeanRD (CORA, eq. 2) is no ``Metric``: no interval for a mean of raw rank drops is honest when a few queries fall by
hundreds of places. Claims about ranks are made on a logarithmic scale instead, where the size of the pool limits every
value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from pytest_audioretrieval.errors import SpecError, did_you_mean
from pytest_audioretrieval.metrics.retrieval import Metric, RankingLike, checked_k

if TYPE_CHECKING:
    from pytest_audioretrieval.metrics.retrieval import Floats, Ints


#: Value of ``Metric.form`` for a metric that reads every form at once.
ALL = "all"


class FormLike(Protocol):
    """Measures of Q queries that were asked in one form, [Q] each."""

    @property
    def rank(self) -> Ints:
        """1-based rank of the target, [Q]."""

    @property
    def tal(self) -> Floats:
        """Target alignment loss in cosine, [Q] (CORA, eq. 7)."""

    @property
    def hnp(self) -> Floats:
        """Hard negative pull in cosine, [Q] (CORA, eq. 7)."""


class FormsLike(RankingLike, Protocol):
    """Run of direction ``forms``, which these metrics read."""

    @property
    def source_rank(self) -> Ints:
        """Rank of the target under the source query, [Q]."""

    @property
    def forms(self) -> Mapping[str, FormLike]:
        """Measures of each form, by its name."""


def form_hit_rate(form: str, k: int) -> Metric:
    """Return ``FORM:R@k``: 1 where the target is among the first ``k`` when the query is asked in this form, else 0.

    Its values are float64 [Q], 0 or 1.

    Source: CORA, section 3.3 (Recall@k of one target).

    Args:
        form: name of the form, such as ``command``.
        k: number of candidates that are looked at, at least 1; it may exceed the pool.

    Raises:
        SpecError: ``k`` is no whole number of at least 1; on a call, a run without this form.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import form_hit_rate
    >>> command = SimpleNamespace(rank=np.array([4, 1]), tal=np.array([0.25, 0.0]), hnp=np.array([0.125, -0.5]))
    >>> question = SimpleNamespace(rank=np.array([1, 1]), tal=np.array([0.0, 0.0]), hnp=np.array([0.0, 0.0]))
    >>> run = SimpleNamespace(source_rank=np.array([2, 1]), forms={"command": command, "question": question})
    >>> form_hit_rate("command", 1)(run).tolist()
    [0.0, 1.0]
    """
    return _metric(f"{form}:R@{checked_k(k)}", True, (0.0, 1.0), partial(_hits, form=form, k=k), form)


def rank_loss(form: str) -> Metric:
    """Return ``FORM:rank_loss``: log2(rank / source rank), 1 where the target's rank is twice that of the source query.

    Its values are float64 [Q], in octaves; above 0 the target fell.

    Source: CORA, eq. 1, on a logarithmic scale.

    Args:
        form: name of the form, such as ``command``.

    Raises:
        SpecError: on a call, a run without this form.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import rank_loss
    >>> command = SimpleNamespace(rank=np.array([4, 1]), tal=np.array([0.25, 0.0]), hnp=np.array([0.125, -0.5]))
    >>> question = SimpleNamespace(rank=np.array([1, 1]), tal=np.array([0.0, 0.0]), hnp=np.array([0.0, 0.0]))
    >>> run = SimpleNamespace(source_rank=np.array([2, 1]), forms={"command": command, "question": question})
    >>> rank_loss("command")(run).tolist()
    [1.0, 0.0]
    """
    return _metric(f"{form}:rank_loss", False, (None, None), partial(_loss, form=form), form, (-1, 1))


def tbmd(form: str) -> Metric:
    """Return ``FORM:TBMD``: target boundary margin degradation.

    Its values are float64 [Q], in cosine from -4 to 4.

    Source: CORA, eq. 6 and 7 (tal + hnp).

    Args:
        form: name of the form, such as ``command``.

    Raises:
        SpecError: on a call, a run without this form.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import tbmd
    >>> command = SimpleNamespace(rank=np.array([4, 1]), tal=np.array([0.25, 0.0]), hnp=np.array([0.125, -0.5]))
    >>> question = SimpleNamespace(rank=np.array([1, 1]), tal=np.array([0.0, 0.0]), hnp=np.array([0.0, 0.0]))
    >>> run = SimpleNamespace(source_rank=np.array([2, 1]), forms={"command": command, "question": question})
    >>> tbmd("command")(run).tolist()
    [0.375, -0.5]
    """
    return _metric(f"{form}:TBMD", False, (-4.0, 4.0), partial(_tbmd, form=form), form)


def worst_hit_rate(k: int) -> Metric:
    """Return ``worst:R@k``: 1 where the target is among the first ``k`` in every form, else 0.

    Its values are float64 [Q], 0 or 1.

    Source: CORA, section 3.3 (Recall@k of one target), over the worst form of each query.

    Args:
        k: number of candidates that are looked at, at least 1; it may exceed the pool.

    Raises:
        SpecError: ``k`` is no whole number of at least 1; on a call, a run without forms.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import worst_hit_rate
    >>> command = SimpleNamespace(rank=np.array([4, 1]), tal=np.array([0.25, 0.0]), hnp=np.array([0.125, -0.5]))
    >>> question = SimpleNamespace(rank=np.array([1, 1]), tal=np.array([0.0, 0.0]), hnp=np.array([0.0, 0.0]))
    >>> run = SimpleNamespace(source_rank=np.array([2, 1]), forms={"command": command, "question": question})
    >>> worst_hit_rate(1)(run).tolist()
    [0.0, 1.0]
    """
    return _metric(f"worst:R@{checked_k(k)}", True, (0.0, 1.0), partial(_worst_hits, k=k), ALL)


def worst_rank_loss() -> Metric:
    """Return ``worst:rank_loss``: the largest ``rank_loss`` among a query's forms, log2(worst rank / source rank).

    Its values are float64 [Q], in octaves.

    Source: CORA, eq. 1, on a logarithmic scale and over the worst form of each query.

    Raises:
        SpecError: on a call, a run without forms.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import worst_rank_loss
    >>> command = SimpleNamespace(rank=np.array([4, 1]), tal=np.array([0.25, 0.0]), hnp=np.array([0.125, -0.5]))
    >>> question = SimpleNamespace(rank=np.array([1, 1]), tal=np.array([0.0, 0.0]), hnp=np.array([0.0, 0.0]))
    >>> run = SimpleNamespace(source_rank=np.array([2, 1]), forms={"command": command, "question": question})
    >>> worst_rank_loss()(run).tolist()
    [1.0, 0.0]
    """
    return _metric("worst:rank_loss", False, (None, None), _worst_loss, ALL, (-1, 1))


def rank_spread() -> Metric:
    """Return ``spread:log2_rank``: log2 of a query's worst rank over its best rank among its forms.

    0 where all forms give the target one rank.

    Its values are float64 [Q], octaves of at least 0.

    Source: CORA, eq. 1, on a logarithmic scale and between the forms of each query.

    Raises:
        SpecError: on a call, a run without forms.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pytest_audioretrieval.metrics import rank_spread
    >>> command = SimpleNamespace(rank=np.array([4, 1]), tal=np.array([0.25, 0.0]), hnp=np.array([0.125, -0.5]))
    >>> question = SimpleNamespace(rank=np.array([1, 1]), tal=np.array([0.0, 0.0]), hnp=np.array([0.0, 0.0]))
    >>> run = SimpleNamespace(source_rank=np.array([2, 1]), forms={"command": command, "question": question})
    >>> rank_spread()(run).tolist()
    [2.0, 0.0]
    """
    return _metric("spread:log2_rank", False, (0.0, None), _spread, ALL, (0, 1))


def _metric(
    name: str,
    higher_is_better: bool,
    bounds: tuple[float | None, float | None],
    per_query: Callable[[FormsLike], Floats],
    form: str | None = None,
    octaves: tuple[int, int] | None = None,
) -> Metric:
    """Return a metric that reads a run of direction ``forms``."""
    return Metric(
        name, higher_is_better, bounds, cast("Callable[[RankingLike], Floats]", per_query), form=form, octaves=octaves
    )


def _form(run: FormsLike, name: str) -> FormLike:
    """Return the measures of one form, or raise ``SpecError`` where the run has none of it."""
    forms = _forms(run)
    if name not in forms:
        raise SpecError(
            f"no form {name!r} in this run",
            expected=f"one of {', '.join(forms)}",
            remedy=f"{did_you_mean(name, forms)}choose a form of the run",
        )
    return forms[name]


def _forms(run: FormsLike) -> Mapping[str, FormLike]:
    """Return the measures of all forms, or raise ``SpecError`` where the run has none."""
    if not getattr(run, "forms", None):
        raise SpecError("this run has no forms", remedy="ask in direction 'forms'")
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
    """Return log2(one / other)."""
    import numpy as np

    ratio: Floats = np.log2(one.astype(np.float64)) - np.log2(other.astype(np.float64))
    return ratio
