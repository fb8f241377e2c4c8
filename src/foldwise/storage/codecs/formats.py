"""Codecs, i.e. pairs of functions that convert an estimator to plain files and back; and JSON, arrays and labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.storage import label_array_of, refuse_label
from foldwise.npz import read_npz
from foldwise.storage.archive import damaged

Files = Mapping[str, bytes]  # by ending: "json", "npz", …


class Codec(Protocol):
    """The file format of one type of estimator."""

    def write(self, model: Any) -> Files:
        """Return the files of a model."""

    def read(self, files: Files) -> Any:
        """Return the model of such files."""


def to_json(value: Any) -> bytes:
    """Write plain values as JSON."""
    return json.dumps(value, ensure_ascii=False).encode()


def from_json(data: bytes) -> Any:
    """Read plain values from JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged("a part of it is not JSON") from error


def labels_to_plain(classes: Any) -> dict[str, Any]:
    """Convert class labels and their type to JSON values."""
    array = np.asarray(classes)
    labels = [label if isinstance(label, str | int | float) else refuse_label(label) for label in array.tolist()]
    return {"dtype": array.dtype.str, "labels": labels}


def labels_from_plain(plain: Mapping[str, Any]) -> NDArray[Any]:
    """Return the class labels that `labels_to_plain` wrote."""
    labels: NDArray[Any] = label_array_of(plain["dtype"], plain["labels"])
    return labels


def from_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """Read the arrays of a model file."""
    try:
        return read_npz(data)
    except Exception as error:  # numpy and zipfile raise errors of many types for a damaged file
        raise damaged("a part of it does not contain plain arrays") from error
