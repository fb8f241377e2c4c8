"""Some columns of whatever holds a table: frames of any library, arrays, sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw


def take_columns(X: Any, indices: Sequence[int]) -> Any:
    """The columns at these indices, in the container they came in."""
    chosen = [int(j) for j in indices]
    if nw.dependencies.is_pandas_dataframe(X):
        return X.iloc[:, chosen]
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[:, chosen].to_native()
    return X[:, chosen]
