"""Costs of a checkpoint in units of a reference workload, which is timed in the same run.

A slower machine takes longer for both, so that a slower machine is not a slower model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from pytest_audioretrieval.errors import BaselineError, SpecError

if TYPE_CHECKING:
    from pytest_audioretrieval.runs.baselines import Shelf

#: Name of the folder of baselines, where those of datasets have the dataset's.
FOLDER = "throughput"
#: Cost over the stored one that still passes. Four takes of one checkpoint, by one thread on two cores with three times
#: as much work waiting, spread by 20 % for clips and 11 % for a query; the rest is left for other processors, on which
#: a small model and the reference need not slow down alike. A front-end that is computed twice costs more.
ALLOWED = 1.5
#: The reference: products of two square matrices, and spectra of 10 s of sound, on the device of the model.
SIZE, SAMPLES, FRAME, TIMES = 768, 480_000, 1_000, 2
ANEW = "record it anew with --retrieval-record changed"
#: Name of the thing that has a cost, which is also the name of a folder.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Cost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Stored cost of a checkpoint.

    Attributes:
        device: kind of device it was taken on: a reference on a GPU says nothing of a CPU.
        protocol: name of the protocol.
        cost: time of one clip, or one query, over that of the reference.
    """

    device: str
    protocol: str
    cost: Annotated[float, msgspec.Meta(gt=0)]


def reference(device: str) -> Callable[[], None]:
    """Return the reference workload: matrix products, which a model does most, and spectra, as its front-end does."""
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
    """Give torch one thread on a CPU: threads that wait for each other spin, and spinning is time of the process."""
    import torch

    threads = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def seconds(work: Callable[[], object], device: str) -> float:
    """Return the time of this process on a CPU, which others do not lengthen, or the time on the clock elsewhere."""
    clock = process_time if device == "cpu" else perf_counter
    started = clock()
    work()
    return clock() - started


def cost(taken: Sequence[float], references: Sequence[float], items: int) -> float:
    """Return the time an item over that of the reference, the least take of each, because noise only ever adds."""
    return float(np.min(taken) / items / np.min(references))


def read(path: Path) -> Cost:
    """Read a stored cost.

    Raises:
        BaselineError: the file holds none.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Cost)
    except (OSError, msgspec.DecodeError) as error:
        raise BaselineError(f"{path} holds no cost ({error})", remedy=ANEW) from None


def stored_of(slug: str, shelf: Shelf) -> dict[str, Path]:
    """Return the files with a model's costs by name, one's own before shipped ones."""
    folders = (shelf.shipped / FOLDER, shelf.own / FOLDER)
    return {path.parent.name: path for folder in folders for path in sorted(folder.glob(f"*/{slug}.json"))}


def encode(cost: Cost) -> str:
    """Return a cost as it is stored; more than four digits are noise."""
    fields = {**msgspec.structs.asdict(cost), "cost": float(f"{cost.cost:.4g}")}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode() + "\n"


def refuse_incomparable(stored: Cost, device: str, protocol: str, where: str) -> None:
    """Raise ``BaselineError`` for a cost on another kind of device, or under another protocol."""
    for name, old, new in (("device", stored.device, device), ("protocol", stored.protocol, protocol)):
        if new != old:
            raise BaselineError(f"{where} is not comparable: its {name} is {old}, this run's is {new}", remedy=ANEW)


def compared(found: Cost, stored: Cost, where: str) -> str:
    """Return a sentence that compares a cost with the one stored ``where``; see ``refuse_incomparable``."""
    refuse_incomparable(stored, found.device, found.protocol, where)
    return (
        f"takes {found.cost:.3g} of the reference workload, {found.cost / stored.cost:.2f} times the {stored.cost:.3g} "
        f"in {where}"
    )


def check(items: int | np.integer[Any], what: str) -> None:
    """Raise ``SpecError`` for a count that gives no cost, and for a name that can be no folder."""
    if not isinstance(items, int | np.integer) or items < 1:
        raise SpecError(f"items is {items!r}", expected="1 or more", remedy="say how many of them work does at once")
    if not isinstance(what, str) or not _NAME.fullmatch(what):
        raise SpecError(
            f"what is {what!r}", expected="a name of letters, digits, '-' and '_'", remedy="write 'clip', say"
        )
