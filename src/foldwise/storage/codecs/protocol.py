"""What a codec is: two functions between a fitted estimator and files of plain content."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError

Stored = Mapping[str, bytes]  # by ending: "json", "npz", …


class Codec(Protocol):
    """A form of one type of estimator."""

    def write(self, model: Any) -> Stored:
        """The files of a model."""

    def read(self, stored: Stored) -> Any:
        """The model of such files."""


def to_json(value: Any) -> bytes:
    """Plain values as JSON."""
    return json.dumps(value, ensure_ascii=False).encode()


def from_json(data: bytes) -> Any:
    """Plain values of JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("the model file is damaged: a part of it is no JSON.") from error


def to_npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays of numbers as numpy's own archive, in the order of bytes that it notes itself."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return buffer.getvalue()


def from_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays, in this machine's order of bytes; an array of objects would be a pickle, and is refused."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return {name: found[name].astype(found[name].dtype.newbyteorder("=")) for name in found.files}
    except Exception as error:
        raise InputError("the model file is damaged: a part of it holds no plain arrays.") from error
