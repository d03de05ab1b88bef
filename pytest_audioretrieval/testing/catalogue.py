"""Properties, the search for counterexamples, and the text of a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky, NoSuchExample

from pytest_audioretrieval.errors import one_line
from pytest_audioretrieval.testing.implementation import checked_metric, has_function
from pytest_audioretrieval.testing.strategies import LARGE

#: Float32 arithmetic errs by less than this; a broken definition errs by more.
TOLERANCE = 1e-5
#: Number of inputs that are tried for each property.
EXAMPLES = 100
#: Most characters that are shown of one value of an input.
SHOWN = 300
NOT_DETERMINISTIC = "only sometimes: it is not deterministic"

Case = dict[str, Any]
Check = Callable[..., None]


@dataclass(frozen=True)
class Property:
    """One statement that holds for every input.

    Attributes:
        name: the statement in words.
        equation: source of the definition.
        needs: functions of an implementation that the statement is about; see ``Implementation``.
        cases: strategy for the inputs, which are keyword arguments of ``check``.
        check: function that takes an implementation and an input, and raises where the statement does not hold.
    """

    name: str
    equation: str
    needs: tuple[str, ...]
    cases: st.SearchStrategy[Any]
    check: Check

    def missing(self, implementation: Any) -> list[str]:
        """Return the functions of the statement that ``implementation`` does not have."""
        return [name for name in self.needs if not has_function(implementation, name)]

    def reason(self, implementation: Any, case: Case) -> str | None:
        """Return why the statement does not hold for one input; None where it holds."""
        try:
            self.check(implementation, **case)
        except AssertionError as error:
            return one_line(error)
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # an implementation may exit, or skip or fail the test it runs in
            return f"{type(error).__name__}: {one_line(error)}"
        return None

    def counterexample(
        self, implementation: Any, *, examples: int = EXAMPLES, shrink: bool = True
    ) -> Counterexample | None:
        """Search for the smallest input for which the statement does not hold; None where none is found.

        Every run finds the same input. With ``shrink=False`` the first input found is returned.
        """
        found = self._search(implementation, lambda _: True, examples, shrink)
        if found is None or not shrink or _small(found.case):
            return found
        # Hypothesis seldom shrinks a large pool into a small one, so small pools are searched separately.
        return self._search(implementation, _small, examples, shrink) or found

    def _search(
        self, implementation: Any, accept: Callable[[Case], bool], examples: int, shrink: bool
    ) -> Counterexample | None:
        """Search among the inputs that ``accept`` returns True for."""
        phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
        rules = settings(max_examples=examples, database=None, deadline=None, phases=phases)
        broken: list[Case] = []

        def breaks(case: Case) -> bool:
            if not accept(case) or self.reason(implementation, case) is None:
                return False
            broken.append(case)
            return True

        try:
            case = find(self.cases, breaks, settings=rules, random=Random(0))
        except NoSuchExample:
            return None
        except Flaky:  # the same input once broke it and once did not
            return Counterexample(self, broken[-1], NOT_DETERMINISTIC)
        return Counterexample(self, case, self.reason(implementation, case) or NOT_DETERMINISTIC)


@dataclass(frozen=True)
class Counterexample:
    """Input for which a property does not hold; its text fits on one screen."""

    property: Property
    case: Case
    reason: str

    def __str__(self) -> str:
        wide = max(map(len, self.case))
        inputs = (f"    {name:{wide}}  {shown(value)}" for name, value in self.case.items())
        head = f"{self.property.name} does not hold ({self.property.equation})"
        return "\n".join((head, "", f"  {self.reason}", "", "  smallest input found:", *inputs))


class Catalogue(list[Property]):
    """List of properties, in the order in which they are stated."""

    def state(self, equation: str, *needs: str, cases: st.SearchStrategy[Any]) -> Callable[[Check], Check]:
        """Return a decorator that adds a property; the name of the decorated check is the statement."""

        def add(check: Check) -> Check:
            self.append(Property(_words(check), equation, needs, cases, check))
            return check

        return add

    def state_each(
        self, equation: str, metrics: Sequence[str], *, cases: st.SearchStrategy[Any]
    ) -> Callable[[Check], Check]:
        """Return a decorator that adds one property for each metric.

        The check gets ``measure(scores, relevant, k)`` and the name of the metric.
        """

        def add(check: Check) -> Check:
            for metric in metrics:
                name = f"{metric}-{_words(check)}"
                self.append(Property(name, equation, (metric,), cases, _bound(check, metric)))
            return check

        return add


def _small(case: Case) -> bool:
    """Return whether an input has no large pool."""
    return all(max(value.shape, default=0) < LARGE for value in case.values() if isinstance(value, np.ndarray))


def _bound(check: Check, metric: str) -> Check:
    """Return the check of one metric."""
    return lambda implementation, **case: check(checked_metric(implementation, metric), metric, **case)


def _words(check: Check) -> str:
    """Return the statement that the name of a check spells."""
    return check.__name__.replace("_", "-").replace("hit-rate", "hit_rate")


def extended(cases: st.SearchStrategy[Any], **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for the inputs of ``cases`` with further keyword arguments."""
    return st.tuples(cases, st.fixed_dictionaries(more)).map(lambda parts: {**parts[0], **parts[1]})


def expect_close(what: str, found: npt.ArrayLike, wanted: npt.ArrayLike, tolerance: float = TOLERANCE) -> None:
    """Raise ``AssertionError`` where two arrays differ by more than ``tolerance``; nan differs from everything."""
    expect_between(what, found, np.asarray(wanted) - tolerance, np.asarray(wanted) + tolerance, wanted)


def expect_between(
    what: str, found: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, wanted: npt.ArrayLike | None = None
) -> None:
    """Raise ``AssertionError`` where a value of ``found`` lies outside ``[low, high]``."""
    found = np.asarray(found)
    low, high = np.broadcast_to(low, found.shape), np.broadcast_to(high, found.shape)
    bad = np.argwhere(~((found >= low) & (found <= high)))
    if len(bad):
        at = tuple(bad[0].tolist())
        place = f"[{', '.join(map(str, at))}]" if at else ""
        meant = _range(low[at], high[at]) if wanted is None else f"{np.broadcast_to(wanted, found.shape)[at]:.9g}"
        raise AssertionError(f"{what}{place} is {found[at]:.9g}, expected {meant}")


def _range(low: float, high: float) -> str:
    """Return the text of a range."""
    if low == high:
        return f"{low:.9g}"
    return f"at least {low:.9g}" if np.isinf(high) else f"{low:.9g} to {high:.9g}"


def expect_refusal(what: str, work: Callable[[], Any]) -> None:
    """Raise ``AssertionError`` where ``work`` returns instead of raising an error."""
    try:
        found = work()
    except Exception:
        return
    raise AssertionError(f"{what} returned {shown(found)}, expected an error")


def shown(value: Any) -> str:
    """Return a value as a user would type it; a long text is cut."""
    text = _typed(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... {np.shape(value) or ''}"


def _typed(value: Any) -> str:
    """Return a value as a user would type it."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, (np.ndarray, list, tuple, range)):
        return f"[{', '.join(_typed(part) for part in value)}]"
    return str(value).removesuffix(".0")
