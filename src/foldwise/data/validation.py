"""Validate the X of an estimator: scikit-learn's checks of shape and names. Cells are checked when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from sklearn.utils.validation import validate_data

from foldwise.data.notes import counted
from foldwise.data.schema import Column, listing
from foldwise.data.view import SparseView, View, array_names, frame_of, is_frame, plain_table, view, view_of_frame
from foldwise.errors import InputError


@dataclass(frozen=True)
class ValidatedTable:
    """A view of X, and the library in which frames should be returned."""

    table: View | SparseView
    backend: str


def validate_table(estimator: Any, X: Any, known: tuple[str, ...] | None, sparse: bool = False) -> ValidatedTable:
    """Return a view of X. `known` are the columns that the estimator was fitted on; None sets its feature names."""
    X = plain_table(X)
    if not is_frame(X):
        accept = "csr" if sparse else False
        checked = validate_data(
            estimator, X, reset=known is None, dtype=None, ensure_all_finite=False, accept_sparse=accept
        )
        return ValidatedTable(view(checked), "polars")
    frame = frame_of(X)
    table = view_of_frame(frame)
    if table.n_rows == 0 or not table.sources:
        refuse_empty(table.n_rows, len(table.sources))
    validate_data(estimator, frame.to_native(), reset=known is None, skip_check_array=True)
    if known is not None:
        check_column_names(known, table.columns)
    return ValidatedTable(table, frame.implementation.value)


def check_column_names(known: tuple[str, ...], columns: tuple[Column, ...]) -> None:
    """Refuse columns in another order or with other names; scikit-learn does so only if all names are strings."""
    names = tuple(column.name for column in columns)
    if names != known and known != array_names(len(known)):
        raise InputError(
            f"the columns are {listing(names)}, but the model was fitted on {listing(known)}.",
            "pass the same columns in the same order.",
        )


def check_width(estimator: Any, n_columns: int) -> None:
    """Refuse a table with another number of columns than a transformer was fitted on."""
    if n_columns != estimator.n_features_in_:
        raise InputError(
            f"X has {counted(n_columns, 'column')}, but {type(estimator).__name__} was fitted on "
            f"{estimator.n_features_in_}."
        )


def refuse_empty(n_rows: int, n_columns: int) -> NoReturn:
    """Raise for a frame without rows or without columns, in scikit-learn's words."""
    what = "sample(s)" if n_columns else "feature(s)"
    raise InputError(
        f"Found array with 0 {what} (shape=({n_rows}, {n_columns})) while a minimum of 1 is required.",
        "pass a table with at least one row and one column.",
    )
