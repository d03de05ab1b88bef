"""Several items are worked on while the results of those before them are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Decoders and the resampler work without the interpreter's lock; a third thread gains little beside the model's.
WORKERS = 2


def ahead(work: Callable[[T], R], items: Iterable[T], workers: int = WORKERS) -> Iterator[R]:
    """``map(work, items)``, in order, done by ``workers`` threads; never more than that many results are held.

    What ``work`` raises is raised in its item's turn.
    """
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) == workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
