"""Weight and weighted sum of columns, by class: what counts and marks need. One pass, `+` and `-`, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.data.cells import Cells
from foldwise.data.view import SparseView, cell_error
from foldwise.errors import ForgetError
from foldwise.summaries.moments import snap_to_zero, spread, sums_of_chunk
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share


@dataclass(frozen=True)
class Sums:
    """Per class and column: total weight of the present cells and Σw·x."""

    weight: Floats  # (K, d)
    total: Floats  # (K, d)

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.weight + other.weight, self.total + other.total)

    def __sub__(self, other: Sums) -> Sums:
        weight = snap_to_zero(self.weight - other.weight, self.weight)
        total = snap_to_zero(self.total - other.total, self.total)
        if (weight < 0).any() or (total < 0).any():
            raise ForgetError("more rows were taken away than had been learned.")
        return Sums(weight, total)

    def expand(self, places: NDArray[np.int64], n_classes: int) -> Sums:
        """The same facts with class i at `places[i]` among `n_classes`."""
        return Sums(spread(self.weight, places, n_classes), spread(self.total, places, n_classes))

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain JSON values."""
        return {"weight": self.weight.tolist(), "total": self.total.tolist()}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Sums:
        """The facts that `to_dict` wrote."""
        return cls(np.array(facts["weight"], dtype=np.float64), np.array(facts["total"], dtype=np.float64))


def check_not_negative(rows: Floats, names: tuple[str, ...], row: int) -> None:
    """Refuse a count below 0."""
    if (rows < 0).any():
        i, j = np.argwhere(rows < 0)[0]
        raise cell_error(names[j], rows[i, j], "a finite number of at least 0", row + int(i))


def sums_of(
    cells: Cells, share: Share, check: Callable[[Floats, tuple[str, ...], int], None] = check_not_negative
) -> Sums:
    """One pass over a share of the rows; `check(rows, names, first row)` refuses cells that are no counts."""
    zero = np.zeros((share.n_classes, len(cells.names)))
    total = Sums(zero, zero)
    for a, b, y, w in share.windows(cells.chunk_rows):
        chunk = cells.chunk(a, b)
        check(chunk.rows, cells.names, a)
        weight, s1, _ = sums_of_chunk(chunk, y, w, zero, cells.names, a)
        total = total + Sums(weight, s1)
    return total


def sums_of_sparse(view: SparseView, share: Share) -> Sums:
    """One pass over a share of the rows of a sparse matrix, whose cells are all present."""
    rows = slice(share.start, share.stop)
    y, n_rows = share.y[rows], share.stop - share.start
    w = np.ones(n_rows) if share.weights is None else share.weights[rows]
    members = sp.csr_array((w, (y, np.arange(n_rows))), shape=(share.n_classes, n_rows))
    total = members @ view.matrix[rows].astype(np.float64)
    class_weight = np.bincount(y, weights=w, minlength=share.n_classes)
    return Sums(np.repeat(class_weight[:, None], total.shape[1], axis=1), np.asarray(total.todense()))
