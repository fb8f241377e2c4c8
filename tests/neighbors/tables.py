"""Small mixed tables with everything that is awkward: gaps, duplicates, constants, empty columns, unknown levels."""

from __future__ import annotations

import numpy as np

from foldwise.neighbors.encoding import EncodedRows

LEVELS = (3, 2, 300, 5, 2, 2, 2, 2, 2, 4)  # more than eight columns, and a column of more than a byte


def mixed_table(
    n: int, seed: int, n_numbers: int = 5, n_codes: int = len(LEVELS), unknown: bool = False
) -> EncodedRows:
    """Column 1 holds integers, 2 is constant, 3 is empty; code column 3 is constant, 4 is empty."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, max(n_numbers, 5)))
    numbers[:, 1] = rng.integers(0, 4, n)
    numbers[:, 2] = 0.1
    numbers[rng.random(numbers.shape) < 0.15] = np.nan
    numbers[:, 3] = np.nan
    codes = np.stack([rng.integers(0, levels, n) for levels in LEVELS], axis=1).astype(np.int32)
    codes[:, 3] = 1
    codes[rng.random(codes.shape) < 0.15] = -1
    codes[:, 4] = -1
    if unknown:
        codes[rng.random(codes.shape) < 0.1] = -2
        numbers[0], codes[0] = np.nan, -1  # nothing in common with any row
        codes[1, 2] = 299
    if n > 4:
        numbers[3], codes[3] = numbers[n - 1], codes[n - 1]  # duplicates
    return EncodedRows(
        np.ascontiguousarray(numbers[:, :n_numbers]), np.ascontiguousarray(codes[:, :n_codes]), LEVELS[:n_codes]
    )


def numeric_table(n: int, seed: int, n_numbers: int = 6) -> EncodedRows:
    """Column 1 holds integers, 2 is constant; row 2 is zero, rows 3 and n - 1 are equal."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, n_numbers))
    if n_numbers > 2:
        numbers[:, 1] = rng.integers(0, 3, n)
        numbers[:, 2] = 0.1
    if n > 4:
        numbers[2] = 0.0
        numbers[3] = numbers[n - 1]
    return EncodedRows(numbers, np.zeros((n, 0), dtype=np.int32), ())


def classes_of(n: int, n_classes: int = 3) -> np.ndarray:
    return np.random.default_rng(n).integers(0, n_classes, n)
