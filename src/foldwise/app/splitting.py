"""The folds of a run: stratified, or by group, or forward in time. The same for every model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold

from foldwise.app.task import Task
from foldwise.errors import InputError
from foldwise.folds.splits import Split

FEW_ROWS, MANY_ROWS = 2_000, 30_000


def n_folds(n_rows: int) -> int:
    """Ten for small tables, where every row counts; three for large ones, where time does."""
    return 10 if n_rows <= FEW_ROWS else 5 if n_rows <= MANY_ROWS else 3


def make_splits(task: Task, seed: int) -> tuple[list[Split], str]:
    """The splits, and what they are in words."""
    wanted = n_folds(task.n_rows)
    if task.order is not None:
        return forward(task, min(wanted, 5))
    blank = np.empty((task.n_rows, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds: the audit says it
        if task.groups is not None:
            k = min(wanted, int(task.groups.max()) + 1)
            pairs = list(
                StratifiedGroupKFold(k, shuffle=True, random_state=seed).split(blank, task.codes, task.groups)
                if k > 2
                else GroupKFold(k).split(blank, task.codes, task.groups)
            )
            words = f"{k} folds by {(task.named or {}).get('groups', 'group')}"
        else:
            second = int(np.sort(task.counts)[-2])  # with fewer rows of it than folds, some would test one class only
            k = max(2, min(wanted, second))
            pairs = list(StratifiedKFold(k, shuffle=True, random_state=seed).split(blank, task.codes))
            words = f"{k} stratified folds"
    splits = [Split(train.astype(np.intp), test.astype(np.intp)) for train, test in pairs if len(test)]
    check_splits(splits, task)
    return splits, words


def forward(task: Task, k: int) -> tuple[list[Split], str]:
    """Each part in turn tested by models of all earlier ones; rows of one moment are not parted."""
    assert task.order is not None
    parts = np.array_split(task.order, k + 1)
    splits = [Split(np.sort(np.concatenate(parts[:i])), np.sort(parts[i])) for i in range(1, k + 1)]
    check_splits(splits, task)
    name = (task.named or {}).get("time", "time")
    return splits, f"{k} parts in the order of {name}, each tested by models of the earlier rows"


def check_splits(splits: Sequence[Split], task: Task) -> None:
    """Every model must have seen two classes."""
    for number, split in enumerate(splits):
        if len(np.unique(task.codes[split.train])) < 2:
            raise InputError(
                f"the rows before fold {number + 1} are all of one class.",
                "give a longer table, or other groups or another column of time.",
            )
