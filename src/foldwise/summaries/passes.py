"""One pass over the rows: each thread gets a range of rows, works on it in chunks, and results keep the row order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from foldwise.arrays import Floats, Ints
from foldwise.data.cells import read_only
from foldwise.summaries.number_kernels import add_class_weights, own_lines

T = TypeVar("T")

LABEL_ROWS = 65_536  # of labels in one chunk
SMALL = 200_000  # cells; with fewer, starting a thread costs more than it saves


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: `None` uses all cores, but a single one within a worker of joblib."""
    if n_jobs is None and get_active_backend()[0].nesting_level:
        return 1
    return int(effective_n_jobs(-1 if n_jobs is None else n_jobs))


def map_rows(n_rows: int, n_columns: int, n_jobs: int | None, work: Callable[[int, int], T]) -> list[T]:
    """Call `work(start, stop)` for consecutive ranges of rows, one per thread; results are in row order."""
    threads = 1 if n_rows * max(1, n_columns) < SMALL else min(n_threads(n_jobs), n_rows)
    if threads == 1:
        return [work(0, n_rows)]
    bounds = [n_rows * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work, a, b) for a, b in pairwise(bounds[1:])]
        return [work(bounds[0], bounds[1]), *(other.result() for other in others)]


def windows(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive (start, stop) of at most `size` rows."""
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


@dataclass(frozen=True)
class ThreadShare:
    """One thread's share of a pass: rows start..stop with their labels and weights."""

    y: Ints  # indices of the classes, of all rows
    weights: Floats | None  # of all rows; None counts each once
    n_classes: int
    start: int
    stop: int

    @classmethod
    def of(cls, y: object, n_classes: int, weights: object = None) -> ThreadShare:
        """Return the share of all rows of plain arrays."""
        codes = read_only(np.asarray(y, dtype=np.int64))
        return cls(codes, None if weights is None else as_weights(weights), n_classes, 0, len(codes))

    def windows(self, size: int) -> Iterator[Window]:
        """Yield consecutive windows of at most `size` rows."""
        for a, b in windows(self.start, self.stop, size):
            w = unit_weights(size)[: b - a] if self.weights is None else self.weights[a:b]
            yield Window(a, b, self.y[a:b], w, self.weights is None)


@dataclass(frozen=True)
class Window:
    """Some consecutive rows with their labels and weights."""

    start: int
    stop: int
    y: Ints
    w: Floats
    unit: bool  # whether every weight is 1

    def rows_by_class(self, n_classes: int) -> Floats:  # (K,)
        """Count the rows of each class with a weight above 0."""
        counted = self.y if self.unit else self.y[self.w > 0]
        return np.bincount(counted, minlength=n_classes).astype(np.float64)


def as_weights(weights: object) -> Floats:
    """Return weights as the kernels need them."""
    return read_only(np.ascontiguousarray(weights, dtype=np.float64))


@lru_cache(maxsize=4)
def unit_weights(size: int) -> Floats:
    """Return an array of ones, made once, because filling new memory costs as much as summing it."""
    return read_only(np.ones(size))


def class_weights_of(share: ThreadShare) -> Floats:  # (2, K): weight, rows
    """Return the total weight of each class, and its number of rows with a weight above 0."""
    totals = own_lines((2, share.n_classes))
    for window in share.windows(LABEL_ROWS):
        add_class_weights(window.y, window.w, totals)
    return totals
