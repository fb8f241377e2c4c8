"""Training rows of tall tables: models start on a subsample of each split's training rows and climb to larger ones.

Subsamples of a split are nested, so a higher rung adds rows and takes none away. Their rows are stratified by class, or
whole groups, or the latest rows where there is a time column. All rungs are tested on the same held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldwise.app.task import FitTask
from foldwise.folds.protocol import Rows
from foldwise.folds.splits import Split

TALL = 60_000  # rows from which models start on subsamples
RUNGS = (20_000, 100_000)  # training rows; the last rung has all
LARGEST = 0.6  # of the training rows: a rung with more is left out
MOST_TEST = 30_000  # held-out rows per split that models are tested on
MOST_TEST_SHORT = 5_000  # in a short run, where predictions and their comparison would take much of the time


@dataclass(frozen=True)
class RowSamples:
    """The training rows of each rung."""

    sizes: tuple[int, ...]  # training rows of a split on each rung
    by_split: tuple[Rows, ...]  # all training rows of each split, in the order in which rungs take them
    every: Rows  # all rows of the table, in such an order

    @classmethod
    def of(cls, task: FitTask, splits: Sequence[Split], seed: int) -> RowSamples:
        n_train = min(len(split.train) for split in splits)
        if task.n_rows <= TALL:
            return cls((n_train,), (), np.arange(task.n_rows))
        sizes = (*(size for size in RUNGS if size < LARGEST * n_train), n_train)
        ranks = sampling_ranks(task, seed)
        ordered = tuple(split.train[np.argsort(ranks[split.train], kind="stable")] for split in splits)
        return cls(sizes, ordered, np.argsort(ranks, kind="stable"))

    def train(self, split: int, rung: int) -> Rows | None:
        """The training rows of a split on a rung; None for all of them."""
        return None if rung == len(self.sizes) - 1 else np.sort(self.by_split[split][: self.sizes[rung]])

    def refit(self, rung: int) -> Rows | None:
        """The rows of the whole table that the final model of a rung learns from; None for all of them."""
        if rung == len(self.sizes) - 1:
            return None
        share = self.sizes[rung] / self.sizes[-1]
        return np.sort(self.every[: round(share * len(self.every))])


def sampling_ranks(task: FitTask, seed: int) -> NDArray[np.float64]:
    """A number per row such that the rows with the smallest numbers are a sample: by class, by group, or the latest."""
    rng = np.random.default_rng(seed)
    if task.moments is not None:
        return -task.moments.astype(np.float64)
    if task.groups is not None:
        return rng.permutation(int(task.groups.max()) + 1)[task.groups].astype(np.float64)
    return stratified_ranks(task.strata, rng)


def stratified_ranks(codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Random ranks between 0 and 1 within each class, evenly spaced, so that any smallest ranks are stratified."""
    ranks = np.empty(len(codes))
    for label in np.unique(codes):
        rows = np.flatnonzero(codes == label)
        ranks[rows] = (rng.permutation(len(rows)) + rng.random()) / len(rows)
    return ranks


def with_fewer_tested(
    splits: Sequence[Split], words: str, codes: NDArray[np.int64], seed: int, *, short: bool
) -> tuple[list[Split], str]:
    """The splits with a stratified sample of their test rows, if these are many; and the splits in words."""
    most = MOST_TEST_SHORT if short else MOST_TEST
    if max(len(one.test) for one in splits) <= most:
        return list(splits), words
    ranks = stratified_ranks(codes, np.random.default_rng(seed))
    fewer = [Split(one.train, np.sort(one.test[np.argsort(ranks[one.test], kind="stable")[:most]])) for one in splits]
    return fewer, f"{words}, each tested on {most:,} of its held-out rows"
