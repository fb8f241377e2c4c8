"""Digests that tell studies apart: of training rows, and of the parts of a search that must not change.

Every row of a table is reduced to one number, once. The digest of some rows is that of their numbers in order, so that
nested cross-validation reads the table once for all of its studies, and finds those that a search on a copy of the same
rows has begun. Frames of any library with the same columns have the same digest. Hashes of rows tell tables apart that
differ by chance or by mistake. They do not protect against rows that are constructed to have equal hashes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray

from foldwise.data.frames import as_polars, as_series
from foldwise.data.view import is_frame
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import count_rows, has_length
from foldwise.folds.splits import LeaveOneOutSplits, Split

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the repr of an object
Hashes = NDArray[np.uint64]
FIRST, SECOND, STEP = (np.uint64(one) for one in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15))
HALF = np.uint64(32)
MISSING = np.uint64(0xD1B54A32D192ED03)  # the hash of a missing value


def digest_of(*parts: bytes | str) -> str:
    """A short digest of texts and bytes."""
    found = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.hexdigest()[:32]


@dataclass(frozen=True)
class RowHashes:
    """One number per row of a table with its target, weights and groups, and what all rows have in common."""

    hashes: Hashes
    common: str

    @classmethod
    def of(cls, X: Any, y: Any, fit_params: Mapping[str, Any], groups: Any = None) -> RowHashes:
        """Hash the rows that a search may learn from."""
        n_rows = count_rows(X)
        total, common, position = np.zeros(n_rows, dtype=np.uint64), [], 0
        parts = [("X", X), ("y", y), *sorted(fit_params.items()), ("groups", groups)]
        for part, values in parts:
            if values is None:
                continue
            if part != "X" and not has_length(values, n_rows):
                common.append(f"{part}={described(values)}")
                continue
            for name, kind, hashes in hashed_columns(values):
                n_columns = 1 if hashes.ndim == 1 else hashes.shape[1]
                total += mixed_sums(hashes.reshape(n_rows, n_columns), offsets(position, n_columns))
                common.append(f"{part} {name} {kind} {n_columns}")
                position += n_columns
        return cls(total, "\n".join(common))

    def digest(self, rows: Rows | None = None) -> str:
        """The digest of some rows in their order; of all rows if None."""
        return digest_of(self.common, (self.hashes if rows is None else self.hashes[rows]).tobytes())


def digest_of_rows(X: Any, y: Any, fit_params: Mapping[str, Any], groups: Any = None) -> str:
    """A digest of all rows of a table, with their target, weights and groups."""
    return RowHashes.of(X, y, fit_params, groups).digest()


def hashed_columns(values: Any) -> Iterator[tuple[str, str, Hashes]]:
    """The name, kind and a number per row of each column; all columns of an array of numbers together."""
    if sp.issparse(values):
        yield "", f"sparse of {values.shape[1]}", hashed_sparse(values.tocsr())  # type: ignore[attr-defined]
        return
    if is_frame(values):
        for column in as_polars(values).iter_columns():
            yield column.name, *hashed(column)
        return
    array = np.asarray(values) if not hasattr(values, "to_list") else None
    if array is None or array.ndim == 1:
        yield "", *hashed(as_series("values", values))
        return
    flat = array.reshape(len(array), -1)
    if array.dtype.kind in "fiub":
        yield "", "int" if array.dtype.kind in "iub" else "float", bits(flat)
    else:
        for column in as_polars(flat).iter_columns():
            yield "", *hashed(column)


def hashed(column: pl.Series) -> tuple[str, Hashes]:
    """The kind of a column, and a number per row that is the same in every selection of rows."""
    if column.dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    if not column.dtype.is_integer() and not column.dtype.is_float():
        known = ValueHashes()
        return "values", np.fromiter(map(known.__getitem__, map(repr, column.to_list())), np.uint64, len(column))
    kind = "int" if column.dtype.is_integer() else "float"
    if not column.null_count():
        return kind, bits(column.to_numpy())
    found = bits(column.fill_null(0).to_numpy()).copy()
    found[column.is_null().to_numpy()] = MISSING
    return kind, found


class ValueHashes(dict[str, int]):
    """The hash of each text that occurs, computed once."""

    def __missing__(self, text: str) -> int:
        found = self[text] = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        return found


def bits(array: NDArray[Any]) -> Hashes:
    """The bits of numbers: of whole numbers and booleans as such, of all others as float64."""
    kind = np.int64 if array.dtype.kind in "iub" else np.float64
    return np.ascontiguousarray(array, dtype=kind).view(np.uint64)


def offsets(position: int, n: int) -> Hashes:
    """What is added to the cells of columns from a position on, so that equal cells of two columns differ."""
    with np.errstate(over="ignore"):
        found: Hashes = STEP * np.arange(position + 1, position + n + 1, dtype=np.uint64)
    return found


@njit(nogil=True, cache=True)
def mixed_sums(cells: Hashes, added: Hashes) -> Hashes:
    """Scramble the bits of cells and sum each row: sums then differ wherever a cell differs."""
    found = np.zeros(len(cells), dtype=np.uint64)
    for i in range(len(cells)):
        total = np.uint64(0)
        for j in range(cells.shape[1]):
            cell = (cells[i, j] + added[j]) * FIRST
            cell = (cell ^ (cell >> HALF)) * SECOND
            total += cell
        found[i] = total
    return found


def hashed_sparse(X: Any) -> Hashes:
    """A number per row of a sparse matrix, from the positions and values of the cells that are stored."""
    cells = bits(X.data) + offsets(0, X.shape[1])[X.indices]
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed_sums(cells[:, None], offsets(0, 1)))])
    found: Hashes = ends[X.indptr[1:]] - ends[X.indptr[:-1]]  # sums wrap, and so do their differences
    return found


def digest_of_array(array: NDArray[Any]) -> str:
    """A digest of numbers: whole numbers and booleans as such, all others as float64."""
    kind = np.int64 if array.dtype.kind in "iub" else np.float64
    return digest_of(repr(array.shape), np.dtype(kind).name, np.ascontiguousarray(array, dtype=kind).tobytes())


def digest_of_splits(splits: Sequence[Split]) -> str:
    """A digest of the rows of all splits."""
    if isinstance(splits, LeaveOneOutSplits):
        return digest_of("leave one out", digest_of_array(splits.rows))
    parts = [rows.astype(np.uint64)[None, :] for one in splits for rows in (one.train, one.test)]
    added = offsets(0, max(rows.size for rows in parts))
    hashes = [(rows.size, int(mixed_sums(rows, added)[0])) for rows in parts]
    return digest_of(repr(hashes))


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
    kind = qualified(type(value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{kind}({described(value.get_params(deep=False))})"
    if hasattr(value, "__qualname__"):  # a function or a class
        return qualified(value)
    if hasattr(value, "dist") and hasattr(value, "args") and hasattr(value, "kwds"):  # a distribution of scipy
        return f"{kind}({value.dist.name}, {described(value.args)}, {described(value.kwds)})"
    inside = (
        {name: one for name, one in vars(value).items() if not name.startswith("_")}
        if hasattr(value, "__dict__")
        else {}
    )
    text = described(inside) if inside else ADDRESS.sub("", repr(value)).replace("__mp_main__", "__main__")
    return f"{kind}({text})"


def qualified(value: Any) -> str:
    """The name of a class or function with its module; what a script defines is the same in processes it starts."""
    module = "__main__" if value.__module__ == "__mp_main__" else value.__module__
    return f"{module}.{value.__qualname__}"
