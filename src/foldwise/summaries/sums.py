"""Weight and weighted sum of columns, by class: what counts and marks need. One pass, `+` and `-`, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.data.cells import Cells, read_only
from foldwise.errors import ForgetError, InputError
from foldwise.summaries.moments import snap_to_zero, spread, sums_of_chunk
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import map_rows, windows


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
    open_cells: Callable[[], Cells],
    y: Ints,
    weights: Floats | None,
    n_classes: int,
    n_jobs: int | None = None,
    check: Callable[[Floats, tuple[str, ...], int], None] = check_not_negative,
) -> Sums:
    """One pass over dense columns; `check(rows, names, first row)` refuses cells that are no counts."""

    def part(start: int, stop: int) -> Sums:
        cells = open_cells()
        size, zero = cells.chunk_rows, np.zeros((n_classes, len(cells.names)))
        total = Sums(zero, zero)
        for a, b in windows(start, stop, size):
            chunk = cells.chunk(a, b)
            check(chunk.rows, cells.names, a)
            w = np.ones(b - a) if weights is None else weights[a:b]
            weight, s1, _ = sums_of_chunk(chunk, y[a:b], read_only(w), zero, cells.names, a)
            total = total + Sums(weight, s1)
        return total

    first = open_cells()
    return reduce(add, map_rows(first.n_rows, len(first.names), n_jobs, part))


def sums_of_sparse(matrix: Any, y: Ints, weights: Floats | None, n_classes: int, names: tuple[str, ...]) -> Sums:
    """One pass over a sparse matrix, whose cells are all present."""
    if matrix.data.size:
        bad = ~np.isfinite(matrix.data) | (matrix.data < 0)
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            refuse_count(names[int(matrix.indices[place])], float(matrix.data[place]))
    w = np.ones(matrix.shape[0]) if weights is None else weights
    members = sp.csr_array((w, (y, np.arange(len(y)))), shape=(n_classes, len(y)))
    total = members @ matrix.astype(np.float64)
    class_weight = np.bincount(y, weights=w, minlength=n_classes)
    return Sums(np.repeat(class_weight[:, None], matrix.shape[1], axis=1), np.asarray(total.todense()))
