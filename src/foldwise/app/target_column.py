"""`fit(X, y)`: a table and its target, passed separately as to scikit-learn, as one table with a target column."""

from __future__ import annotations

import os
from typing import Any

import polars as pl
import scipy.sparse as sp

from foldwise.data.frames import as_polars, as_series
from foldwise.data.target import refuse_lengths, refuse_several
from foldwise.data.view import frame_of, is_frame
from foldwise.errors import FoldwiseTypeError, InputError

NAME = "target"  # of a target without a name


def with_target(X: Any, y: Any, target: str | None = None) -> tuple[pl.DataFrame, str]:
    """Add the target to the columns; it is called `target`, or by its own name, or "target".

    >>> import numpy as np
    >>> frame, name = with_target(np.zeros((2, 1)), ["yes", "no"])
    >>> frame.columns, name
    (['x0', 'target'], 'target')
    """
    if isinstance(X, str | os.PathLike):
        raise FoldwiseTypeError(
            "y can only be passed with a frame or an array, but the table is a path.",
            "leave y out, and name the column to predict with target=.",
        )
    if sp.issparse(X):
        raise FoldwiseTypeError("X must be a frame or a dense array, but is a sparse matrix.", "call X.toarray().")
    if isinstance(y, str):
        raise FoldwiseTypeError(
            f"y must have one value per row, but is the text {y!r}.", f"pass target={y!r} to name a column."
        )
    if getattr(X, "ndim", 2) == 1 and getattr(y, "ndim", 1) == 2:
        raise InputError("X must have rows and columns, but has one dimension, and y has two.", "pass X first, then y.")
    refuse_several(y)
    if is_frame(y):  # of one column
        own: Any = frame_of(y).columns[0]
        y = as_polars(y).to_series().alias(own if isinstance(own, str) else "")  # pandas numbers columns without names
    frame = as_polars(X)
    name = str(target if target is not None else getattr(y, "name", None) or NAME)
    if name in frame.columns:
        raise InputError(
            f"X has a column {name!r}, but the target has the same name.",
            "drop the column from X if it is the target itself. Otherwise pass another name for the target as target=.",
        )
    series = as_series(name, y)
    if len(series) != frame.height:
        refuse_lengths(frame.height, len(series))
    return frame.with_columns(series), name
