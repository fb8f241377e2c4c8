"""Arrays as bytes in numpy's npz format. Opening them never executes code, because arrays of objects are refused."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Write arrays of numbers or text.

    >>> read_npz(to_npz({"a b": np.arange(3)}))
    {'a b': array([0, 1, 2])}
    """
    held: dict[str, Any] = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    objects = [name for name, array in held.items() if array.dtype.hasobject]
    if objects:
        raise ValueError(f"arrays of objects cannot be stored: {objects}.")
    file = io.BytesIO()
    np.savez(file, **held)  # without allow_pickle=False, which numpy 2.0 would store as an array of this name
    return file.getvalue()


def read_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """Read arrays in the byte order of this machine."""
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        return {name: found[name].astype(found[name].dtype.newbyteorder("=")) for name in found.files}
