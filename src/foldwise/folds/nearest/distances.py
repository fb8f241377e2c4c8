"""Which distances are known, which way scikit-learn finds them, and how far rounding may move them.

Two places of a list may have changed in a refit where their distances are nearer than the rounding of both searches, so
such neighbors count as tied. With m columns and eps = 2.2e-16, for what is compared (d, or d² where scikit-learn
expands |x|² + |y|² - 2xy):

- expanded squares: each is off by at most e = (m + 8)·eps·(|x|² + |y|²) with |y|² ≤ 2|x|² + 2d²; two of them, in two
  searches, by 4e. Whole numbers whose squares sum to less than 2^53 are exact.
- cosine: 1 - xy of normed rows is off by e = (m + 8)·eps, or that of single precision.
- sums, maxima and powers of differences of one pair: by a share (m + 8)·eps of themselves. The same pair goes through
  the same operations in every search.
- a tree skips nodes by bounds on their distance that are off by (m + 8)·eps times the width of the table: this may
  cost a place, but no distance is changed by it.
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
MOST_POWER = 10.0  # a greater p underflows where distances are small
TREE_COLUMNS = 15  # more are searched by brute force, if scikit-learn is to choose
EXPANDED = ("euclidean", "l2")
DIRECT = ("manhattan", "l1", "cityblock", "chebyshev", "minkowski")


@dataclass(frozen=True)
class NumericTable:
    """A table as scikit-learn validates it, and what the bounds need to know of it."""

    X: NDArray[Any]  # (rows, columns), C-order: float64, float32 or whole numbers

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The same in floating point: searched faster, and with the same distances."""
        return self.X if self.X.dtype.kind == "f" else self.X.astype(np.float64)

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """|x|² of every row."""
        found: NDArray[np.float64] = np.einsum("ij,ij->i", self.numbers, self.numbers, dtype=np.float64)
        return found

    @cached_property
    def exact(self) -> bool:
        """Whether squares of distances are sums of whole numbers that floats hold exactly."""
        largest = float(np.abs(self.numbers).max())
        return (
            largest < 2.0**26
            and 4.0 * self.X.shape[1] * largest**2 < 2.0**53
            and bool((self.numbers == np.rint(self.numbers)).all())
        )

    @cached_property
    def width(self) -> float:
        """No distance with p ≥ 1 is greater."""
        return float((self.numbers.max(axis=0).astype(np.float64) - self.numbers.min(axis=0)).sum())


@dataclass(frozen=True)
class Distance:
    """A metric, and whether a tree or brute force finds the nearest by it."""

    metric: str
    p: float
    tree: bool

    @property
    def expanded(self) -> bool:
        """Whether distances come from a product of matrices, so that they depend on its shape."""
        return not self.tree and self.resolved in ("euclidean", "l2", "cosine")

    @property
    def squared(self) -> bool:
        """Whether places are decided by d² rather than by d."""
        return not self.tree and self.resolved in EXPANDED

    @property
    def resolved(self) -> str:
        """The metric without the detour over Minkowski."""
        if self.metric != "minkowski":
            return self.metric
        return {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}.get(float(self.p), "minkowski")

    def is_exact(self, cells: NumericTable) -> bool:
        """Whether every search gives the same bits."""
        return cells.exact and self.resolved != "cosine"

    def slack(self, cells: NumericTable) -> Slack:
        share = (cells.X.shape[1] + 8) * EPS
        n = len(cells.X)
        nothing = np.broadcast_to(np.float64(0.0), (n,))
        if self.tree:
            return Slack(np.broadcast_to(np.float64(4 * share * cells.width), (n,)), nothing, 4 * share, False)
        if self.resolved == "cosine":
            share *= 1.0 if cells.numbers.dtype == np.float64 else float(np.finfo(np.float32).eps) / EPS
            off = np.broadcast_to(np.float64(4 * share), (n,))
            return Slack(off, off, 8 * EPS, False)
        if self.squared:
            if cells.exact:
                return Slack(nothing, nothing, 8 * EPS, True)
            off = 12 * share * cells.squares
            return Slack(off, off, 8 * share + 8 * EPS, True)
        return Slack(nothing, nothing, 4 * share, False)


@dataclass(frozen=True)
class Slack:
    """How near two compared distances a ≤ b of a row may be and still change places: b - a ≤ places + share·b."""

    places: NDArray[np.float64]  # (rows,)
    values: NDArray[np.float64]  # (rows,): the same for distances themselves; a tree's bounds move places alone
    share: float
    squared: bool


def is_known(metric: Any, p: Any, metric_params: Any) -> bool:
    """Whether the distance is one of those above."""
    if metric_params or not isinstance(metric, str):
        return False
    power = float(p) if isinstance(p, Real) and p is not True else math.nan
    if metric == "minkowski":
        return 1.0 <= power <= MOST_POWER or power == math.inf
    return (p is None or power > 0) and metric in (*EXPANDED, *DIRECT, "cosine")


def by_tree(algorithm: str, metric: str, n_columns: int, k: int, n_train: int) -> bool:
    """Whether scikit-learn searches a tree."""
    if algorithm != "auto":
        return algorithm != "brute"
    return metric != "cosine" and n_columns <= TREE_COLUMNS and k < n_train // 2
