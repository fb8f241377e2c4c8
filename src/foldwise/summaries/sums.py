"""Weight and weighted sum of columns, by class: what counts and marks need. One pass, `+` and `-`, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.data.cells import Cells
from foldwise.data.view import SparseView
from foldwise.errors import ForgetError, InputError
from foldwise.summaries.moments import snap_to_zero, spread, sums_of_chunk
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import weighted_windows


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
    with np.errstate(invalid="ignore"):
        if not (rows < 0).any():
            return
        i, j = np.argwhere(rows < 0)[0]
    refuse_count(names[j], rows[i, j], row + int(i))


def refuse_count(name: str, value: float, row: int | None = None) -> None:
    """Raise for a cell that is no count."""
    where = "" if row is None else f" in row {row}"
    raise InputError(
        f"column {name!r} holds {value:g}{where}; a count must be a finite number of at least 0 "
        "(Negative values in data passed to NaiveBayes).",
        "use the gaussian family for it, or correct the cell.",
    )


def sums_of(
    cells: Cells,
    y: Ints,
    weights: Floats | None,
    n_classes: int,
    start: int,
    stop: int,
    check: Callable[[Floats, tuple[str, ...], int], None] = check_not_negative,
) -> Sums:
    """One pass over rows start..stop; `check(rows, names, first row)` refuses cells that are no counts."""
    zero = np.zeros((n_classes, len(cells.names)))
    total = Sums(zero, zero)
    for a, b, w in weighted_windows(weights, start, stop, cells.chunk_rows):
        chunk = cells.chunk(a, b)
        check(chunk.rows, cells.names, a)
        weight, s1, _ = sums_of_chunk(chunk, y[a:b], w, zero, cells.names, a)
        total = total + Sums(weight, s1)
    return total


def sums_of_sparse(view: SparseView, y: Ints, weights: Floats | None, n_classes: int, start: int, stop: int) -> Sums:
    """One pass over rows start..stop of a sparse matrix, whose cells are all present."""
    matrix, labels = view.matrix[start:stop], y[start:stop]
    bad = np.flatnonzero(~np.isfinite(matrix.data) | (matrix.data < 0))
    if bad.size:
        refuse_count(view.names[int(matrix.indices[bad[0]])], float(matrix.data[bad[0]]))
    w = np.ones(len(labels)) if weights is None else weights[start:stop]
    members = sp.csr_array((w, (labels, np.arange(len(labels)))), shape=(n_classes, len(labels)))
    total = members @ matrix.astype(np.float64)
    class_weight = np.bincount(labels, weights=w, minlength=n_classes)
    return Sums(np.repeat(class_weight[:, None], matrix.shape[1], axis=1), np.asarray(total.todense()))
