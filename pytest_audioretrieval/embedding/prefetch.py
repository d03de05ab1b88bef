"""Prefetching by threads: the next items are worked on while earlier results are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Threads. Decoders and the resampler release the interpreter's lock; a third thread gains little beside the model's.
WORKERS = 2


def prefetch(work: Callable[[T], R], items: Iterable[T], workers: int = WORKERS) -> Iterator[R]:
    """Yield ``map(work, items)`` in order, done by ``workers`` threads; at most that many results are held.

    An error of ``work`` is raised in its item's turn.
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
