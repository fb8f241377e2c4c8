"""Rows and columns of any table: frames of any library, arrays, sparse matrices, lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.utils import get_tags

from foldwise.errors import InputError
from foldwise.folds.protocol import Rows


def take_rows(X: Any, rows: Rows) -> Any:
    """The rows with these indices, in the container of X."""
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[rows].to_native()
    if nw.dependencies.is_into_series(X):
        return nw.from_native(X, series_only=True)[rows].to_native()
    if hasattr(X, "iloc"):  # a frame of a library that narwhals does not know
        return X.iloc[rows]
    if hasattr(X, "shape"):
        return X[rows]
    return [X[i] for i in np.asarray(rows).tolist()]


def take_columns(X: Any, indices: Sequence[int] | Rows) -> Any:
    """The columns with these indices, in the container of X."""
    chosen = [int(j) for j in indices]
    if nw.dependencies.is_pandas_dataframe(X):
        return X.iloc[:, chosen]
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[:, chosen].to_native()
    return X[:, chosen]


def take_pairs(X: Any, rows: Rows, columns: Rows) -> Any:
    """Rows and columns of a square table of pairs: a kernel, or distances."""
    return take_columns(take_rows(X, rows), columns)


def is_square(X: Any) -> bool:
    """Whether a table has as many columns as rows, and so could be a table of pairs."""
    shape: Any = getattr(X, "shape", None)
    return shape is not None and len(shape) == 2 and bool(shape[0] == shape[1])


def takes_pairs(estimator: Any) -> bool:
    """Whether an estimator with its present parameters takes a precomputed kernel or distances."""
    return hasattr(estimator, "__sklearn_tags__") and bool(get_tags(estimator).input_tags.pairwise)


def with_rows(X: Any) -> Any:
    """The table in a format that supports row indexing: sparse formats without it become CSR."""
    return X.tocsr() if getattr(X, "format", None) in ("coo", "dia", "bsr") and hasattr(X, "tocsr") else X


def refuse_routing(fit_params: dict[str, Any]) -> None:
    """Raise if scikit-learn's metadata routing is on and there are fit parameters to route."""
    if fit_params and sklearn.get_config()["enable_metadata_routing"]:
        raise InputError(
            f"with scikit-learn's metadata routing on, {', '.join(fit_params)} cannot be passed here.",
            "call sklearn.set_config(enable_metadata_routing=False), or use a search such as GridSearchCV.",
        )


def take_params(fit_params: dict[str, Any], rows: Rows, n_rows: int) -> dict[str, Any]:
    """Fit parameters for some rows: those with one entry per row are indexed, the others are passed unchanged."""
    return {
        name: take_rows(with_rows(value), rows) if has_length(value, n_rows) else value
        for name, value in fit_params.items()
    }


def has_length(value: Any, n_rows: int) -> bool:
    if isinstance(value, str | bytes | dict):
        return False
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) > 0 and shape[0] == n_rows
    return hasattr(value, "__len__") and len(value) == n_rows


def count_rows(X: Any) -> int:
    """The number of rows of X."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape is not None else len(X)


def stack_rows(above: Any, below: Any) -> Any:
    """Two tables below each other in one container; None if their containers, dtypes or columns differ."""
    if type(above) is not type(below):
        return None
    if nw.dependencies.is_pandas_dataframe(above) or nw.dependencies.is_polars_dataframe(above):
        if list(above.columns) != list(below.columns) or list(above.dtypes) != list(below.dtypes):
            return None
        return nw.get_native_namespace(above).concat([above, below])
    sparse: bool = sp.issparse(above)
    if not (sparse or type(above) is np.ndarray):
        return None
    if above.dtype != below.dtype or above.shape[1:] != below.shape[1:]:
        return None
    return sp.vstack([above, below], format=above.format) if sparse else np.concatenate([above, below])


def dealt_folds(target: NDArray[Any], n_folds: int) -> NDArray[np.intp]:
    """The fold of each row: sorted by class, or by a quantity, rows are dealt to the folds in turn.

    >>> dealt_folds(np.array([0, 1, 0, 0, 1]), 2).tolist()
    [0, 1, 1, 0, 0]
    """
    fold = np.empty(len(target), dtype=np.intp)
    fold[np.argsort(target, kind="stable")] = np.arange(len(target)) % n_folds
    return fold
