"""One pass over the rows: ranges of rows to threads, chunks within a range, results merged in row order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs

T = TypeVar("T")

SMALL = 200_000  # cells; below, starting a thread costs more than it saves


def n_threads(n_jobs: int | None) -> int:
    """Threads for a call: `None` takes every core that is free to us, and one inside a parallel worker."""
    return int(effective_n_jobs(-1 if n_jobs is None else n_jobs))


def map_rows(n_rows: int, n_columns: int, n_jobs: int | None, work: Callable[[int, int], T]) -> list[T]:
    """`work(start, stop)` over consecutive ranges of rows, one range a thread; results in row order."""
    threads = 1 if n_rows * max(1, n_columns) < SMALL else min(n_threads(n_jobs), n_rows)
    if threads == 1:
        return [work(0, n_rows)]
    bounds = [n_rows * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, bounds[:-1], bounds[1:]))


def windows(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) of at most `size` rows."""
    for first in range(start, stop, size):
        yield first, min(first + size, stop)
