"""Supported distances, how scikit-learn computes them, and bounds on their rounding errors.

Two neighbors may swap in a refit if their distances differ by less than the rounding errors of both searches, so they
count as tied. The bounds below hold for m columns, eps = 2.2e-16 and the values that are compared: d, or d² where
scikit-learn expands |x|² + |y|² - 2xy.

- Expanded squares: the error of each is at most e = (m + 8)·eps·(|x|² + |y|²) with |y|² ≤ 2|x|² + 2d², and 4e for two
  of them in two searches. Integers whose squares sum to less than 2^53 are exact.
- Cosine: the error of 1 - xy of normalized rows is at most e = (m + 8)·eps, with the eps of the table's precision.
- Sums, maxima and powers of differences: the relative error is at most (m + 8)·eps. Each pair goes through the same
  operations in every search.
- Trees skip nodes by bounds on their distance whose error is at most (m + 8)·eps times the width of the table. This
  may change the order of neighbors, but not a distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

EPS = float(np.finfo(np.float64).eps)
MOST_POWER = 10.0  # a larger p underflows for small distances
TREE_COLUMNS = 15  # with more, algorithm="auto" of scikit-learn uses brute force
EXPANDED = ("euclidean", "l2")
DIRECT = ("manhattan", "l1", "cityblock", "chebyshev", "minkowski")


@dataclass(frozen=True)
class NumericTable:
    """A table as scikit-learn validates it, with the quantities that the bounds need."""

    X: NDArray[Any]  # (rows, columns), C-order: float64, float32 or integers

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The table in floating point: faster to search, with the same distances."""
        return self.X if self.X.dtype.kind == "f" else self.X.astype(np.float64)

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """|x|² of every row."""
        found: NDArray[np.float64] = np.einsum("ij,ij->i", self.numbers, self.numbers, dtype=np.float64)
        return found

    @cached_property
    def exact(self) -> bool:
        """Whether squared distances are sums of integers that floats represent exactly."""
        largest = float(np.abs(self.numbers).max())
        return (
            largest < 2.0**26
            and 4.0 * self.X.shape[1] * largest**2 < 2.0**53
            and bool((self.numbers == np.rint(self.numbers)).all())
        )

    @cached_property
    def width(self) -> float:
        """An upper bound of all distances with p ≥ 1."""
        return float((self.numbers.max(axis=0).astype(np.float64) - self.numbers.min(axis=0)).sum())


@dataclass(frozen=True)
class Distance:
    """A metric, and whether a tree or brute force is used to search."""

    metric: str
    p: float
    tree: bool

    @property
    def expanded(self) -> bool:
        """Whether distances come from a matrix product, so that rounding depends on its shape."""
        return not self.tree and self.resolved in ("euclidean", "l2", "cosine")

    @property
    def squared(self) -> bool:
        """Whether neighbors are ordered by d² instead of d."""
        return not self.tree and self.resolved in EXPANDED

    @property
    def resolved(self) -> str:
        """The metric, with the special cases of Minkowski by their own names."""
        if self.metric != "minkowski":
            return self.metric
        return {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}.get(float(self.p), "minkowski")

    def is_exact(self, cells: NumericTable) -> bool:
        """Whether every search gives bitwise equal distances."""
        return cells.exact and self.resolved != "cosine"

    def slack(self, cells: NumericTable) -> Slack:
        share = (cells.X.shape[1] + 8) * EPS
        n = len(cells.X)
        zeros = np.broadcast_to(np.float64(0.0), (n,))
        if self.tree:
            return Slack(np.broadcast_to(np.float64(4 * share * cells.width), (n,)), zeros, 4 * share, False)
        if self.resolved == "cosine":
            share *= 1.0 if cells.numbers.dtype == np.float64 else float(np.finfo(np.float32).eps) / EPS
            off = np.broadcast_to(np.float64(4 * share), (n,))
            return Slack(off, off, 8 * EPS, False)
        if self.squared:
            if cells.exact:
                return Slack(zeros, zeros, 8 * EPS, True)
            off = 12 * share * cells.squares
            return Slack(off, off, 8 * share + 8 * EPS, True)
        return Slack(zeros, zeros, 4 * share, False)


@dataclass(frozen=True)
class Slack:
    """Bounds on rounding: two distances a ≤ b of a row may swap if b - a ≤ order + share·b."""

    order: NDArray[np.float64]  # (rows,)
    values: NDArray[np.float64]  # (rows,): the same bound for the distances themselves; 0 for a tree
    share: float
    squared: bool


def is_known(metric: Any, p: Any, metric_params: Any) -> bool:
    """Whether the distance is supported."""
    if metric_params or not isinstance(metric, str):
        return False
    power = float(p) if isinstance(p, Real) and p is not True else math.nan
    if metric == "minkowski":
        return 1.0 <= power <= MOST_POWER or power == math.inf
    return (p is None or power > 0) and metric in (*EXPANDED, *DIRECT, "cosine")


def by_tree(algorithm: str, metric: str, n_columns: int, k: int, n_train: int) -> bool:
    """Whether scikit-learn uses a tree."""
    if algorithm != "auto":
        return algorithm != "brute"
    return metric != "cosine" and n_columns <= TREE_COLUMNS and k < n_train // 2
