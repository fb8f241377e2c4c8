"""Small helpers that every summary shares: other class axes, and what is left when rows are taken away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import ForgetError, InputError
from foldwise.summaries.number_kernels import Floats

EPS = float(np.finfo(np.float64).eps)
FORGET_TOLERANCE = 1e-9  # relative error past which rows cannot be taken away


def spread(array: Floats, places: NDArray[np.int64], n_classes: int) -> Floats:
    """Rows of an array at other places of a longer one, zeros elsewhere."""
    out = np.zeros((n_classes, *array.shape[1:]))
    out[places] = array
    return out


def rows_left(before: Floats, gone: Floats, class_axis: int = 0) -> Floats:
    """Counts of rows after a removal: whole numbers, so what is gone is known exactly."""
    left = before - gone
    if (left < 0).any():
        index = tuple(int(i) for i in np.argwhere(left < 0)[0])
        raise ForgetError("more rows were taken away than had been learned.", index=(index[class_axis], index[-1]))
    return left


def weight_left(before: Floats, gone: Floats, rows: Floats) -> Floats:
    """Weights after a removal: exactly 0 where no row is left, never below 0 by rounding."""
    return np.where(rows == 0, 0.0, np.maximum(before - gone, 0.0))


def weight_kept(before: Floats, gone: Floats, rows: Floats, class_axis: int = 0) -> Floats:
    """`weight_left` where rows are forgotten: it must be known to 1e-9 of itself."""
    left = weight_left(before, gone, rows)
    check_kept(before, left, rows, class_axis)
    return left


def check_kept(before: Floats, left: Floats, rows: Floats, class_axis: int = 0) -> None:
    """Refuse weights of which rounding leaves less than 1e-9 of precision; whole numbers were not rounded."""
    whole = (before % 1 == 0) & (left % 1 == 0)
    poor = (EPS * before > FORGET_TOLERANCE * left) & (rows > 0) & ~whole
    if poor.any():
        index = tuple(int(i) for i in np.argwhere(poor)[0])
        raise ForgetError(
            f"of a weight of {before[index]:g} only {left[index]:g} would be left, "
            f"not known to {FORGET_TOLERANCE:.0e} of itself.",
            "fit again on the rows that stay.",
            index=(index[class_axis], index[-1]),
        )


def check_precision(error: Floats, what: str) -> None:
    """Refuse a removal whose relative error (K, d) is past the tolerance."""
    poor = error > FORGET_TOLERANCE
    if poor.any():
        c, j = (int(i) for i in np.argwhere(poor)[0])
        raise ForgetError(
            f"after these rows are gone, the {what} would be known only to {min(float(error[c, j]), 1.0):.0e} of "
            f"itself (at most {FORGET_TOLERANCE:.0e} is accepted).",
            "fit again on the rows that stay.",
            index=(c, j),
        )


def weight_missing(class_weight: Floats, class_rows: Floats, weight: Floats, rows: Floats) -> Floats:
    """The weight of the rows whose cell is missing: exactly 0 where there is no such row, whatever the rounding."""
    return weight_left(class_weight, weight, class_rows - rows)


def stored_array(facts: dict[str, Any], name: str, shape: tuple[int, ...], least: float = -np.inf) -> Floats:
    """An array read from a file, refused unless it has this shape and finite numbers: kernels trust what they get."""
    array = np.array(facts[name], dtype=np.float64).reshape(-1 if shape == () else np.shape(facts[name]))
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)
    if array.shape != shape or not np.isfinite(array).all() or (array < least).any():
        raise InputError(
            f"the stored facts {name!r} must be finite numbers of shape {shape}"
            f"{'' if least == -np.inf else f', at least {least:g}'}; they have shape {array.shape}.",
            "the file is damaged or was changed by hand; write it again with to_json.",
        )
    return array
