"""`GramRoot`: the Gram matrix of centered columns as its triangular root, to which rows are added and removed.

The condition number of a Gram matrix is the square of that of its columns, so half of the digits may be lost in it. The
root has the condition number of the columns themselves. It is merged by QR decompositions and solved like the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from foldwise.arrays import Floats
from foldwise.errors import ForgetError
from foldwise.summaries.moments import two_sum

CHUNK_ROWS = 4_096
COLLINEAR, DISTINCT = 1e-11, 1e-6  # singular values of scaled columns: at most rounding errors, and large enough
NOTHING, ENOUGH = 1e-9, 1e-4  # shares of the variance in a direction that are left: none, and enough to be precise


@dataclass(frozen=True)
class GramRoot:
    """Weight, means, and a root R with RᵀR = Σw(z - mean)(z - mean)ᵀ, of columns without missing cells.

    Attributes
    ----------
    weight : float
        Total weight of the rows.
    rows : int
        Number of rows.
    high, low : array of shape (columns,)
        The means are `high + low`.
    root : array of shape (at most columns, columns)
        The root.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 5.0], [6.0, 1.0]])
    >>> whole = root_of(Z)
    >>> bool(np.allclose(whole.root.T @ whole.root, 4 * np.cov(Z.T, bias=True)))
    True
    >>> rest = whole - root_of(Z[:1])
    >>> bool(np.allclose(np.abs(rest.root), np.abs(root_of(Z[1:]).root)))
    True
    """

    weight: float
    rows: int
    high: Floats
    low: Floats
    root: Floats

    @property
    def mean(self) -> Floats:
        """Return the means of the columns."""
        return self.high + self.low

    def __add__(self, other: GramRoot) -> GramRoot:
        """Merge the summaries of two sets of rows."""
        rows, weight = self.rows + other.rows, self.weight + other.weight
        if self.weight == 0 or other.weight == 0:  # the mean 0 of an empty side must not influence the other
            full = self if other.weight == 0 else other
            return GramRoot(weight, rows, full.high, full.low, full.root)
        delta, share = other.away_from(self), other.weight / weight
        between = delta * np.sqrt(self.weight * share)
        return GramRoot(weight, rows, *self.moved(delta * share), triangle([self.root, other.root, between[None]]))

    def __sub__(self, other: GramRoot) -> GramRoot:
        """Remove rows. Raise if they were not part of it, or if too little is left to be precise."""
        rows, weight = self.rows - other.rows, self.weight - other.weight
        if rows < 0 or weight < -1e-9 * self.weight:
            raise ForgetError(f"there are only {self.rows:,} rows.")
        if rows == 0 or not weight > 0:
            raise ForgetError("no row would be left.")
        if other.weight == 0:
            return GramRoot(weight, rows, self.high, self.low, self.root)
        delta = self.away_from(other)
        between = delta * np.sqrt(self.weight * other.weight / weight)
        left = without(self.root, np.vstack([other.root, between]))
        return GramRoot(weight, rows, *self.moved(delta * (other.weight / weight)), left)

    def away_from(self, other: GramRoot) -> Floats:
        """Return the differences of the means."""
        gap, gap_low = two_sum(self.high, -other.high)
        return np.asarray(gap + (gap_low + (self.low - other.low)))

    def moved(self, step: Floats) -> tuple[Floats, Floats]:
        """Return both parts of the means after a step."""
        high, rest = two_sum(self.high, step)
        return two_sum(high, rest + self.low)

    def spread_out(self, columns: Floats, n_columns: int) -> GramRoot:
        """Return a summary with more columns, which are 0 in all rows; `columns` are the indices of the old ones."""
        high, low, root = np.zeros(n_columns), np.zeros(n_columns), np.zeros((len(self.root), n_columns))
        high[columns], low[columns], root[:, columns] = self.high, self.low, self.root
        return GramRoot(self.weight, self.rows, high, low, root)


def without(root: Floats, removed: Floats) -> Floats:
    """Return a root of RᵀR - KᵀK.

    With R = USVᵀ it is VS(I - QᵀQ)SVᵀ, where Q = KVS⁻¹. The eigenvalues of I - QᵀQ are the shares of the variance that
    are left, from 0 to 1. Errors of rounding grow by their inverses.
    """
    scale = np.sqrt((root**2).sum(axis=0))
    scale[scale == 0] = 1.0
    _, values, axes = scipy.linalg.svd(root / scale, full_matrices=False)
    kept = values > COLLINEAR * values[0]
    if (values[kept] < DISTINCT * values[0]).any():
        raise ForgetError("its columns are nearly collinear, so that rows cannot be removed precisely.")
    inside = (removed / scale) @ axes[kept].T  # (rows, r)
    outside = removed / scale - inside @ axes[kept]
    q = inside / values[kept]
    shares, turned = scipy.linalg.eigh(np.eye(len(values[kept])) - q.T @ q)
    if np.abs(outside).max(initial=0.0) > 1e-7 * values[0] or shares.min(initial=1.0) < -1e-7:
        raise ForgetError("it has not learned these rows.")
    if ((shares > NOTHING) & (shares < ENOUGH)).any():
        raise ForgetError("the remaining rows are nearly collinear, so precision would be lost.")
    shares[shares <= NOTHING] = 0.0
    return triangle([np.sqrt(shares)[:, None] * (turned.T * values[kept]) @ axes[kept] * scale])


def triangle(parts: list[Floats]) -> Floats:
    """Return the triangular root of a sum of Gram matrices, from their roots."""
    stacked = np.vstack(parts)
    return np.asarray(np.linalg.qr(stacked, mode="r"))


def root_of(Z: Floats, weights: Floats | None = None) -> GramRoot:
    """Summarize the rows of a table in one pass.

    Parameters
    ----------
    Z : array of shape (rows, columns)
        Finite numbers.
    weights : array of shape (rows,), optional
        Weights of the rows, 0 or larger.

    Returns
    -------
    GramRoot
        The summary.

    Examples
    --------
    >>> import numpy as np
    >>> root_of(np.array([[1.0], [2.0]]), np.array([3.0, 1.0])).mean
    array([1.25])
    """
    nothing = np.zeros(Z.shape[1])
    total = GramRoot(0.0, 0, nothing, nothing, np.zeros((0, Z.shape[1])))
    for start in range(0, len(Z), CHUNK_ROWS):
        part = Z[start : start + CHUNK_ROWS]
        w = np.ones(len(part)) if weights is None else weights[start : start + CHUNK_ROWS]
        weight = float(w.sum())
        if not weight > 0:
            total = total + GramRoot(0.0, len(part), nothing, nothing, np.zeros((0, Z.shape[1])))
            continue
        mean = (w @ part) / weight
        centered = part - mean
        left = (w @ centered) / weight  # what rounding of the mean has left
        root = triangle([np.sqrt(w)[:, None] * (centered - left)])
        total = total + GramRoot(weight, len(part), *two_sum(mean, left), root)
    return total
