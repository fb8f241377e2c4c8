"""Helpers that all summaries share: moving classes to other indices, and subtracting rows without losing precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.errors import ForgetError, InputError

EPS = float(np.finfo(np.float64).eps)
FORGET_TOLERANCE = 1e-9  # largest relative error that removing rows may leave


def spread(array: Floats, indices: NDArray[np.int64], n_classes: int) -> Floats:
    """Move the rows of an array to these indices of a longer one, with zeros elsewhere."""
    out = np.zeros((n_classes, *array.shape[1:]))
    out[indices] = array
    return out


def rows_left(before: Floats, gone: Floats, class_axis: int = 0) -> Floats:
    """Return the counts of rows after a removal, which are exact because they are integers."""
    left = before - gone
    if (left < 0).any():
        index = tuple(int(i) for i in np.argwhere(left < 0)[0])
        raise ForgetError("more rows would be removed than were learned.", index=(index[class_axis], index[-1]))
    return left


def weight_left(before: Floats, gone: Floats, rows: Floats) -> Floats:
    """Return the weights after a removal: exactly 0 if no row is left, and never below 0 because of rounding."""
    return np.where(rows == 0, 0.0, np.maximum(before - gone, 0.0))


def weight_kept(before: Floats, gone: Floats, rows: Floats, class_axis: int = 0) -> Floats:
    """Return `weight_left`, and refuse a removal that leaves a relative error above 1e-9."""
    left = weight_left(before, gone, rows)
    check_kept(before, left, rows, class_axis)
    return left


def check_kept(before: Floats, left: Floats, rows: Floats, class_axis: int = 0) -> None:
    """Refuse weights whose relative error by rounding is above 1e-9; integers are exact."""
    whole = (before % 1 == 0) & (left % 1 == 0)
    poor = (EPS * before > FORGET_TOLERANCE * left) & (rows > 0) & ~whole
    if poor.any():
        index = tuple(int(i) for i in np.argwhere(poor)[0])
        raise ForgetError(
            f"only {left[index]:g} of the weight {before[index]:g} would remain, which is too little to be computed "
            f"with a relative error below {FORGET_TOLERANCE:.0e}.",
            "fit the model again on the remaining rows.",
            index=(index[class_axis], index[-1]),
        )


def check_precision(error: Floats, what: str) -> None:
    """Refuse a removal whose relative error (K, d) is above the tolerance."""
    poor = error > FORGET_TOLERANCE
    if poor.any():
        c, j = (int(i) for i in np.argwhere(poor)[0])
        raise ForgetError(
            f"without these rows, the {what} would have a relative error of {min(float(error[c, j]), 1.0):.0e}, above "
            f"the limit of {FORGET_TOLERANCE:.0e}.",
            "fit the model again on the remaining rows.",
            index=(c, j),
        )


def weight_missing(class_weight: Floats, class_rows: Floats, weight: Floats, rows: Floats) -> Floats:
    """Return the weight of the rows with a missing cell: exactly 0 if no cell is missing, in spite of rounding."""
    return weight_left(class_weight, weight, class_rows - rows)


def stored_array(facts: dict[str, Any], name: str, shape: tuple[int, ...], least: float = -np.inf) -> Floats:
    """Return an array from a file; kernels need it to be finite and of this shape, so anything else is refused."""
    array = np.array(facts[name], dtype=np.float64)
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)
    if array.shape != shape or not np.isfinite(array).all() or (array < least).any():
        raise InputError(
            f"the stored {name!r} must be finite numbers{'' if least == -np.inf else f' of at least {least:g}'} of "
            f"shape {shape}, but has the shape {array.shape}.",
            "the file is damaged or was edited; write it again with to_json.",
        )
    return array
