"""The base of summaries that hold one summary for each column: `Counts`, `Values`, `WordCounts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import ForgetError, InputError


class OneColumn(Protocol):
    """The summary of one column."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def expand(self, indices: NDArray[np.int64], n_classes: int) -> Any: ...
    def to_dict(self) -> dict[str, Any]: ...
    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int) -> Any: ...


ColumnSummary = TypeVar("ColumnSummary", bound=OneColumn)


@dataclass(frozen=True)
class PerColumn(Generic[ColumnSummary]):
    """The summaries of several columns."""

    COLUMN: ClassVar[type[Any]]

    columns: tuple[ColumnSummary, ...]

    def __add__(self, other: Self) -> Self:
        return replace(self, columns=tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)))

    def __sub__(self, other: Self) -> Self:
        left = []
        for j, (a, b) in enumerate(zip(self.columns, other.columns, strict=True)):
            try:
                left.append(a - b)
            except ForgetError as error:
                c = None if error.index is None else error.index[0]
                raise ForgetError(error.message, error.hint, index=(c, j)) from error
        return replace(self, columns=tuple(left))

    def expand(self, indices: NDArray[np.int64], n_classes: int) -> Self:
        """Return the same summary for `n_classes` classes; class i moves to `indices[i]`."""
        return replace(self, columns=tuple(column.expand(indices, n_classes) for column in self.columns))

    def select(self, columns: Sequence[int]) -> Self:
        """Return the summaries of some columns."""
        return replace(self, columns=tuple(self.columns[j] for j in columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the summaries as plain JSON values."""
        return {"columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int, n_columns: int) -> Self:
        """Check and return the summaries that `to_dict` wrote."""
        if len(facts["columns"]) != n_columns:
            raise InputError(f"expected the stored facts of {n_columns} columns, got {len(facts['columns'])}.")
        return cls(tuple(cls.COLUMN.from_dict(entry, n_classes) for entry in facts["columns"]))
