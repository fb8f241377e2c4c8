"""Find the separators, quotes and line ends of a text, to count the cells of its rows without splitting them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Ints
from foldwise.data.reading.sniffing import NO_SEPARATOR, Dialect


@dataclass(frozen=True)
class DelimiterIndex:
    """The indices of separators, quotes and line ends in one text."""

    data: bytes
    dialect: Dialect

    @cached_property
    def _bytes(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.data, dtype=np.uint8)

    @cached_property
    def _quotes(self) -> Ints:
        quote = self.dialect.quote.encode()
        return np.flatnonzero(self._bytes == quote[0]) if quote and quote in self.data else np.empty(0, np.int64)

    @cached_property
    def ends(self) -> Ints:
        """The end of each line."""
        ends = np.flatnonzero(self._bytes == 10)
        return ends if self.data.endswith(b"\n") else np.append(ends, len(self.data))

    @cached_property
    def odd(self) -> int:
        """How many lines contain an odd number of quotes. If there are none, no quoted cell spans several lines."""
        if not len(self._quotes):
            return 0
        before = np.searchsorted(self._quotes, self.ends)
        return int((np.diff(before, prepend=0) % 2).sum())

    @cached_property
    def blank(self) -> NDArray[np.bool_]:
        """Whether each line is empty."""
        starts = np.concatenate(([0], self.ends[:-1] + 1))
        lengths = self.ends - starts
        return_only = (lengths == 1) & (self._bytes[np.minimum(starts, len(self._bytes) - 1)] == 13)
        empty: NDArray[np.bool_] = (lengths == 0) | return_only
        return empty

    def widths(self, quoted: bool) -> Ints:
        """Count the cells of each line; with `quoted`, separators between quotes do not count."""
        separators = np.flatnonzero(self._bytes == (self.dialect.separator or NO_SEPARATOR).encode()[0])
        if quoted and len(self._quotes):
            separators = separators[np.searchsorted(self._quotes, separators) % 2 == 0]
        return np.diff(np.searchsorted(separators, self.ends), prepend=0) + 1
