"""The folds of a run: stratified by class, random, by group, or forward in time. The same for every model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from foldwise.app.task import FitTask, second_class
from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan
from foldwise.folds.forward_splits import forward_splits
from foldwise.folds.splits import Split

FEW_ROWS, MANY_ROWS = 2_000, 30_000
MANY_CELLS = 60_000  # rows × classes from which a short run has three folds, as boosting fits trees for every class


class RowsToSplit(Protocol):
    """What folds depend on: the target, and the columns for groups and time."""

    @property
    def y(self) -> NDArray[Any]: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def is_quantity(self) -> bool: ...
    @property
    def counts(self) -> NDArray[np.intp]: ...  # rows of each class
    @property
    def groups(self) -> NDArray[np.intp] | None: ...
    @property
    def moments(self) -> NDArray[np.intp] | None: ...
    @property
    def named(self) -> Mapping[str, str] | None: ...  # groups, time: the columns


def n_folds(n_rows: int, n_outputs: int, *, short: bool) -> int:
    """Choose ten folds for small tables and three for large ones; in a short run at most five."""
    if n_rows > MANY_ROWS or (short and n_rows * n_outputs > MANY_CELLS):
        return 3
    return 5 if short or n_rows > FEW_ROWS else 10


def make_splits(
    task: FitTask, seed: int, *, short: bool = False, plan: FoldPlan | None = None
) -> tuple[list[Split], str]:
    """Make the splits, fewer in a short run unless the user plans them, and describe them in words."""
    if plan is None or plan.held_out is not None:
        wanted = n_folds(task.n_rows, task.n_outputs, short=short)
        splits, words = plain_splits(task, wanted, seed)
    elif task.moments is not None:
        if plan.repeats > 1:
            raise InputError(
                f"folds in order of time cannot be repeated, got {plan.repeats}x{plan.folds}.", f"pass cv={plan.folds}."
            )
        splits, words = forward(task, plan.folds)
    else:
        check_planned(task, plan)
        splits, words = divided(task, plan.folds, seed)
        for repeat in range(1, plan.repeats):
            splits += divided(task, plan.folds, seed + repeat)[0]
        words = words if plan.repeats == 1 else f"{words}, repeated {plan.repeats} times"
    if len(splits) < 2:
        raise InputError(
            f"the rows must fall into at least three periods of {(task.named or {}).get('time')!r}, because models are "
            "trained on the first, selected on the second and scored on the third.",
            "choose another time column, or leave time= out.",
        )
    check_splits(splits, task)
    return splits, words


def plain_splits(task: RowsToSplit, wanted: int, seed: int) -> tuple[list[Split], str]:
    """Make about so many folds, in the order of time at most five, and describe them in words."""
    return forward(task, min(wanted, 5)) if task.moments is not None else divided(task, wanted, seed)


def check_planned(task: FitTask, plan: FoldPlan) -> None:
    """Raise if the table has too few rows or groups for the folds that the user asked for."""
    why = ""
    if task.groups is not None:
        most, what = int(task.groups.max()) + 1, "the number of groups"
        if plan.repeats > 1 and (task.is_quantity or plan.folds < 3):
            what = "the folds of a quantity cannot be repeated"
            what = what if task.is_quantity else "folds can be repeated only if there are at least 3"
            raise InputError(f"with groups, {what}, got {plan.repeats}x{plan.folds}.", f"pass cv={plan.folds}.")
    elif task.is_quantity:
        most, what = task.n_rows // 2, "half the number of rows"
    else:
        most, what = int(np.sort(task.counts)[-2]), f"the number of rows of the {second_class(task.counts)}"
        why = " With more folds, some test folds would contain a single class."
    if plan.folds > most:
        raise InputError(f"cv must be at most {most}, {what}, got {plan.folds} folds.{why}", "pass fewer folds.")


def repeat_of_folds(splits: Sequence[Split]) -> NDArray[np.intp]:
    """Say of each fold to which division of the rows it belongs: a row that is tested again begins the next one."""
    found, tested, repeat = [], np.empty(0, dtype=np.intp), 0
    for split in splits:
        if len(tested) and np.isin(split.test, tested).any():
            repeat, tested = repeat + 1, np.empty(0, dtype=np.intp)
        tested = np.concatenate([tested, split.test])
        found.append(repeat)
    return np.array(found, dtype=np.intp)


def divided(task: RowsToSplit, wanted: int, seed: int) -> tuple[list[Split], str]:
    """Divide the rows into folds: by group, at random, or stratified by class."""
    blank = np.empty((task.n_rows, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds is reported by the audit
        if task.groups is not None:
            k = min(wanted, int(task.groups.max()) + 1)
            pairs = list(
                StratifiedGroupKFold(k, shuffle=True, random_state=seed).split(blank, task.y, task.groups)
                if k > 2 and not task.is_quantity
                else GroupKFold(k).split(blank, task.y, task.groups)
            )
            words = f"{k} folds by {(task.named or {}).get('groups', 'group')}"
        elif task.is_quantity:
            k = min(wanted, task.n_rows // 2)
            pairs = list(KFold(k, shuffle=True, random_state=seed).split(blank))
            words = f"{k} random folds"
        else:
            second = int(np.sort(task.counts)[-2])  # with more folds than this, some would test one class only
            k = max(2, min(wanted, second))
            pairs = list(StratifiedKFold(k, shuffle=True, random_state=seed).split(blank, task.y))
            words = f"{k} stratified folds"
    return [Split(train.astype(np.intp), test.astype(np.intp)) for train, test in pairs if len(test)], words


def forward(task: RowsToSplit, k: int) -> tuple[list[Split], str]:
    """Test each part by models trained on all earlier parts. Rows of the same time stay together.

    With groups, rows of a tested group are removed from the training rows.
    """
    assert task.moments is not None
    splits = forward_splits(task.moments, k, task.groups)
    named = task.named or {}
    folds = f"{len(splits)} fold{'s' * (len(splits) > 1)}"
    words = f"{folds} in order of {named.get('time', 'time')}, each predicted by models trained on earlier rows"
    return splits, words + (f" of other {named['groups']} groups" if task.groups is not None else "")


def check_splits(splits: Sequence[Split], task: RowsToSplit) -> None:
    """Raise if the training rows of a split have only one class, or one value."""
    for number, split in enumerate(splits):
        if len(np.unique(task.y[split.train])) < 2:
            raise InputError(
                f"the training rows of fold {number + 1} all have the same {'value' if task.is_quantity else 'class'}.",
                "use more rows, or other columns for groups and time.",
            )
