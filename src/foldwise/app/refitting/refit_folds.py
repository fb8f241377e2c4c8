"""The folds of `refit`: new rows are tested; new and old rows are learned from, without test groups and later rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.refitting.learning import LabeledRows
from foldwise.app.special_columns import grouped, ordered
from foldwise.app.splitting import check_splits, plain_splits

FOLDS = 10

Index = NDArray[np.intp]


@dataclass(frozen=True)
class RefitFold:
    """The rows of the new and the old table that a model learns from, and the new rows that it predicts."""

    train: Index
    old: Index
    test: Index


@dataclass(frozen=True)
class NewRowsToSplit:
    """New rows, as `plain_splits` takes them."""

    y: NDArray[Any]
    n_classes: int  # 0 for a quantity
    groups: Index | None
    moments: Index | None
    named: Mapping[str, str]

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def counts(self) -> NDArray[np.intp]:
        return np.bincount(self.y, minlength=self.n_classes)

    @property
    def is_quantity(self) -> bool:
        """Whether folds are not stratified: for a quantity, and if fewer than two classes have two rows."""
        return not self.n_classes or int((self.counts > 1).sum()) < 2


def refit_folds(
    rows: LabeledRows, old: LabeledRows | None, named: Mapping[str, str], n_classes: int, seed: int, *, check: bool
) -> list[RefitFold]:
    """Divide the new rows into folds: by group, in the order of time, stratified by class, or at random.

    With `check`, raise if the training rows of a fold have only one class.
    """
    n_old = 0 if old is None else old.n_rows
    both = rows.joined(old).special
    groups = moments = None
    if "groups" in named:
        grouped(rows.special["groups"], named["groups"])  # raises if the new rows are one group
        groups = grouped(both["groups"], named["groups"])
    if "time" in named:
        moments = ordered(both["time"], named["time"])
    new = NewRowsToSplit(rows.y, n_classes, part_of(groups, n_old), part_of(moments, n_old), named)
    splits, _ = plain_splits(new, FOLDS, seed)
    if check:
        check_splits(splits, new)
    found = []
    for split in splits:
        kept = np.ones(n_old, dtype=bool)
        tested = n_old + split.test
        if groups is not None:
            kept &= ~np.isin(groups[:n_old], groups[tested])
        if moments is not None:
            kept &= moments[:n_old] < moments[tested].min()
        found.append(RefitFold(split.train, np.flatnonzero(kept), split.test))
    return found


def part_of(codes: Index | None, start: int) -> Index | None:
    """The codes of the new rows, from 0 on without gaps."""
    return None if codes is None else np.unique(codes[start:], return_inverse=True)[1].astype(np.intp)


def special_frame(frame: pl.DataFrame, named: Mapping[str, str]) -> pl.DataFrame:
    """The columns for groups, time and weights of a table, under these names."""
    return frame.select(pl.col(name).alias(what) for what, name in named.items())
