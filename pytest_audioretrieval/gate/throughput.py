"""What a checkpoint costs, in units of a reference workload timed in the same run, and what it is judged against.

A slower machine takes longer for both, so that a slower machine is not a slower model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import msgspec
import numpy as np
import pytest

from pytest_audioretrieval.errors import BaselineError, SpecError
from pytest_audioretrieval.plugin.fixtures import CARGO, ONE_TAKE

if TYPE_CHECKING:
    from pytest_audioretrieval.plugin.session import RetrievalSession, Target
    from pytest_audioretrieval.runs.baselines import Shelf

#: Name of the folder of baselines, where those of datasets have the dataset's.
FOLDER = "throughput"
#: Cost over the stored one that still passes. Four takes of one checkpoint, by one thread on two cores with three times
#: as much work waiting, spread by 20 % for clips and 11 % for a query; the rest is left for other processors, on which
#: a small model and the reference need not slow down alike. A front-end that is computed twice costs more.
ALLOWED = 1.5
#: The reference: products of two square matrices, and spectra of 10 s of sound, on the device of the model.
SIZE, SAMPLES, FRAME, TIMES = 768, 480_000, 1_000, 2
ROUNDS = 10
ANEW = "record it anew with --retrieval-record changed"
#: What a figure is of; a folder is called so.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is stored of a checkpoint.

    Attributes:
        device: kind of device it was taken on: a reference on a GPU says nothing of a CPU.
        protocol: name of the protocol.
        cost: time of one clip, or one query, over that of the reference.
    """

    device: str
    protocol: str
    cost: Annotated[float, msgspec.Meta(gt=0)]


def reference(device: str) -> Callable[[], None]:
    """The workload: what a model does most, matrix products, and what its front-end does, spectra."""
    import torch

    matrix = torch.full((SIZE, SIZE), 1 / SIZE, device=device)
    wave = torch.linspace(-1, 1, SAMPLES, device=device).reshape(-1, FRAME)

    def run() -> None:
        with torch.inference_mode():
            for _ in range(TIMES):
                # Reading the number waits for the device.
                float((matrix @ matrix).sum() + torch.fft.rfft(wave).abs().sum())

    return run


@contextmanager
def one_thread(device: str) -> Iterator[None]:
    """torch with one thread on a CPU: threads that wait for each other spin, and spinning is time of the process."""
    import torch

    threads = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def seconds(work: Callable[[], object], device: str) -> float:
    """Time of this process on a CPU, which other processes do not lengthen; elsewhere time on the clock."""
    clock = process_time if device == "cpu" else perf_counter
    started = clock()
    work()
    return clock() - started


def cost(taken: Sequence[float], references: Sequence[float], items: int) -> float:
    """Time an item over that of the reference: of repeated takes the least of either, because noise only ever adds."""
    return float(np.min(taken) / items / np.min(references))


def read(path: Path) -> Figure:
    """A stored figure.

    Raises:
        BaselineError: the file holds none.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Figure)
    except (OSError, msgspec.DecodeError) as error:
        raise BaselineError(f"{path} holds no figure of throughput ({error}): {ANEW}") from None


def stored_of(slug: str, shelf: Shelf) -> dict[str, Path]:
    """Files with a model's figures, by what they are of, one's own before shipped ones."""
    folders = (shelf.shipped / FOLDER, shelf.own / FOLDER)
    return {path.parent.name: path for folder in folders for path in sorted(folder.glob(f"*/{slug}.json"))}


def encode(figure: Figure) -> str:
    """A figure as it is stored; more than four digits are noise."""
    fields = {**msgspec.structs.asdict(figure), "cost": float(f"{figure.cost:.4g}")}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode() + "\n"


def refuse_incomparable(stored: Figure, device: str, protocol: str, where: str) -> None:
    """Raise ``BaselineError`` for a figure of another kind of device, or of another protocol."""
    for name, old, new in (("device", stored.device, device), ("protocol", stored.protocol, protocol)):
        if new != old:
            raise BaselineError(f"{where} is not comparable: its {name} is {old}, this run's is {new}: {ANEW}")


def compared(found: Figure, stored: Figure, where: str) -> str:
    """What a checkpoint costs, over what is stored ``where``; see ``refuse_incomparable``."""
    refuse_incomparable(stored, found.device, found.protocol, where)
    return (
        f"takes {found.cost:.3g} of the reference workload, {found.cost / stored.cost:.2f} times the {stored.cost:.3g} "
        f"in {where}"
    )


def check(items: int | np.integer[Any], what: str) -> None:
    """Refuse a count that gives no cost, and a name that is no folder of its own (``SpecError``)."""
    if not isinstance(items, int | np.integer) or items < 1:
        raise SpecError(f"items is {items!r}: expected how many of them work does at once, 1 or more")
    if not isinstance(what, str) or not _NAME.fullmatch(what):
        raise SpecError(f"what is {what!r}: expected a name of letters, digits, '-' and '_', such as 'clip'")


class Throughput:
    """Holds what a checkpoint costs against its stored figure; a test asks for it as ``throughput``."""

    def __init__(self, session: RetrievalSession, target: Target, device: str, request: pytest.FixtureRequest) -> None:
        self._session, self._target, self._device, self._request = session, target, device, request
        self._judged = ""

    def judge(self, work: Callable[[], object], items: int, what: str) -> Figure:
        """Time ``work``, which does ``items`` at once, and fail where one costs more than ``ALLOWED`` times its figure.

        ``--retrieval-record`` writes the figure instead, and the test is skipped as recorded: one that is missing, with
        ``changed`` also one that would fail. ``--retrieval-baseline`` is not read: a figure is of its own model.

        Args:
            what: one of the items, such as ``clip``. A model has one figure of it, whatever the dataset.

        Raises:
            SpecError: no items, a name that is none, or a second figure in one test.
            BaselineError: the stored figure is damaged, or not comparable.
        """
        __tracebackhide__ = True
        check(items, what)
        if self._judged:  # pytest-benchmark times one thing a test
            raise SpecError(f"{what} is judged after {self._judged}: one figure a test, give each a test of its own")
        self._judged = what
        session, model = self._session, self._target.model
        path, own = session.shelf.find(FOLDER, what, model.slug), session.shelf.target(FOLDER, what, model.slug)
        record = session.settings["record"]
        if path is None and not record:
            command = session.command(model.text, "--retrieval-record", "new")
            pytest.fail(f"no figure of a {what} of {model.id} is stored: record it with: {command}", pytrace=False)
        found = self._figure(work, items)
        # What an earlier test of this run has recorded is not judged against itself.
        if path is None or record == "all" or (record and session.recorded_now(own)):
            self._record(found, own)
        self._hold(found, path, what, own if record == "changed" else None)
        return found

    def _hold(self, found: Figure, path: Path, what: str, own: Path | None) -> None:
        """Against the stored figure; where it does not hold, it is recorded as ``own``, or the test fails."""
        __tracebackhide__ = True
        try:
            stored = read(path)
            said = f"a {what} of {self._target.model.id} {compared(found, stored, self._session.shown(path))}"
        except BaselineError:
            if own is None:
                raise
            self._record(found, own)
        if found.cost <= ALLOWED * stored.cost:
            self._request.node.stash[CARGO] = {"said": [said]}
            return
        if own is not None:
            self._record(found, own)
        then = "find what became slower, or record with --retrieval-record changed"
        pytest.fail(f"{said}; expected at most {ALLOWED:g} times: {then}", pytrace=False)

    def _record(self, found: Figure, own: Path) -> NoReturn:
        """Hand the figure to the report and end the test as recorded."""
        record = {"path": str(own), "content": encode(found), "notes": []}
        self._request.node.stash[CARGO] = {"record": record}
        pytest.skip(f"recorded {self._session.shown(own)}")

    def _figure(self, work: Callable[[], object], items: int) -> Figure:
        """The reference is timed before each round, and empties caches: one query after another takes half as long."""
        kind, taken, references = self._device.partition(":")[0], list[float](), list[float]()
        workload, benchmark = reference(self._device), self._request.getfixturevalue("benchmark")
        if benchmark.disabled:  # one take of each, and the first is always slower
            benchmark(lambda: None)  # it warns where it is not used
            pytest.skip(ONE_TAKE)
        benchmark.extra_info["items"] = items
        with one_thread(kind):
            benchmark.pedantic(
                lambda: taken.append(seconds(work, kind)),
                setup=lambda: references.append(seconds(workload, kind)),
                rounds=ROUNDS,
                warmup_rounds=2,
            )
        return Figure(device=kind, protocol=self._session.protocol.name, cost=cost(taken, references, items))
