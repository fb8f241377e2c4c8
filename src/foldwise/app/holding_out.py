"""Hold out a part of the rows once: at random and stratified by class, by whole groups, or the latest rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError

FEWEST = 2  # rows on each side


def held_out_rows(
    share: float,
    strata: NDArray[np.int64],
    groups: NDArray[np.intp] | None,
    moments: NDArray[np.intp] | None,
    seed: int,
) -> NDArray[np.bool_]:
    """Say of each row whether it is held out.

    A class with a single row stays in the training rows. Rows of one group, or of one time, stay together.

    >>> held_out_rows(0.25, np.zeros(8, dtype=np.int64), None, np.arange(8), 0).nonzero()[0].tolist()
    [6, 7]
    """
    n_rows, rng = len(strata), np.random.default_rng(seed)
    if moments is not None:
        later = np.sort(moments)[min(n_rows - 1, round((1 - share) * n_rows))]
        found = moments >= later
    elif groups is not None:
        order = rng.permutation(int(groups.max()) + 1)
        sizes = np.cumsum(np.bincount(groups)[order])
        taken = order[: max(1, int(np.searchsorted(sizes, share * n_rows) + 1))]
        found = np.isin(groups, taken[: len(order) - 1])
    else:
        found = np.zeros(n_rows, dtype=bool)
        for one in np.unique(strata):
            rows = rng.permutation(np.flatnonzero(strata == one))
            found[rows[: round(share * len(rows))]] = True
    if min(found.sum(), (~found).sum()) < FEWEST:
        raise InputError(
            f"holding out {share:.0%} of {n_rows:,} rows leaves too few rows on one side.", "pass a number of folds."
        )
    return np.asarray(found)
