"""The total weight of each class, and its rows of a weight above 0."""

from __future__ import annotations

from foldwise.summaries.number_kernels import Floats, add_class_weights, own_lines
from foldwise.summaries.passes import Share

CHUNK_ROWS = 65_536


def class_weights_of(share: Share) -> Floats:  # (2, K): weight, rows
    """One pass over the labels."""
    totals = own_lines((2, share.n_classes))
    for window in share.windows(CHUNK_ROWS):
        add_class_weights(window.y, window.w, totals)
    return totals
