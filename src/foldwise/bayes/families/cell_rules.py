"""What the cells of a family may hold, and the error for one that holds something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldwise.data.view import SparseView
from foldwise.errors import InputError
from foldwise.summaries.number_kernels import Floats


@dataclass(frozen=True)
class CellRule:
    """A rule for present cells: which are bad, what is wanted instead, what to do. NaN is missing and never bad."""

    wanted: str
    hint: str
    bad: Callable[[Floats], NDArray[np.bool_]]

    def check(self, rows: Floats, names: tuple[str, ...], row: int) -> None:
        """Refuse the first bad cell of some rows, of which the first has the number `row`."""
        bad = self.bad(rows)
        if bad.any():
            i, j = (int(index) for index in np.argwhere(bad)[0])
            raise self._error(names[j], float(rows[i, j]), f" in row {row + i}")

    def check_sparse(self, view: SparseView) -> None:
        """Refuse the first bad stored cell of a sparse matrix, in which none may be missing."""
        data = np.asarray(view.matrix.data, dtype=np.float64)
        bad = np.flatnonzero(self.bad(data) | np.isnan(data))
        if bad.size:
            raise self._error(view.names[int(view.matrix.indices[bad[0]])], float(data[bad[0]]), "")

    def _error(self, name: str, value: float, where: str) -> InputError:
        # the words in brackets are those that scikit-learn's own checks look for
        negative = " (Negative values in data)" if value < 0 else ""
        return InputError(f"column {name!r} holds {value:g}{where}; it must hold {self.wanted}{negative}.", self.hint)


COUNTS = CellRule(
    "a finite number of at least 0",
    "correct the cell, or use the family 'gaussian', which takes any number.",
    lambda rows: (rows < 0) | np.isinf(rows),
)

MARKS = CellRule(
    "0 or 1 (a mark)",
    "pass X > 0 to mark presence, or use the family 'multinomial' for counts.",
    lambda rows: (rows != 0) & (rows != 1) & ~np.isnan(rows),
)

WHOLE = CellRule(
    "a whole number of at least 0",
    "correct the cell, or use the family 'gaussian', which takes any number.",
    lambda rows: (rows < 0) | np.isinf(rows) | (np.floor(rows) != rows) & ~np.isnan(rows),
)

POSITIVE = CellRule(
    "a finite number above 0",
    "correct the cell or mark it as missing, or use the family 'gaussian' or 'kde', which takes any number.",
    lambda rows: (rows <= 0) | np.isinf(rows),
)
