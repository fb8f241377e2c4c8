"""`FitTask`: the table, the target and special columns of a run, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.engine_tables import LargeTable, draw_tables, is_engine_table
from foldwise.app.given_costs import cost_matrix
from foldwise.app.holding_out import held_out_rows
from foldwise.app.special_columns import column_name, grouped, ordered, used_words, weighted, with_weight
from foldwise.data.frames import as_polars, check_kind
from foldwise.data.levels import is_missing
from foldwise.data.notes import Note, counted
from foldwise.data.reading.table_source import TableSource
from foldwise.data.schema import Schema, choose_among, listing
from foldwise.data.table import Table, rows_of
from foldwise.data.target import encode_target, task_of, written_labels
from foldwise.data.view import view_of_frame
from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.metrics.metric import Metric
from foldwise.folds.protocol import Need
from foldwise.models.column_roles import Outline, outline

FEW_ROWS = 20  # with so few rows, every label may be different
MOST_CLASSES = 200
UNIQUE_SHARE = 0.2  # more distinct labels than this share of rows are not classes
LEAST_ROWS = 8


@dataclass(frozen=True)
class HeldOutTable:
    """The rows of a separate test table, with their target, and weights if it has the weight column."""

    X: pl.DataFrame
    y: NDArray[Any]  # values, or codes of classes; those of `unseen` follow those of the training table
    weights: NDArray[np.float64] | None
    n_known: int = 0  # classes of the training table
    unseen: tuple[str, ...] = ()  # classes that the training table does not have
    share: float | None = None  # of the rows of the table, if they come from it
    outside: bool = False  # whether these are rows of a large table that are not in the sample

    @property
    def n_unseen(self) -> int:
        """The number of rows whose class the training table does not have."""
        return int((self.y >= self.n_known).sum()) if self.unseen else 0

    def score(self, metric: Metric, predicted: NDArray[np.float64]) -> float:
        """Score predictions. Rows of an unseen class are wrong, or left out if the metric needs probabilities."""
        if not self.unseen:
            return metric(self.y, predicted, self.weights)
        if metric.need == Need.LABELS:
            wide = np.pad(predicted, ((0, 0), (0, len(self.unseen))))
            return metric(self.y, wide, self.weights)
        known = self.y < self.n_known
        return metric(self.y[known], predicted[known], None if self.weights is None else self.weights[known])


@dataclass(frozen=True)
class FitTask:
    """The checked input of a run: rows, target, groups, times, weights and costs."""

    table: Table  # whose X holds features only
    outline: Outline
    classes: NDArray[Any]  # none for a quantity
    y: NDArray[Any]  # codes of classes, or the values of a quantity
    groups: NDArray[np.intp] | None = None
    moments: NDArray[np.intp] | None = None  # rows by time: 0 for the earliest, the same for rows of one time
    weights: NDArray[np.float64] | None = None
    costs: CostMatrix | None = None
    positive: int | None = None  # index among classes
    named: dict[str, str] | None = None  # groups, time, weights: the columns
    test: HeldOutTable | None = None
    n_unlabeled: int = 0  # rows without a target, which were left out
    aside: HeldOutTable | None = None  # rows that calibrate intervals or sets, from which nothing is learned
    large: LargeTable | None = None  # the table that the rows were drawn from, if it is too large for memory

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def row_numbers(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the numbers of some rows in the table that was read, of which rows may have been left out."""
        return rows if self.table.row_numbers is None else self.table.row_numbers[rows]

    @property
    def is_quantity(self) -> bool:
        """Whether values are predicted, not classes."""
        return not len(self.classes)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_outputs(self) -> int:
        """Numbers predicted per row: one per class, or the value of a quantity."""
        return max(1, self.n_classes)

    @property
    def counts(self) -> NDArray[np.intp]:
        """Rows of each class."""
        return np.bincount(self.strata, minlength=self.n_classes)[: self.n_classes]

    @property
    def strata(self) -> NDArray[np.int64]:
        """What samples of rows are balanced by: the classes. Rows of a quantity are all of one stratum."""
        return np.zeros(len(self.y), dtype=np.int64) if self.is_quantity else self.y

    def constant(self, train: NDArray[np.intp], n_rows: int) -> NDArray[np.float64]:
        """Predict so many rows without columns: by the class frequencies of some rows, or by their mean."""
        weights = None if self.weights is None else self.weights[train]
        if self.is_quantity:
            return np.full(n_rows, np.average(self.y[train], weights=weights))
        counts = np.bincount(self.y[train], weights, minlength=self.n_classes) + 1e-3
        return np.broadcast_to(counts / counts.sum(), (n_rows, len(counts)))


def make_task(
    table: Any,
    target: str | None,
    *,
    groups: str | None = None,
    time: str | None = None,
    weights: str | None = None,
    costs: Any = None,
    positive: Any = None,
    test: Any = None,
    drop_unlabeled: bool = False,
    task: str | None = None,
    held_out: float | None = None,
    seed: int = 0,
    budget: float | None = None,
) -> FitTask:
    """Read and check the input of a run. The target decides between classes and a quantity, unless `task` does.

    With `held_out`, this share of the rows is kept out of training and takes the place of a separate test table. The
    sample of a table that is larger than memory has no more rows than a run of `budget` seconds can read.
    """
    large, is_outside = None, False
    if is_engine_table(table):
        table, outside, large = draw_tables(table, target, seed, task, budget)
        is_outside = outside is not None and test is None and held_out is None
        test = outside if is_outside else test
    whole = read_any(table, target)
    assert whole.y is not None
    # a missing class may have a meaning, which the user must tell; a missing number has none
    drop_unlabeled = drop_unlabeled or task_of(whole.y, task) == "regression"
    read = labeled(whole, drop_unlabeled)
    n_unlabeled = whole.X.height - read.X.height
    columns = {"groups": groups, "time": time, "weights": weights}
    named = {what: column_name(what, name) for what, name in columns.items() if name is not None}
    check_named(read, named)
    if weights is not None:
        read = with_weight(read, weights)
    assert read.target is not None
    assert read.y is not None
    target, quantity = read.target, task_of(read.y, task) == "regression"
    kept_for_test = None
    if held_out is not None:
        if test is not None:
            raise InputError("cv='holdout' and test= cannot be combined.", "pass one of them.")
        read, kept_for_test = split_off(read, named, quantity, held_out, seed)
    assert read.y is not None
    classes: NDArray[Any] = np.empty(0)
    y: NDArray[Any]
    if quantity:
        y = checked_quantity(read)
        read = replace(read, y=y)
        refuse_class_options(costs, positive, target)
    else:
        check_target(read)
        encoded = encode_target(read.y, read.X.height)
        classes, y = encoded.classes, encoded.codes
        check_classes(classes, y, target)
    features = without(read, list(named.values()))
    used = [Note(what, used_words(what, read.X[name]), name) for what, name in named.items()]
    features = replace(features, decided=(*features.decided, *used))
    group_codes = None if groups is None else grouped(read.X[groups], groups)
    moments = None if time is None else ordered(read.X[time], time)
    weighed = None if weights is None else weighted(read.X[weights], weights)
    matrix = None if costs is None else cost_matrix(costs, classes)
    positive_index = None if positive is None else class_index(positive, classes, target)
    tested = labeled(read_any(test, read.target, "test table"), drop_unlabeled) if test is not None else kept_for_test
    found = None if tested is None else held_out_of(tested, classes, features.X.columns, weights)
    if found is not None and held_out is not None:
        found = replace(found, share=held_out)
    if found is not None:
        found = replace(found, outside=is_outside)
    about = outline(features, "regression" if quantity else "classification")
    given = (group_codes, moments, weighed, matrix, positive_index, named)
    return FitTask(features, about, classes, y, *given, found, n_unlabeled, large=large)


def split_off(table: Table, named: dict[str, str], quantity: bool, share: float, seed: int) -> tuple[Table, Table]:
    """Split a table into rows to learn from and held-out rows."""
    assert table.y is not None
    strata = np.zeros(table.X.height, dtype=np.int64) if quantity else encode_target(table.y, table.X.height).codes
    groups = grouped(table.X[named["groups"]], named["groups"]) if "groups" in named else None
    moments = ordered(table.X[named["time"]], named["time"]) if "time" in named else None
    out = held_out_rows(share, strata, groups, moments, seed)
    return rows_of(table, ~out), rows_of(table, out)


def read_any(table: Any, target: str | None, what: str = "table") -> Table:
    """Read a table with a target from a path, a frame or a `Table`; `what` names it in errors."""
    if isinstance(table, Table):
        if table.y is not None and target in (None, table.target):
            return table
        if target is None:
            raise InputError(f"the {what} has no target.", "pass target='column', the column to predict.")
        return of_frame(table.X, target, table.name, what)
    if isinstance(table, str | Path | TableSource):
        source = table if isinstance(table, TableSource) else TableSource(Path(table))
        if target is None:
            names = source.read().X.columns
            raise InputError("the column to predict was not given.", f"pass target=, one of {listing(names)}.")
        try:
            return source.read(target)
        except InputError as error:
            if what != "table" and error.message.endswith("passed as target=."):
                missing = f"the {what} {source.path.name} has no column {target!r}, the target."
                raise InputError(missing, "add the column to it, or check the path.") from error
            raise
    is_main = what == "table"
    hint = "pass a table and target='column', or X and y." if is_main else "pass one with the target as a column."
    check_kind(table, hint, what)
    if target is None:
        hint = "pass target='column', the column to predict."
        if isinstance(table, np.ndarray):  # it has no names
            hint = "pass y, the values to predict, one for each row of X."
        raise InputError("the column to predict was not given.", hint)
    return of_frame(as_polars(table), target, "table", what)


def of_frame(frame: pl.DataFrame, target: str, name: str, what: str = "table") -> Table:
    """Turn a frame into a `Table`."""
    if target not in frame.columns:
        choose = f"choose a target among {listing(frame.columns)}."
        hint = choose if what == "table" else "add the target to it as a column."
        raise InputError(f"the {what} has no column {target!r}.", hint)
    X = frame.drop(target)
    labels = frame[target]
    y = np.array(labels.to_list(), dtype=object) if labels.null_count() else np.asarray(labels.to_numpy())
    return Table(X, y, view_of_frame(nw.from_native(X)).schema, name, target)


def labeled(table: Table, drop: bool) -> Table:
    """Return the rows that have a target. Raise if some have none, unless they are to be dropped."""
    assert table.y is not None
    if table.y.dtype.kind not in "fO":
        return table
    known = np.array([not is_missing(one) for one in table.y.tolist()], dtype=bool)
    if known.all():
        return table
    if not known.any():
        raise InputError(f"column {table.target!r} is empty.", "choose another target.")
    if not drop:
        raise InputError(
            f"the target {table.target!r} is missing in {int((~known).sum()):,} of {len(known):,} rows.",
            "pass drop_unlabeled=True to leave these rows out.",
        )
    y = np.array(table.y[known].tolist())  # text or numbers instead of objects
    if y.dtype.kind == "f" and (y == np.trunc(y)).all() and (np.abs(y) < 2**53).all():
        y = y.astype(np.int64)  # integers that became floats because of missing values
    return replace(rows_of(table, known), y=y)


def without(table: Table, columns: Sequence[str]) -> Table:
    """Return the table without some columns."""
    if not columns:
        return table
    schema = Schema(tuple(column for column in table.schema if column.name not in columns))
    declared = {name: kind for name, kind in table.declared.items() if name not in columns}
    return replace(table, X=table.X.drop(columns), schema=schema, declared=declared)


def check_named(table: Table, named: dict[str, str]) -> None:
    for what, name in named.items():
        if name == table.target:
            raise InputError(f"{name!r} is the target, so it cannot be used as {what}=.", "choose another column.")
        if name not in table.X.columns:
            raise InputError(
                f"the table has no column {name!r}, passed as {what}=.", choose_among(table.X.columns, name)
            )


def check_target(table: Table) -> None:
    """Raise if the target holds row names or numbers with text among them instead of classes."""
    labels = pl.Series(table.y) if table.y is not None and table.y.dtype != object else pl.Series(list(table.y))  # type: ignore[arg-type]
    n_rows, n_distinct = len(labels), labels.n_unique()
    if n_rows >= FEW_ROWS and (n_distinct > UNIQUE_SHARE * n_rows or n_distinct > MOST_CLASSES):
        strange = not_numbers(labels) if labels.dtype == pl.String else labels
        if 0 < len(strange) < n_rows / 2:
            raise InputError(
                f"most values of the target {table.target!r} are numbers, but text was found in "
                f"{counted(len(strange), 'row')}: "
                f"{listing(strange.unique(maintain_order=True).to_list())}.",
                "replace these cells, remove their rows, or list the text in missing_values=.",
            )
        raise InputError(
            f"the target {table.target!r} has too many distinct values for classes: {n_distinct:,} in {n_rows:,} rows.",
            "pass task='regression' if it is a quantity, or choose another target."
            if labels.dtype.is_numeric()
            else "choose another target.",
        )


def not_numbers(labels: pl.Series) -> pl.Series:
    """The values of a text column that are not numbers."""
    return labels.filter(labels.str.strip_chars().cast(pl.Float64, strict=False).is_null())


def checked_quantity(table: Table) -> NDArray[np.float64]:
    """Return the values of a quantity. Raise if they are not finite numbers, too few, or all the same."""
    given = np.asarray(table.y)
    if given.dtype.kind not in "iufb":
        strange = not_numbers(pl.Series([str(one) for one in given.tolist()]))
        if len(strange):
            raise InputError(
                f"the target of a regression must contain numbers, but {table.target!r} contains text in "
                f"{len(strange):,} of {len(given):,} rows: {listing(strange.unique(maintain_order=True).to_list())}.",
                "replace or remove these rows, or pass task='classification'."
                if len(strange) < len(given)
                else "pass task='classification', or choose another target."
                if pl.Series([str(one) for one in given.tolist()]).n_unique() <= UNIQUE_SHARE * len(given)
                else "choose another target.",
            )
    y = np.ascontiguousarray(given, dtype=np.float64)
    infinite = int(np.isinf(y).sum())
    if infinite:
        raise InputError(
            f"the target {table.target!r} is infinite in {infinite:,} of {len(y):,} rows.", "remove these rows."
        )
    if not len(y):
        raise InputError("the table has no rows.", "pass a table with at least a header and some rows.")
    if len(y) < LEAST_ROWS:
        raise InputError(
            f"the table needs at least {LEAST_ROWS} rows, got {len(y)}.", "pass more rows; hundreds are recommended."
        )
    if y.min() == y.max():
        raise InputError(
            f"the target {table.target!r} has the same value in all rows: {y[0]:g}.",
            "choose a target with at least two values.",
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(np.square(y - y[0]).sum())
    if not finite:
        raise InputError(
            f"the values of {table.target!r} are too large: the sum of their squares is not finite.",
            "divide the target by a constant.",
        )
    return y


def refuse_class_options(costs: Any, positive: Any, target: str) -> None:
    for name, given in (("costs", costs), ("positive", positive)):
        if given is not None:
            raise InputError(
                f"{name}= describes classes, but the target {target!r} is a quantity.",
                f"leave {name}= out, or pass task='classification'.",
            )


def check_classes(classes: NDArray[Any], codes: NDArray[np.int64], target: str) -> None:
    counts = np.bincount(codes, minlength=len(classes))
    if not len(codes):
        raise InputError("the table has no rows.", "pass a table with at least a header and some rows.")
    if len(classes) < 2:
        raise InputError(
            f"the target {target!r} has the same value in all rows: {classes.tolist()[0]!r}.",
            "choose a target with at least two classes.",
        )
    if len(codes) < LEAST_ROWS or (counts >= 2).sum() < 2:
        raise InputError(
            f"the table needs at least {LEAST_ROWS} rows, and two classes with at least two rows each. It has "
            f"{len(codes)} rows, and its {second_class(counts)} has {np.sort(counts)[-2]}.",
            "pass more rows; hundreds are recommended.",
        )


def second_class(counts: NDArray[np.intp]) -> str:
    """Name the class that limits the number of folds, from the number of rows of each class."""
    return "smaller class" if len(counts) == 2 else "second largest class"


def class_index(label: Any, classes: NDArray[Any], target: str) -> int:
    """Return the index of a class, which may be given as text.

    >>> class_index("3", np.array([1, 3]), "y"), class_index("true", np.array([False, True]), "y")
    (1, 1)
    """
    names = [str(one) for one in classes.tolist()]
    found = [k for k, one in enumerate(classes.tolist()) if one == label or names[k] == str(label)]
    if not found and set(names) == {"False", "True"}:  # a file may contain true and false
        found = [k for k, one in enumerate(names) if one.lower() == str(label).lower()]
    if not found:
        raise InputError(f"the target {target!r} has no class {label!r}.", f"choose among {listing(classes.tolist())}.")
    return found[0]


def held_out_of(table: Table, classes: NDArray[Any], columns: Sequence[str], weights: str | None) -> HeldOutTable:
    """Check a separate test table. It needs the same columns; extra columns are ignored."""
    absent = [name for name in columns if name not in table.X.columns]
    if absent:
        raise InputError(
            f"the test table must have all columns of the training table, but it lacks {listing(absent)}.",
            "add the missing columns.",
        )
    assert table.y is not None
    weighed = weighted(table.X[weights], weights) if weights in table.X.columns else None
    if not len(classes):
        y = np.asarray(table.y)
        if y.dtype.kind not in "iuf" or not np.isfinite(y).all():
            raise InputError(
                f"the target {table.target!r} of the test table must contain finite numbers.",
                "replace other values, or remove these rows.",
            )
        return HeldOutTable(table.X.select(columns), y.astype(np.float64), weighed)
    labels = written_labels(table.y).tolist()  # booleans may be text in another table
    index = {one: k for k, one in enumerate(written_labels(classes).tolist())}
    unseen = sorted({one for one in labels if one not in index}, key=str)
    if all(one in unseen for one in set(labels)):
        raise InputError(
            f"all classes of the test table are unknown: {listing(unseen)}. The classes of the training table are "
            f"{listing(classes.tolist())}.",
            "check the target column of the test table.",
        )
    index |= {one: len(classes) + k for k, one in enumerate(unseen)}
    codes = np.array([index[one] for one in labels], dtype=np.int64)
    return HeldOutTable(table.X.select(columns), codes, weighed, len(classes), tuple(map(str, unseen)))
