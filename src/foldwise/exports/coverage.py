"""The intervals and sets of a run with `coverage`, as Python computes them from stored values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.decisions.conformal.levels import SLACK, closed, set_text
from foldwise.errors import InputError


def coverage_quantile(metadata: Mapping[str, Any]) -> float | None:
    """Return half the width of intervals, or 1 minus the least probability in a set; None without coverage."""
    stored = metadata.get("coverage")
    if not isinstance(stored, Mapping):
        return None
    quantile = stored.get("quantile")
    try:
        return math.inf if quantile is None else float(quantile)
    except (TypeError, ValueError):
        raise InputError(
            "the coverage in the model file is not valid.", "save the model again, or run fit again."
        ) from None


def intervals(values: NDArray[np.float64], quantile: float) -> NDArray[np.float64]:  # (rows, 2)
    return closed(values - quantile, values + quantile)


def tolerance_scales(values: NDArray[np.float64], quantile: float | None) -> tuple[float, float]:
    """Return the sizes that a difference from values and from the ends of their intervals is relative to, at least.

    Values near 0 are compared relative to the spread of all values. An end may be near 0 although its value is not, so
    the half-width of the intervals counts, too.
    """
    spread = float(np.std(values)) or 1.0
    return spread, spread if quantile is None or np.isinf(quantile) else max(spread, quantile)


def sets(proba: NDArray[np.float64], quantile: float) -> NDArray[np.bool_]:  # (rows, classes)
    return np.asarray(1.0 - proba <= quantile + SLACK)


def set_texts(proba: NDArray[np.float64], quantile: float, classes: Sequence[Any]) -> list[str]:
    """Write the set of each row as one cell."""
    return [set_text(one, classes) for one in sets(proba, quantile)]
