"""`Gram`: weight, means and centered sums of products of columns, from which linear models are solved.

Each chunk of rows is centered by its own means, and chunks are merged about their joint means. So no pivot can be poor,
and one pass is enough. The mean is stored as a high and a low part, as in `Moments`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from foldwise.arrays import Floats
from foldwise.summaries.moments import two_sum

CHUNK_CELLS = 1 << 16  # of numbers that are centered and multiplied while they are in the processor's cache


@dataclass(frozen=True)
class Gram:
    """Σw, the means, and Σw(z - mean)(z - mean)ᵀ of the columns of a table without missing cells.

    Attributes
    ----------
    weight : float
        Total weight of the rows.
    rows : int
        Number of rows, including those with weight 0.
    high, low : array of shape (columns,)
        The means are `high + low`.
    products : array of shape (columns, columns)
        Centered sums of products.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 5.0]])
    >>> whole = gram_of(Z)
    >>> whole.products
    array([[8., 6.],
           [6., 6.]])
    >>> parts = gram_of(Z[:1]) + gram_of(Z[1:])
    >>> bool(np.allclose(parts.products, whole.products))
    True
    """

    weight: float
    rows: int
    high: Floats
    low: Floats
    products: Floats

    @property
    def mean(self) -> Floats:
        """Return the means of the columns."""
        return self.high + self.low

    @classmethod
    def empty(cls, n_columns: int) -> Gram:
        """Return the summary of no rows."""
        nothing = np.zeros(n_columns)
        return cls(0.0, 0, nothing, nothing, np.zeros((n_columns, n_columns)))

    def __add__(self, other: Gram) -> Gram:
        """Merge the summaries of two sets of rows."""
        rows, weight = self.rows + other.rows, self.weight + other.weight
        if other.weight == 0 or self.weight == 0:  # the mean 0 of an empty side must not influence the other
            full = self if other.weight == 0 else other
            return Gram(weight, rows, full.high, full.low, full.products)
        share = other.weight / weight
        gap, gap_low = two_sum(other.high, -self.high)
        delta = gap + (gap_low + (other.low - self.low))
        high, rest = two_sum(self.high, delta * share)
        high, low = two_sum(high, rest + self.low)
        products = self.products + other.products
        products += np.multiply.outer(delta * (self.weight * share), delta)
        return Gram(weight, rows, high, low, products)

    def select(self, columns: Iterable[int]) -> Gram:
        """Return the summary of some columns.

        Parameters
        ----------
        columns : iterable of int
            Their indices.

        Returns
        -------
        Gram
            The summary of these columns, in their order.
        """
        some = np.fromiter(columns, dtype=np.intp)
        return Gram(self.weight, self.rows, self.high[some], self.low[some], self.products[np.ix_(some, some)])

    def about_zero(self) -> Floats:  # (columns, columns)
        """Return Σw·z·zᵀ, which is not centered.

        Returns
        -------
        array of shape (columns, columns)
            Sums of products.
        """
        found: Floats = self.products + np.multiply.outer(self.weight * self.mean, self.mean)
        return found


def gram_of_chunk(Z: Floats, weights: Floats | None = None) -> Gram:
    """Summarize rows that are few enough for the processor's cache; `Z` (rows, columns) is overwritten."""
    n = len(Z)
    total = float(n) if weights is None else float(weights.sum())
    if not total > 0:
        return replace(Gram.empty(Z.shape[1]), rows=n)
    w = np.ones(n) if weights is None else weights
    mean = (w @ Z) / total
    Z -= mean
    left = (w @ Z) / total  # what rounding of the mean has left
    if weights is not None:
        Z *= np.sqrt(w)[:, None]
    products = Z.T @ Z
    products -= np.multiply.outer(total * left, left)
    np.fill_diagonal(products, np.maximum(np.diag(products), 0.0))  # of a constant column, rounding may leave -1e-50
    high, low = two_sum(mean, left)
    return Gram(total, n, high, low, products)


def chunk_rows(n_columns: int) -> int:
    """Return how many rows are summarized at a time."""
    return max(64, CHUNK_CELLS // max(1, n_columns))


def gram_of(Z: Floats, weights: Floats | None = None) -> Gram:
    """Summarize the rows of a table in one pass.

    Parameters
    ----------
    Z : array of shape (rows, columns)
        Finite numbers: the columns of a design, and of its targets.
    weights : array of shape (rows,), optional
        Weights of the rows, 0 or larger.

    Returns
    -------
    Gram
        The summary.

    Examples
    --------
    >>> import numpy as np
    >>> gram_of(np.array([[1.0], [2.0]]), np.array([3.0, 1.0])).mean
    array([1.25])
    """
    total, size = Gram.empty(Z.shape[1]), chunk_rows(Z.shape[1])
    for start in range(0, len(Z), size):
        some = slice(start, start + size)
        part = np.array(Z[some], dtype=np.float64, order="C")  # a copy, which is centered in place
        total = total + gram_of_chunk(part, None if weights is None else weights[some])
    return total
