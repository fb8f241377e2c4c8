"""How much a map distorts: are neighbors on the map neighbors in the table, and the other way round?

Reference: Venna & Kaski, Proceedings of ICANN (2001) 485-491.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats


def distortion(distances: Floats, on_map: Floats, k: int) -> tuple[float, float]:
    """Compute trustworthiness and continuity for `k` neighbors from two (n, n) matrices of distances.

    Notes
    -----
    With r(i, j) the rank of row j among the neighbors of row i in the table, and U(i) the k nearest rows on the map:
    trustworthiness is 1 - 2 / (n k (2n - 3k - 1)) · Σ_i Σ_{j in U(i)} max(0, r(i, j) - k). Continuity is the same with
    table and map exchanged. Both are 1 for a perfect map and about 0.5 for a random one. They need k < n / 2.
    """
    in_table, in_map = ranks(distances), ranks(on_map)
    n = len(distances)
    scale = 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
    intruders = np.where(in_map <= k, np.maximum(in_table - k, 0), 0).sum()
    missed = np.where(in_table <= k, np.maximum(in_map - k, 0), 0).sum()
    return float(1.0 - scale * intruders), float(1.0 - scale * missed)


def ranks(distances: Floats) -> NDArray[np.int64]:  # (n, n)
    """The rank of each row among the neighbors of each row, from 1; a row itself comes last."""
    n = len(distances)
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    order = np.argsort(others, axis=1, kind="stable")
    found = np.empty((n, n), dtype=np.int64)
    np.put_along_axis(found, order, np.arange(1, n + 1)[None, :], axis=1)
    return found


def neighbors_for(n: int, wanted: int) -> int:
    """The number of neighbors that `n` rows allow: the formula needs fewer than half of them."""
    return max(1, min(wanted, (n - 1) // 2))
