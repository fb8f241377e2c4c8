"""Column weights whose sums are exact, and the bits that stand for columns in a byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bits:
    """The columns that own a bit: code columns first, then numeric ones, eight to a byte; see `kernels.Law`."""

    look_up: Floats  # (n_bytes, 256)
    all_ones: bool
    total: float
    plane_starts: NDArray[np.int64]  # (n_bytes + 1,)
    plane_bits: NDArray[np.uint8]  # (n_planes,)


def exact_weights(weights: Floats) -> Floats:
    """The weights as multiples of 2^-52 of their sum, so that any sum of them is exact in any order.

    A distance must not depend on which columns happen to have gaps. Weights below 1e-16 of all become 0.
    """
    exponent = int(np.frexp(weights.sum())[1])
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, 52 - exponent)), exponent - 52))


def planes_of(n_levels: int) -> int:
    """How many bytes hold a code of a column: its levels, and unknown ones of training rows and of queries."""
    return max(1, (int(n_levels + 1).bit_length() + 7) // 8)


def bits_of(code_weights: Floats, number_weights: Floats, n_levels: tuple[int, ...]) -> Bits:
    """Bits for code columns and numeric columns with their weights; the planes of one code column share its bit."""
    weights = np.concatenate((code_weights, number_weights))
    n_bytes = -(-weights.size // 8)
    padded = np.zeros(n_bytes * 8)
    padded[: weights.size] = weights
    is_set = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")  # (256, 8)
    look_up = np.zeros((n_bytes, 256))
    for bit in range(8):  # one after the other: the sums are exact, a matrix product's would be too
        look_up += padded[bit::8, None] * is_set[None, :, bit]
    column_of = np.repeat(np.arange(len(n_levels)), [planes_of(n) for n in n_levels])
    return Bits(
        look_up=look_up,
        all_ones=bool((weights == 1.0).all()) and weights.size <= 255,
        total=float(weights.sum()),
        plane_starts=np.searchsorted(column_of // 8, np.arange(n_bytes + 1)).astype(np.int64),
        plane_bits=(1 << (column_of % 8)).astype(np.uint8),
    )
