"""What a run is asked: table, target, columns that are no features; checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.frames import as_polars
from foldwise.data.levels import is_missing
from foldwise.data.notes import Note
from foldwise.data.reading import read_table
from foldwise.data.reading.dates import dates_of
from foldwise.data.schema import Schema, listing
from foldwise.data.table import Table
from foldwise.data.target import check_weights, encode_target, is_quantity
from foldwise.data.view import view_of_frame
from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.models.column_roles import Outline, outline

FEW_ROWS = 20  # in which every label may be different
MOST_CLASSES = 200
UNIQUE_SHARE = 0.2  # of rows with a label of their own, from which labels are no classes
LEAST_ROWS = 8


@dataclass(frozen=True)
class HeldOut:
    """The rows of a separate test, with codes of the same classes; weighed where it has the column of weights."""

    X: pl.DataFrame
    codes: NDArray[np.int64]
    weights: NDArray[np.float64] | None


@dataclass(frozen=True)
class FitTask:
    """A checked question: rows, their classes as codes, and whatever must be known to split and weigh them."""

    table: Table  # whose X holds features only
    outline: Outline
    classes: NDArray[Any]
    codes: NDArray[np.int64]
    groups: NDArray[np.intp] | None = None
    moments: NDArray[np.intp] | None = None  # rows by time: 0 for the earliest, the same for rows of one time
    weights: NDArray[np.float64] | None = None
    costs: CostMatrix | None = None
    positive: int | None = None  # index among classes
    named: dict[str, str] | None = None  # groups, time, weights: the columns
    test: HeldOut | None = None
    n_unlabeled: int = 0  # rows without a target, which were left out

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def counts(self) -> NDArray[np.intp]:
        return np.bincount(self.codes, minlength=self.n_classes)


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
) -> FitTask:
    """Read, check and describe; every refusal is one sentence and what to do."""
    whole = read_any(table, target)
    read = labeled(whole, drop_unlabeled)
    n_unlabeled = whole.X.height - read.X.height
    columns = {"groups": groups, "time": time, "weights": weights}
    named = {what: name for what, name in columns.items() if name is not None}
    check_named(read, named)
    if weights is not None:
        read = with_weight(read, weights)
    assert read.target is not None
    assert read.y is not None
    check_target(read)
    encoded = encode_target(read.y, read.X.height)
    classes = plain_labels(encoded.classes)
    check_classes(classes, encoded.codes, read.target)
    features = without(read, list(named.values()))
    group_codes = None if groups is None else grouped(read.X[groups], groups)
    moments = None if time is None else ordered(read.X[time], time)
    weighed = None if weights is None else weighted(read.X[weights], weights)
    matrix = None if costs is None else cost_matrix(costs, classes)
    asked = None if positive is None else class_index(positive, classes, read.target)
    held_out = None
    if test is not None:
        tested = labeled(read_any(test, read.target), drop_unlabeled)
        held_out = held_out_of(tested, classes, features.X.columns, weights)
    return FitTask(
        *(features, outline(features), classes, encoded.codes, group_codes, moments, weighed, matrix, asked, named),
        *(held_out, n_unlabeled),
    )


def read_any(table: Any, target: str | None) -> Table:
    """A table with a target, from a path, a frame or a table."""
    if isinstance(table, Table):
        if table.y is not None and target in (None, table.target):
            return table
        if target is None:
            raise InputError("the table has no target.", "name the column to predict: target='column'.")
        return of_frame(table.X, target, table.name)
    if isinstance(table, str | Path):
        if target is None:
            names = read_table(table).X.columns
            raise InputError("no target was named.", f"name the column to predict: one of {listing(names)}.")
        return read_table(table, target=target)
    if target is None:
        raise InputError("no target was named.", "name the column to predict: target='column'.")
    return of_frame(as_polars(table), target, "table")


def of_frame(frame: pl.DataFrame, target: str, name: str) -> Table:
    """A frame as a table."""
    if target not in frame.columns:
        raise InputError(f"there is no column {target!r}.", f"there are {listing(frame.columns)}.")
    X = frame.drop(target)
    labels = frame[target]
    y = np.array(labels.to_list(), dtype=object) if labels.null_count() else np.asarray(labels.to_numpy())
    return Table(X, y, view_of_frame(nw.from_native(X)).schema, name, target)


def labeled(table: Table, drop: bool) -> Table:
    """The table, if every row has a target; else, where that was asked for, the rows that have one."""
    assert table.y is not None
    if table.y.dtype.kind not in "fO":
        return table
    known = np.array([not is_missing(one) for one in table.y.tolist()], dtype=bool)
    if known.all():
        return table
    if not known.any():
        raise InputError(f"no row has a {table.target!r}.", "choose another target.")
    if not drop:
        raise InputError(
            f"{int((~known).sum()):,} of {len(known):,} rows have no {table.target!r}, and a target is never guessed.",
            "leave them out: --drop-unlabeled, in Python drop_unlabeled=True.",
        )
    y = np.array(table.y[known].tolist())  # of texts or numbers again, not of objects
    if y.dtype.kind == "f" and (y == np.trunc(y)).all() and (np.abs(y) < 2**53).all():
        y = y.astype(np.int64)  # whole numbers, before gaps made them others
    return replace(table, X=table.X.filter(pl.Series(known)), y=y)


def without(table: Table, columns: Sequence[str]) -> Table:
    """The table without columns that are no features."""
    if not columns:
        return table
    schema = Schema(tuple(column for column in table.schema if column.name not in columns))
    declared = {name: kind for name, kind in table.declared.items() if name not in columns}
    return Table(table.X.drop(columns), table.y, schema, table.name, table.target, table.decided, declared)


def check_named(table: Table, named: dict[str, str]) -> None:
    for what, name in named.items():
        if name == table.target:
            raise InputError(f"{name!r} is the target, so it cannot be the column of {what}.")
        if name not in table.X.columns:
            raise InputError(f"there is no column {name!r} for {what}.", f"there are {listing(table.X.columns)}.")


def check_target(table: Table) -> None:
    """Refuse numbers to be estimated, and names of rows: Foldwise predicts classes."""
    labels = pl.Series(table.y) if table.y is not None and table.y.dtype != object else pl.Series(list(table.y))  # type: ignore[arg-type]
    n_rows, n_distinct = len(labels), labels.n_unique()
    refuse_quantity(labels, table.target)
    if n_rows >= FEW_ROWS and (n_distinct > UNIQUE_SHARE * n_rows or n_distinct > MOST_CLASSES):
        raise InputError(
            f"{table.target!r} holds {n_distinct:,} different values in {n_rows:,} rows: these name rows, not classes.",
            "choose another target.",
        )


def refuse_quantity(labels: pl.Series, target: str | None) -> None:
    if is_quantity(labels):
        raise InputError(
            f"{target!r} holds {labels.n_unique():,} different numbers: a quantity, and Foldwise predicts classes.",
            "cut it into ranges first, or choose another target.",
        )


def check_classes(classes: NDArray[Any], codes: NDArray[np.int64], target: str) -> None:
    counts = np.bincount(codes, minlength=len(classes))
    if len(classes) < 2:
        raise InputError(
            f"every row has the same {target!r}, {classes[0]!r}.", "a classifier needs two classes at least."
        )
    if len(codes) < LEAST_ROWS or (counts >= 2).sum() < 2:
        raise InputError(
            f"{len(codes)} rows of {len(classes)} classes, the second with {np.sort(counts)[-2]}, are too few to learn "
            "from and to test on.",
            f"{LEAST_ROWS} rows and two classes of two rows are the least, and hundreds are wanted.",
        )


def plain_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Truth values as text: a model file knows text and numbers."""
    return np.array([str(one) for one in classes.tolist()]) if classes.dtype == bool else classes


def grouped(column: pl.Series, name: str) -> NDArray[np.intp]:
    if column.null_count():
        raise InputError(f"{column.null_count():,} rows have no group in {name!r}.", "every row needs one.")
    codes = column.rank("dense").to_numpy().astype(np.intp) - 1
    if codes.max() < 1:
        raise InputError(f"{name!r} holds one group only.", "groups are split, so two are needed at least.")
    return np.asarray(codes)


def ordered(column: pl.Series, name: str) -> NDArray[np.intp]:
    if column.null_count():
        raise InputError(f"{column.null_count():,} rows have no time in {name!r}.", "every row needs one.")
    if not column.dtype.is_numeric() and not column.dtype.is_temporal():
        column = dates_of(column.cast(pl.String))  # in the order of letters 10.1. would come before 2.1.
        if column.null_count():
            raise InputError(
                f"{name!r} orders nothing: it is text that is no date.", "give a column of dates, times or numbers."
            )
    return np.asarray(column.rank("dense").to_numpy().astype(np.intp) - 1)


def weighted(column: pl.Series, name: str) -> NDArray[np.float64]:
    if not column.dtype.is_numeric() or column.null_count():
        raise InputError(f"{name!r} cannot weigh rows: weights are numbers, one a row.")
    found = check_weights(column.cast(pl.Float64).to_numpy(), len(column))
    assert found is not None
    return found


def with_weight(table: Table, name: str) -> Table:
    """The rows of a weight above 0: any other row is as if it were not there, so it is in no fold and no count."""
    there = weighted(table.X[name], name) > 0
    if there.all():
        return table
    assert table.y is not None
    text = f"{(~there).sum():,} rows of weight 0 were left out; rows are counted without them."
    decided = (*table.decided, Note("weights", text, name))
    return replace(table, X=table.X.filter(there), y=np.asarray(table.y)[there], decided=decided)


def cost_matrix(costs: Any, classes: NDArray[Any]) -> CostMatrix:
    """The costs, which must know every class and no other."""
    if isinstance(costs, CostMatrix):
        matrix = costs
    elif isinstance(costs, str | Path):
        try:
            matrix = CostMatrix.from_csv(costs)
        except OSError as error:
            raise InputError(
                f"the costs {str(costs)!r} cannot be read: {error.strerror}.", "check the path."
            ) from error
        except UnicodeDecodeError as error:
            raise InputError(f"the costs {str(costs)!r} are no text.", "write them as a CSV file.") from error
    else:
        matrix = CostMatrix.from_dict(costs) if isinstance(costs, dict) else CostMatrix.from_frame(costs)
    matrix.costs_of(classes)
    known = {str(one) for one in classes.tolist()}
    unknown = [truth for truth in matrix.truths if str(truth) not in known]
    if unknown:
        raise InputError(
            f"the costs name the class {listing(unknown)}, which the target does not hold.",
            f"its classes are {listing(classes.tolist())}.",
        )
    return matrix


def class_index(label: Any, classes: NDArray[Any], target: str) -> int:
    found = [k for k, one in enumerate(classes.tolist()) if one == label or str(one) == str(label)]
    if not found:
        raise InputError(f"{target!r} has no class {label!r}.", f"its classes are {listing(classes.tolist())}.")
    return found[0]


def held_out_of(table: Table, classes: NDArray[Any], columns: Sequence[str], weights: str | None) -> HeldOut:
    """A separate test, which must have the columns and no other classes; more columns and another order do no harm."""
    absent = [name for name in columns if name not in table.X.columns]
    if absent:
        raise InputError(f"the test lacks the column {listing(absent)}.", "it needs the columns of the table.")
    assert table.y is not None
    labels = plain_labels(np.asarray(table.y))
    index = {one: k for k, one in enumerate(classes.tolist())}
    strange = sorted({str(one) for one in labels.tolist() if one not in index})
    if strange:
        raise InputError(
            f"the test holds the class {listing(strange)}, which the table does not.", "check how it is written."
        )
    weighed = weighted(table.X[weights], weights) if weights in table.X.columns else None
    return HeldOut(table.X.select(columns), np.array([index[one] for one in labels.tolist()], dtype=np.int64), weighed)
