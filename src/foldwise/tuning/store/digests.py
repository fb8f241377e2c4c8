"""Digests that tell studies apart: of training rows, and of the parts of a search that must not change.

A digest of rows does not depend on the container: an array, and the same numbers in a frame of any library, have the
same digest if they have the same column names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.data.frames import as_polars, as_series
from foldwise.data.view import is_frame
from foldwise.folds.splits import LeaveOneOutSplits, Split

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the repr of an object


def digest_of(*parts: bytes | str) -> str:
    """A short digest of texts and bytes."""
    found = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.hexdigest()[:32]


def digest_of_rows(X: Any, y: Any, fit_params: Mapping[str, Any], groups: Any = None) -> str:
    """A digest of the rows that a search learns from, with their target, weights and groups."""
    parts = [digest_of_table(X)]
    for name, values in (("y", y), *sorted(fit_params.items()), ("groups", groups)):
        if values is not None:
            parts += [name, digest_of_values(values)]
    return digest_of(*parts)


def digest_of_table(X: Any) -> str:
    """A digest of a table: column by column, with names."""
    if sp.issparse(X):
        rows: Any = X.tocsr()  # type: ignore[attr-defined]
        return digest_of(
            "sparse", repr(rows.shape), *(digest_of_array(one) for one in (rows.data, rows.indices, rows.indptr))
        )
    if not is_frame(X):
        array = np.asarray(X)
        if array.ndim != 2:
            return digest_of_values(X)
        if array.dtype.kind in "fiub":
            return digest_of("table", *(digest_of_array(array[:, j]) for j in range(array.shape[1])))
    frame = as_polars(X)
    return digest_of("frame", *(part for one in frame.iter_columns() for part in (one.name, digest_of_values(one))))


def digest_of_values(values: Any) -> str:
    """A digest of one value per row; of other arguments, of what they look like."""
    array = np.asarray(values) if not hasattr(values, "to_list") else None
    if array is not None and array.ndim != 1:
        return digest_of_array(array) if array.dtype.kind in "fiub" else digest_of(described(values))
    column = as_series("values", values)
    if column.dtype.is_numeric() and not column.null_count():
        return digest_of_array(column.to_numpy())
    return digest_of("values", repr(column.to_list()))


def digest_of_array(array: NDArray[Any]) -> str:
    """A digest of numbers: whole numbers and booleans as such, all others as float64."""
    kind = np.int64 if array.dtype.kind in "iub" else np.float64
    return digest_of(repr(array.shape), np.dtype(kind).name, np.ascontiguousarray(array, dtype=kind).tobytes())


def digest_of_splits(splits: Sequence[Split]) -> str:
    """A digest of the rows of all splits."""
    if isinstance(splits, LeaveOneOutSplits):
        return digest_of("leave one out", digest_of_array(splits.rows))
    return digest_of(*(digest_of_array(rows) for split in splits for rows in (split.train, split.test)))


def described(value: Any) -> str:
    """A text that is the same for equal values in every process, for estimators, spaces and strategies."""
    if isinstance(value, np.ndarray):
        return f"array({digest_of_array(value) if value.dtype.kind in 'fiub' else value.tolist()!r})"
    if isinstance(value, np.generic):
        return repr(value.item())
    if value is None or isinstance(value, str | bytes | bool | int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {described(one)}" for key, one in value.items()) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(described, value))) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(described, value)) + "]"
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{kind}({described(value.get_params(deep=False))})"
    if hasattr(value, "__qualname__"):  # a function or a class
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "dist") and hasattr(value, "args") and hasattr(value, "kwds"):  # a distribution of scipy
        return f"{kind}({value.dist.name}, {described(value.args)}, {described(value.kwds)})"
    inside = (
        {name: one for name, one in vars(value).items() if not name.startswith("_")}
        if hasattr(value, "__dict__")
        else {}
    )
    return f"{kind}({described(inside) if inside else ADDRESS.sub('', repr(value))})"
