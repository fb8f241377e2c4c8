"""The cells of a table as numbers and codes, free of anything learned from training rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MISSING = -1  # the code of an empty categorical cell
UNKNOWN = -2  # the code of a category that was not known when the levels were made


@dataclass(frozen=True)
class Cells:
    """Rows of a table: numeric columns as float64 (NaN where missing), categorical columns as codes.

    A code from 0 on is a level of its column; `MISSING` and `UNKNOWN` are below.
    """

    numbers: NDArray[np.float64]  # (rows, n_numeric), C-contiguous
    codes: NDArray[np.int32]  # (rows, n_categorical)
    n_levels: tuple[int, ...]  # per categorical column

    def __post_init__(self) -> None:
        if len(self.numbers) != len(self.codes):
            raise ValueError(f"numbers has {len(self.numbers)} rows but codes has {len(self.codes)}.")
        if self.codes.shape[1] != len(self.n_levels):
            raise ValueError(f"codes has {self.codes.shape[1]} columns but n_levels names {len(self.n_levels)}.")

    @property
    def n_rows(self) -> int:
        return len(self.numbers)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Cells:
        """Some of the rows, in the order asked for; the levels stay."""
        return Cells(
            np.ascontiguousarray(self.numbers[rows]), np.ascontiguousarray(self.codes[rows]), n_levels=self.n_levels
        )
