"""`find_leaks`: look for leaks in a table and its splits before anything is fitted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from sklearn.model_selection import check_cv

from foldwise.data.audit import giveaways
from foldwise.data.frames import as_polars, as_series
from foldwise.data.notes import counted
from foldwise.data.table import Table
from foldwise.data.target import is_quantity
from foldwise.errors import InputError
from foldwise.evaluation.leaks.duplicates import duplicates
from foldwise.evaluation.leaks.groups import broken_groups, checked_groups, suspected_groups
from foldwise.evaluation.leaks.leak_input import LeakInput
from foldwise.evaluation.leaks.order import broken_time, suspected_dates, suspected_order
from foldwise.evaluation.leaks.report import LEVELS, Leak, Leaks
from foldwise.folds.rows import count_rows
from foldwise.folds.splits import freeze_splits

FOLDS = 5  # if no splits are given


def find_leaks(X: Any, y: Any = None, *, cv: Any = None, groups: Any = None, time: Any = None) -> Leaks:
    """Look for leaks: information in the training rows about the test rows that new data will not have.

    It finds duplicate rows, groups and times that occur in both training and test rows, and columns that give the
    target away. Steps done before splitting, such as scaling, encoding, feature selection or oversampling outside a
    pipeline, leave no trace in the rows and are not found.

    Parameters
    ----------
    X : array-like, frame, sparse matrix or Table
        The table. The target of a `Table` is used if y is None.
    y : array-like of shape (n_rows,), default None
        Classes or numbers; without them, checks of the target are skipped.
    cv : int, splitter or iterable, default None
        The splits that you are going to use; None means five shuffled folds.
    groups : array-like of shape (n_rows,), default None
        Groups of rows that belong together. Without them, columns that look like group names are reported.
    time : str or array-like of shape (n_rows,), default None
        The time of each row, or the name of a column. Without it, columns of dates and slowly changing labels are
        reported.

    Returns
    -------
    Leaks
        The findings: leaks, suspicions that depend on how the rows were collected, and notes.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import find_leaks
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 4)), rng.integers(0, 2, 100)
    >>> find_leaks(X, y)
    Leaks in 100 rows, 4 columns, 5 splits
    none found
    <BLANKLINE>
    Not checked, because rows and splits do not show it: what was done to all rows
    before the split (feature selection, scaling, imputation, target encoding,
    oversampling), and columns that are known only after the target. Do such steps
    in a pipeline, which learns them in each split.
    >>> [leak.name for leak in find_leaks(np.vstack([X, X]), np.append(y, y), time=np.arange(200))]
    ['duplicates', 'time']
    """
    if isinstance(X, Table):
        X, y = X.X, X.y if y is None else y
    sparse = sp.issparse(X)
    frame = pl.DataFrame() if sparse else as_polars(X)
    n_rows = count_rows(X)
    if n_rows < 2:
        raise InputError(f"X must have at least two rows to be split, got {n_rows}.")
    labels = None if y is None else as_series("target", y)
    if labels is not None and len(labels) != n_rows:
        raise InputError(f"X has {n_rows} rows but y has {len(labels)} labels.", "pass one label for each row.")
    quantity = labels is not None and is_quantity(labels)
    if groups is not None:
        groups = checked_groups(groups, n_rows)
    with warnings.catch_warnings():  # splitters that ignore groups are found below
        warnings.filterwarnings("ignore", "The groups parameter is ignored")
        if cv is None:  # folds of neighboring rows would hide the groups and the order of a sorted table
            plain = check_cv(FOLDS, y, classifier=labels is not None and not quantity)
            cv = type(plain)(FOLDS, shuffle=True, random_state=0)
        splits = freeze_splits(cv, X, y, groups, n_rows=n_rows, classifier=labels is not None and not quantity)
    given = LeakInput(X, frame, n_rows, labels, quantity, splits)
    found = [
        *duplicates(given),
        *(suspected_groups(given) if groups is None else broken_groups(given, groups)),
        *(suspected_in_order(given) if time is None else broken_time(given, time)),
        *held_targets(given),
    ]
    levels = list(LEVELS)
    title = f"Leaks in {n_rows:,} rows, {counted(count_columns(X, frame), 'column')}, {counted(len(splits), 'split')}"
    return Leaks(title, tuple(sorted(found, key=lambda leak: levels.index(leak.level))))


def suspected_in_order(given: LeakInput) -> list[Leak]:
    """Report suspicions of time: columns of dates, or else the order of the rows."""
    return list(suspected_dates(given)) or list(suspected_order(given))


def held_targets(given: LeakInput) -> list[Leak]:
    """Report columns that (almost) contain the target."""
    if given.labels is None or not given.frame.width:
        return []
    remedy = "remove the column if it is known only after the target."
    return [
        Leak("target", "suspicion", one.column, one.rows, 1.0, f"{one.column!r}: {one.detail}.", (), remedy)
        for one in giveaways(given.frame, given.labels)
    ]


def count_columns(X: Any, frame: pl.DataFrame) -> int:
    return frame.width or int(np.shape(X)[1])
