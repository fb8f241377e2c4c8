"""The total weight of each class."""

from __future__ import annotations

from foldwise.summaries.number_kernels import Floats, Ints, add_class_weights, own_lines
from foldwise.summaries.passes import weighted_windows

CHUNK_ROWS = 65_536


def class_weights_of(y: Ints, weights: Floats | None, n_classes: int, start: int, stop: int) -> Floats:  # (K,)
    """One pass over the labels of rows start..stop."""
    totals = own_lines((n_classes,))
    for a, b, w in weighted_windows(weights, start, stop, CHUNK_ROWS):
        add_class_weights(y[a:b], w, totals)
    return totals
