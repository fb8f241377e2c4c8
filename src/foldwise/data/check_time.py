"""The time that checks of single columns may take. When it is over, the remaining columns are not checked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

FEWEST = 20  # columns that are checked at any rate


class CheckTime:
    """Give out columns to check until the time is over, and remember how many were not checked.

    With a limit, columns are given out in random order, so that those that are checked are a sample of all.

    Parameters
    ----------
    seconds : float
        Time for all checks together.
    clock : callable
        Returns the time in seconds; tests replace it.

    Examples
    --------
    >>> time = CheckTime()
    >>> list(time.columns("missing", ["a", "b"])), time.sentences
    (['a', 'b'], ())
    """

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._seconds, self._end = clock, seconds, clock() + seconds
        self._unfinished: dict[str, tuple[int, int]] = {}

    def columns(self, check: str, names: Sequence[str]) -> Iterator[str]:
        """Yield the columns for a check, as many as there is time for.

        Parameters
        ----------
        check : str
            What is checked, for the sentence about it.
        names : sequence of str
            All columns to check.

        Yields
        ------
        str
            The name of a column.
        """
        order = np.arange(len(names))
        if math.isfinite(self._seconds):
            order = np.random.default_rng(0).permutation(len(names))
        for done, j in enumerate(order.tolist()):
            if done >= FEWEST and self._clock() > self._end:
                self._unfinished[check] = (done, len(names))
                return
            yield names[j]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was not checked, one sentence per check."""
        return tuple(
            f"There was not enough time for all checks: only {done:,} of {n:,} columns, chosen at random, were checked "
            f"for {check}."
            for check, (done, n) in self._unfinished.items()
        )
