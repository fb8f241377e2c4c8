"""Logarithms of smoothed counts and of priors for many settings, taken once for all training sets that share them.

Folds of one table share most of their small counts, and stratified ones the sizes of their classes. A logarithm depends
on nothing but its argument: remembered or not, it has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foldwise.summaries.number_kernels import Floats, Ints


class CountLogs:
    """log(count + alpha) of every setting."""

    def __init__(self, alpha: Floats) -> None:
        self.alpha = alpha  # (S,)
        self._known = np.empty((0, len(alpha)))  # line n: of the count n

    def of(self, counts: Floats, *, whole: bool) -> tuple[Floats, Ints]:  # (lines, S), the shape of counts
        """Logarithms, and the line of each count. `whole` says that all counts are whole numbers."""
        if whole:
            most = int(counts.max()) + 1
            if most <= counts.size:  # all counts up to the greatest are no more than those asked for
                known = self._known
                if len(known) < most:  # two threads may do this at once: both are right
                    self._known = known = self._logs(np.arange(float(most)))
                return known, counts.astype(np.int64)
        return self._logs(counts.reshape(-1)), np.arange(counts.size).reshape(counts.shape)

    def _logs(self, counts: Floats) -> Floats:
        sums = counts[:, None] + self.alpha
        with np.errstate(divide="ignore"):
            return np.log(sums, out=sums)


class PriorLogs:
    """Logarithms of priors (K, S) by what they are made of: the weights of the classes."""

    MOST = 16  # kept at a time

    def __init__(self) -> None:
        self._known: dict[bytes, Floats] = {}

    def of(self, key: bytes, make: Callable[[], Floats]) -> Floats:
        """What was made for a key, or is now; what raises is not kept."""
        found = self._known.get(key)
        if found is None:
            found = make()
            if len(self._known) >= self.MOST:
                self._known.clear()
            self._known[key] = found
        return found
