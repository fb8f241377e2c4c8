"""One pass over the rows: ranges of rows to threads, chunks within a range, results in row order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs

from foldwise.data.cells import read_only
from foldwise.summaries.number_kernels import Floats

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
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work, a, b) for a, b in pairwise(bounds[1:])]
        return [work(bounds[0], bounds[1]), *(other.result() for other in others)]


def windows(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) of at most `size` rows."""
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


def weighted_windows(weights: Floats | None, start: int, stop: int, size: int) -> Iterator[tuple[int, int, Floats]]:
    """The same with the weights of the rows; rows without weights count once."""
    for a, b in windows(start, stop, size):
        yield a, b, unit_weights(size)[: b - a] if weights is None else weights[a:b]


@lru_cache(maxsize=4)
def unit_weights(size: int) -> Floats:
    """So many ones, made once: filling fresh memory costs as much as summing it."""
    return read_only(np.ones(size))
