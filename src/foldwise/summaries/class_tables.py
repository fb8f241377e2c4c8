"""The base of summaries that consist of arrays of shape (classes, columns): `Moments`, `LogMoments`, `Sums`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.summaries.alignment import spread, stored_array


@dataclass(frozen=True)
class ClassTables:
    """A summary by class and column: every field is an array of shape (K, d)."""

    SIGNED: ClassVar[tuple[str, ...]] = ()  # fields that may be negative

    @classmethod
    def _make(cls, arrays: Iterable[Floats]) -> Self:
        make: Any = cls
        return make(*arrays)  # type: ignore[no-any-return]

    def _arrays(self) -> dict[str, Floats]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def empty(cls, n_classes: int, n_columns: int) -> Self:
        """Return the summary of no rows."""
        return cls._make([np.zeros((n_classes, n_columns))] * len(fields(cls)))

    def expand(self, indices: NDArray[np.int64], n_classes: int) -> Self:
        """Return the same summary for `n_classes` classes; class i moves to `indices[i]`."""
        return self._make(spread(array, indices, n_classes) for array in self._arrays().values())

    def select(self, columns: Sequence[int]) -> Self:
        """Return the summary of some columns."""
        return self._make(np.ascontiguousarray(array[:, list(columns)]) for array in self._arrays().values())

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON values."""
        return {name: array.tolist() for name, array in self._arrays().items()}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int, n_columns: int) -> Self:
        """Check and return the summary that `to_dict` wrote."""
        least = {field.name: -np.inf if field.name in cls.SIGNED else 0.0 for field in fields(cls)}
        return cls._make(stored_array(facts, name, (n_classes, n_columns), least[name]) for name in least)
