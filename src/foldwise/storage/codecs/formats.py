"""What a codec is, a pair of functions between an estimator and plain files; JSON, arrays and labels as such files."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.storage import label_array_of, refuse_label
from foldwise.errors import InputError

Files = Mapping[str, bytes]  # by ending: "json", "npz", …


class Codec(Protocol):
    """The file format of one type of estimator."""

    def write(self, model: Any) -> Files:
        """The files of a model."""

    def read(self, files: Files) -> Any:
        """The model of such files."""


def to_json(value: Any) -> bytes:
    """Plain values as JSON."""
    return json.dumps(value, ensure_ascii=False).encode()


def from_json(data: bytes) -> Any:
    """Plain values of JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("the model file is damaged: a part of it is not JSON.") from error


def labels_to_plain(classes: Any) -> dict[str, Any]:
    """Class labels and their type, as JSON holds them."""
    array = np.asarray(classes)
    labels = [label if isinstance(label, str | int | float) else refuse_label(label) for label in array.tolist()]
    return {"dtype": array.dtype.str, "labels": labels}


def labels_from_plain(plain: Mapping[str, Any]) -> NDArray[Any]:
    """The class labels that `labels_to_plain` wrote."""
    labels: NDArray[Any] = label_array_of(plain["dtype"], plain["labels"])
    return labels


def to_npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays of numbers as numpy's own archive."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return buffer.getvalue()


def from_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays, in this machine's byte order; an array of objects would be a pickle and is refused."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return {name: found[name].astype(found[name].dtype.newbyteorder("=")) for name in found.files}
    except Exception as error:
        raise InputError("the model file is damaged: a part of it holds no plain arrays.") from error
