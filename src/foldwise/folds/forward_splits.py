"""Splits in the order of time: each part of the rows is tested by models that were trained on earlier parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError
from foldwise.folds.splits import Split


def forward_splits(
    moments: NDArray[np.intp], n_splits: int, groups: NDArray[np.intp] | None = None
) -> list[Split]:  # moments: (rows,), groups: (rows,)
    """Divide the rows into parts of about equal size; test each but the first with training rows from all before it.

    Rows of the same time stay together, so there may be fewer splits. With groups, rows of a tested group are removed
    from the training rows, and a split without training rows is left out. It is an error if no split is left.

    >>> [(one.train.tolist(), one.test.tolist()) for one in forward_splits(np.array([2, 0, 1]), 2)]
    [([1], [2]), ([1, 2], [0])]
    """
    order = np.argsort(moments, kind="stable")
    later = moments[order]
    starts = np.searchsorted(later, [later[len(order) * i // (n_splits + 1)] for i in range(1, n_splits + 1)])
    cuts = [*np.unique(starts[starts > 0]).tolist(), len(order)]
    splits = []
    for start, stop in itertools.pairwise(cuts):
        train, test = np.sort(order[:start]), np.sort(order[start:stop])
        if groups is not None:
            train = train[~np.isin(groups[train], groups[test])]
        if len(train):
            splits.append(Split(train, test))
    if not splits:
        refuse(moments, groups)
    return splits


def refuse(moments: NDArray[np.intp], groups: NDArray[np.intp] | None) -> NoReturn:
    """Raise, and say why no test row has an earlier training row."""
    if groups is not None and moments.max() > moments.min():
        raise InputError(
            "no earlier rows are left for training, because rows of tested groups are removed, and the same groups "
            "occur at nearly all times.",
            "leave groups= or time= out, or choose groups that occur at different times.",
        )
    rows = "most rows have the earliest time" if moments.max() > moments.min() else "all rows have the same time"
    raise InputError(f"{rows}, so there are no earlier rows to train on.", "pass another column as time=.")


class ForwardFolds:
    """A splitter in the order of time. It gets the times, and groups if there are any, as `groups`.

    Parameters
    ----------
    n_splits : int
        Number of splits.
    n_groups : int, default 1
        Number of groups. `groups` must be time * n_groups + group, both from 0, as `keys` computes it.

    Examples
    --------
    >>> splitter = ForwardFolds(2)
    >>> [(train.tolist(), test.tolist()) for train, test in splitter.split(groups=[0, 1, 2])]
    [([0], [1]), ([0, 1], [2])]
    """

    def __init__(self, n_splits: int, n_groups: int = 1) -> None:
        self.n_splits, self.n_groups = n_splits, n_groups

    def __repr__(self) -> str:
        return f"ForwardFolds({self.n_splits}, {self.n_groups})"

    @staticmethod
    def keys(moments: NDArray[np.intp], groups: NDArray[np.intp] | None) -> NDArray[np.intp]:
        """Return what `split` takes as `groups`."""
        return moments if groups is None else moments * (int(groups.max()) + 1) + groups

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Return training and test rows of each split."""
        if groups is None:
            raise InputError("splits in the order of time need the times.", "pass them as groups=.")
        moments, group = np.divmod(np.asarray(groups, dtype=np.intp), self.n_groups)
        splits = forward_splits(moments, self.n_splits, group if self.n_groups > 1 else None)
        return ((one.train, one.test) for one in splits)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits if groups is None else sum(1 for _ in self.split(groups=groups))
