"""From any table to the array of numbers that k-means needs, with errors that name the cells and what to do."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from foldwise.data.schema import listing
from foldwise.data.table import Table
from foldwise.data.view import frame_of, is_frame, plain_table
from foldwise.errors import InputError


def numbers_of(estimator: Any, X: Any, *, reset: bool, missing: str = "refuse") -> NDArray[np.float64]:  # (n, d)
    """Validate the X of an estimator and return its cells; missing cells are NaN if `missing` is "partial"."""
    X = plain_table(X.X if isinstance(X, Table) else X)
    if is_frame(X):
        refuse_text(X)
    cells: NDArray[np.float64] = validate_data(
        estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False
    )
    if np.isfinite(cells.sum()):  # one pass, no copy
        return cells
    if np.isinf(cells).any():
        row, column = np.argwhere(np.isinf(cells))[0]
        raise InputError(
            f"Input X contains infinity or a value too large for float64, first in row {row}, column {column}.",
            "replace infinite values.",
        )
    gaps = np.isnan(cells)
    if missing == "refuse" and gaps.any():
        row, column = np.argwhere(gaps)[0]
        hint = "fill the missing cells, or remove these rows."
        if hasattr(estimator, "missing"):
            hint = "pass missing='partial' to compare only cells that are present, or fill the missing cells."
        raise InputError(f"Input X contains NaN, first in row {row}, column {column}.", hint)
    if (empty := gaps.all(axis=1)).any():
        raise InputError(
            f"Every row must have at least one cell that is present, but all cells of row {np.argmax(empty)} are NaN.",
            "remove such rows.",
        )
    return cells


def refuse_text(X: Any) -> None:
    """Raise if a column of a frame contains text, categories or dates."""
    types = frame_of(X).schema.items()
    others = [
        str(name) for name, kind in types if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown))
    ]
    if others:
        them = "it" if len(others) == 1 else "them"
        raise InputError(
            f"k-means needs numeric columns, but {listing(others)} {'is' if len(others) == 1 else 'are'} not numeric.",
            f"leave {them} out or encode {them}, or use KMedoids, which compares mixed columns.",
        )
