"""Artificial rows: each column drawn by itself, numbers from a Gaussian, categories by smoothed frequencies."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.data.levels import is_missing
from foldwise.errors import InputError


def artificial_rows(X: Any, n: int, chance: np.random.RandomState) -> Any:
    """n rows in the container of X; missing cells are not looked at, and none is made."""
    if sp.issparse(X):
        raise InputError(
            "sparse input is not supported: artificial rows are made of dense tables only.", "pass an array or a frame."
        )
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        drawn = frame[np.zeros(n, dtype=np.intp).tolist()]
        columns = [drawn_series(frame[:, j], n, chance) for j in range(len(frame.columns))]  # a name may be a number
        return drawn.with_columns(*columns).to_native()
    if X.dtype != object:
        return np.column_stack(
            [drawn_numbers(X[:, j].astype(np.float64), n, chance) for j in range(X.shape[1])]
        ).astype(X.dtype if X.dtype.kind == "f" else np.float64)
    cells = np.empty((n, X.shape[1]), dtype=object)
    for j in range(X.shape[1]):
        column = X[:, j]
        present = [value for value in column.tolist() if not is_missing(value)]
        if all(isinstance(value, int | float) for value in present):
            cells[:, j] = drawn_numbers(np.array(present, dtype=np.float64), n, chance)
        else:
            cells[:, j] = column[drawn_places(column.tolist(), n, chance)]
    return cells


def drawn_series(series: Any, n: int, chance: np.random.RandomState) -> Any:
    """A column of a frame; its type stays, whole numbers are rounded."""
    if not series.dtype.is_numeric():
        return series[drawn_places(series.to_list(), n, chance).tolist()].alias(series.name)
    numbers = drawn_numbers(np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64), n, chance)
    if series.dtype.is_integer():
        numbers = np.round(numbers)
        if series.dtype.is_unsigned_integer():
            numbers = np.maximum(numbers, 0)
    made = nw.new_series(series.name, numbers, nw.Float64, backend=series.implementation)
    return made.cast(series.dtype)


def drawn_numbers(values: NDArray[np.float64], n: int, chance: np.random.RandomState) -> NDArray[np.float64]:
    present = values[np.isfinite(values)]
    if present.size == 0:
        return np.full(n, np.nan)
    spread = float(present.std(ddof=1)) if present.size > 1 else 0.0
    return np.asarray(chance.normal(float(present.mean()), spread, n))


def drawn_places(cells: list[Any], n: int, chance: np.random.RandomState) -> NDArray[np.intp]:
    """Rows that hold the drawn levels, each level as often as its frequency with one more says."""
    first: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    for i, value in enumerate(cells):
        if not is_missing(value):
            first.setdefault(value, i)
            counts[value] = counts.get(value, 1) + 1
    if not first:
        return np.zeros(n, dtype=np.intp)
    shares = np.array(list(counts.values()), dtype=np.float64)
    return np.array(list(first.values()))[chance.choice(len(shares), n, p=shares / shares.sum())]
