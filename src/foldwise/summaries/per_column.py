"""Summaries that keep one summary for each column: what they do is done column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import ForgetError


class OneColumn(Protocol):
    """The facts of one column."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def expand(self, places: NDArray[np.int64], n_classes: int) -> Any: ...


Column = TypeVar("Column", bound=OneColumn)


@dataclass(frozen=True)
class PerColumn(Generic[Column]):
    """The facts of several columns."""

    columns: tuple[Column, ...]

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)))

    def __sub__(self, other: Self) -> Self:
        left = []
        for j, (a, b) in enumerate(zip(self.columns, other.columns, strict=True)):
            try:
                left.append(a - b)
            except ForgetError as error:
                raise ForgetError(error.message, error.hint, index=(None, j)) from error
        return type(self)(tuple(left))

    def expand(self, places: NDArray[np.int64], n_classes: int) -> Self:
        """The same facts with class i at `places[i]` among `n_classes`."""
        return type(self)(tuple(column.expand(places, n_classes) for column in self.columns))

    def select(self, columns: Sequence[int]) -> Self:
        """The facts of some columns."""
        return type(self)(tuple(self.columns[j] for j in columns))
