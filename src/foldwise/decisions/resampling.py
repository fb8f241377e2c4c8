"""Ways to balance classes in training rows: sample weights, undersampling, oversampling and SMOTE."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.arrays import Codes, Floats
from foldwise.data.encoded import EncodedView, encode_view
from foldwise.data.validation import refuse_empty
from foldwise.data.view import View, is_frame, view
from foldwise.errors import FoldwiseError, InputError
from foldwise.folds.protocol import Rows

NEIGHBORS = 5  # used by SMOTE


class BalanceError(FoldwiseError, ImportError):
    """Raised if SMOTE is used without imbalanced-learn."""


def balancing_weights(codes: Codes, weights: Floats) -> Floats:  # (rows,)
    """Scale weights so that every class has the same total weight; the overall total stays the same."""
    totals = np.bincount(codes, weights)
    there = totals > 0
    share = totals.sum() / (there.sum() * np.where(there, totals, 1.0))
    return np.asarray(weights * share[codes])


def undersample(codes: Codes, weights: Floats, rng: np.random.RandomState) -> Rows:
    """Draw as many rows of each class as the smallest class has, without replacement, in row order."""
    rows = by_class(codes, weights)
    least = min(map(len, rows))
    return np.sort(np.concatenate([rng.choice(one, least, replace=False) for one in rows]))


def oversample(codes: Codes, weights: Floats, rng: np.random.RandomState) -> Rows:
    """Return all rows, plus random copies until each class is as large as the largest."""
    rows = by_class(codes, weights)
    most = max(map(len, rows))
    return np.sort(np.concatenate([part for one in rows for part in (one, rng.choice(one, most - len(one)))]))


def by_class(codes: Codes, weights: Floats) -> list[Rows]:
    """Return the rows of each class that have a weight above 0."""
    found = [np.flatnonzero((codes == k) & (weights > 0)) for k in range(int(codes.max()) + 1)]
    return [rows for rows in found if rows.size]


def smote_rows(X: Any, codes: Codes, seed: int) -> tuple[Any, Codes]:
    """Append synthetic rows: by SMOTE for numbers, SMOTEN for categories, SMOTENC for both.

    A missing category counts as a category; a missing number is an error. A class with a single row is copied.
    """
    if sp.issparse(X):
        found, labels = sampler_of([False], seed, codes).fit_resample(X, codes)
        return found, labels
    table = view(X)
    assert isinstance(table, View)
    if not table.n_rows or not table.n_columns:
        refuse_empty(table.n_rows, table.n_columns)
    categorical = [column.kind in ("categorical", "binary") for column in table.columns]
    cells, levels = encoded(table, categorical)
    single = np.flatnonzero(np.bincount(codes)[codes] == 1)  # SMOTE needs two rows to interpolate between
    cells, labels = np.concatenate([cells, cells[single]]), np.concatenate([codes, codes[single]])
    made, labels = sampler_of(categorical, seed, labels).fit_resample(cells, labels)
    n_real = len(codes)
    return stacked(X, made[n_real:], levels), np.asarray(labels)


def sampler_of(categorical: list[bool], seed: int, codes: Codes) -> Any:
    """Return imbalanced-learn's sampler for the types of the columns."""
    try:
        from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC
    except ImportError as error:
        raise BalanceError(
            "method='smote' needs imbalanced-learn, which is not installed.",
            "run pip install 'foldwise[balance]', or use method='over'.",
        ) from error
    counts = np.bincount(codes)
    k = min(NEIGHBORS, max(1, int(counts[counts > 0].min()) - 1))
    if all(categorical):
        return SMOTEN(k_neighbors=k, random_state=seed)
    if any(categorical):
        return SMOTENC(np.flatnonzero(categorical).tolist(), k_neighbors=k, random_state=seed)
    return SMOTE(k_neighbors=k, random_state=seed)


def encoded(table: View, categorical: list[bool]) -> tuple[NDArray[Any], dict[int, list[Any]]]:
    """Encode the table as numbers; categories become codes, with the last code for missing cells."""
    ready = encode_view(table, np.flatnonzero(categorical).tolist())
    assert isinstance(ready, EncodedView)
    cells = np.empty((table.n_rows, table.n_columns))
    cells[:, ~np.array(categorical)] = ready.number_table
    for j, column in ready.coded_columns.items():
        cells[:, j] = column.coded
    for row, j in np.argwhere(~np.isfinite(cells))[:1].tolist():
        raise InputError(
            f"SMOTE needs finite numbers, but column {table.columns[j].name!r} contains NaN or infinity in row {row}.",
            "impute missing values first, or use method='over', 'under' or 'weights'.",
        )
    return cells, {j: [*column.levels, None] for j, column in ready.coded_columns.items()}


def stacked(X: Any, made: NDArray[Any], levels: dict[int, list[Any]]) -> Any:
    """Append synthetic rows to the table, keeping its container and column types."""
    columns = [
        [levels[j][int(code)] for code in made[:, j]] if j in levels else made[:, j].tolist()
        for j in range(made.shape[1])
    ]
    if not is_frame(X):
        array = np.asarray(X)
        if array.dtype.kind in "fiub":
            return np.concatenate([array, typed(made, array.dtype)])
        below = np.empty(made.shape, dtype=object)
        for j, cells in enumerate(columns):
            below[:, j] = cells
        return np.concatenate([array.astype(object), below])
    frame = nw.from_native(X, eager_only=True)
    parts = []
    for series, cells in zip(frame.iter_columns(), columns, strict=True):
        if series.dtype.is_integer():
            cells = np.round(cells).astype(np.int64).tolist()
        parts.append(nw.new_series(series.name, cells, series.dtype, backend=frame.implementation))
    below_frame = nw.from_dict({part.name: part for part in parts}, backend=frame.implementation)
    return nw.concat([frame, below_frame]).to_native()


def typed(made: NDArray[Any], dtype: Any) -> NDArray[Any]:
    return np.asarray((np.round(made) if dtype.kind in "iub" else made).astype(dtype))
