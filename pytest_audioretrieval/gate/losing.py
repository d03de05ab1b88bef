"""Queries that lost against a baseline, and the reasons, for the screen of a failure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_audioretrieval.metrics.robustness import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from pytest_audioretrieval.metrics.retrieval import Metric
    from pytest_audioretrieval.runs.outcomes import Shown
    from pytest_audioretrieval.runs.run import MeasuredRun, Run

#: How many of the queries that lost most a failure shows.
LOSERS = 5


class LostQuery(msgspec.Struct, frozen=True):
    """A query whose outcome fell: ranks before and after, and what ranks first now.

    ``right`` is what should, and ``why`` tells what of the query the first does not meet, where the data tell.
    """

    id: str
    shown: str
    before: int
    after: int
    first: str
    right: str = ""
    why: str = ""


@dataclass(frozen=True)
class LostQueries:
    """Queries of a run that stand below its baseline on one metric.

    Attributes:
        gained: new - baseline per query that has a value, in ``metric.queries``' order, signed so that positive is
            better.
    """

    measured: MeasuredRun
    baseline: Run
    metric: Metric
    gained: npt.NDArray[np.float64]

    def losers(self) -> list[LostQuery]:
        """Return the queries whose metric fell most; among equals, those that fell furthest in rank come first."""
        after, before = self._ranks(self.measured.run), self._ranks(self.baseline)
        fell = [(self.gained[i], -after[q] / before[q], q) for i, q in enumerate(self._queries) if self.gained[i] < 0]
        return [self._loser(query, before[query], after[query]) for *_, query in sorted(fell)[:LOSERS]]

    def causes(self) -> list[str]:
        """Return the reasons: the vector that moved, for a reformulated query, or the constraint that broke."""
        if not (self.gained < 0).any():
            return []
        return self._moved() if self._form is not None else self._broke()

    @cached_property
    def _queries(self) -> list[int]:
        return [int(query) for query in self.metric.queries(self.measured.run.columns)]

    @cached_property
    def _fallen(self) -> list[int]:
        return [query for query, gain in zip(self._queries, self.gained, strict=True) if gain < 0]

    @cached_property
    def _form(self) -> list[str] | None:
        """Form that each query is shown in, [Q]: the metric's, or of all forms the one that now ranks lowest."""
        form, run = self.metric.form, self.measured.run
        if form is None:
            return None
        if form != ALL:
            return [form] * run.dataset.queries
        import numpy as np

        names, forms = list(run.columns.forms), run.columns.forms.values()
        return [names[place] for place in np.argmax([outcomes.rank for outcomes in forms], axis=0)]

    def _in_forms(self, run: Run, field: str, form: Sequence[str]) -> npt.NDArray[Any]:
        """Return an outcome of every query in the form that it is shown in, [Q]."""
        import numpy as np

        return np.array([getattr(run.columns.forms[name], field)[query] for query, name in enumerate(form)])

    def _ranks(self, run: Run) -> list[int]:
        ranks: list[int] = (
            self._in_forms(run, "rank", self._form) if self._form else run.columns.first_hit_rank
        ).tolist()
        return ranks

    def _shown(self, query: int) -> Shown:
        return self.measured.forms[self._form[query]] if self._form else self.measured.shown

    def _loser(self, query: int, before: int, after: int) -> LostQuery:
        shown = self._shown(query)
        return LostQuery(
            self.measured.run.queries.id[query],
            shown.query[query],
            before,
            after,
            shown.first[query],
            right=shown.right[query] if shown.right else "",
            why="; ".join(f"{kind}: {how}" for kind, how in shown.broken[query]) if shown.broken else "",
        )

    def _moved(self) -> list[str]:
        """Return whether queries moved away from the target, or a rival came closer (CORA, eq. 7).

        A margin in a form is that of the caption less both, so that the caption itself may have lost it too.
        """
        run, form, fell = self.measured.run, self._form or [], self.gained < 0
        away, closer = (
            (self._in_forms(run, field, form) - self._in_forms(self.baseline, field, form))[fell].mean()
            for field in ("tal", "hnp")
        )
        own = (run.columns.margin - self.baseline.columns.margin)[fell].mean()
        moved = {
            "the target moved away": away,
            "a rival came closer": closer,
            "the captions themselves lost ground, in whatever form": -own,
        }
        return [
            max(moved, key=moved.__getitem__),
            f"over the {int(fell.sum())} queries that lost: target alignment loss {away:+.4f} (TAL), "
            f"hard negative pull {closer:+.4f} (HNP), margin of the caption itself {own:+.4f}",
        ]

    def _broke(self) -> list[str]:
        """Return the constraints that the clips that rank first now do not meet, the most frequent first."""
        if not self.measured.shown.broken:
            return []
        kinds = Counter(
            kind for query in self._fallen for kind in {b.constraint for b in self._shown(query).broken[query]}
        )
        if not kinds:
            return ["what ranks first still meets the query; others that do fell behind"]
        counts = ", ".join(f"{kind} in {count}" for kind, count in kinds.most_common())
        return [
            f"{kinds.most_common(1)[0][0]} breaks",
            f"of the {len(self._fallen)} queries that lost, what ranks first now breaks {counts}",
        ]
