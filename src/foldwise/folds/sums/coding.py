"""Categories of a table as slots, counted by class over any rows; adjacent columns are packed into one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints
from foldwise.folds.protocol import Rows

CellSlots = NDArray[np.int32]

PACK_SLOTS = 100  # upper bound of the slots of a pack, so that its table fits into the processor's cache


@dataclass(frozen=True)
class CodedTable:
    """A table of categories: column j has the slots base[j] to base[j] + sizes[j] - 1.

    A pack is a run of columns with few combinations, so that one count or one addition serves several columns.
    """

    slots: CellSlots  # (n, d)
    base: Ints  # (d,)
    sizes: Ints  # (d,)
    packed: CellSlots  # (n, packs), slots of the packs
    pack_base: Ints  # (packs + 1,)
    first: Ints  # (packs + 1,), the first column of each pack

    @classmethod
    def of(cls, codes: NDArray[np.integer], sizes: Ints) -> CodedTable:
        """The table of codes (n, d) with `sizes[j]` different values in column j."""
        base = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        first, pack_sizes = pack(sizes.tolist())
        pack_base = np.concatenate([[0], np.cumsum(pack_sizes)]).astype(np.int64)
        slots = np.empty(codes.shape, dtype=np.int32)
        packed = np.empty((len(codes), len(pack_sizes)), dtype=np.int32)
        pack_codes(codes, base, sizes, first, pack_base, slots, packed)
        return cls(slots, base, sizes, packed, pack_base, first)

    @cached_property
    def n_slots(self) -> int:
        return int(self.sizes.sum())

    @cached_property
    def column(self) -> Ints:  # (slots,)
        """The column of each slot."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def layout(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The first slots of columns and packs, as arguments of kernels."""
        return self.base, self.sizes, self.first, self.pack_base

    def count(self, rows: Rows, y: Ints, weights: Floats | None, n_classes: int) -> tuple[Floats, Floats]:
        """The total weight and the number of rows with positive weight, of each slot and class (slots, K)."""
        shape = (int(self.pack_base[-1]), n_classes)
        found = np.zeros((1 if weights is None else 2, self.n_slots, n_classes))
        weight = np.zeros(shape)
        if weights is None:
            count_packs(self.packed, rows, y, weight)
        else:
            held = np.zeros(shape)
            weigh_packs(self.packed, rows, y, weights, weight, held)
            unpack_counts(held, *self.layout, found[1])
        unpack_counts(weight, *self.layout, found[0])
        return found[0], found[-1]


def pack(sizes: list[int]) -> tuple[Ints, list[int]]:
    """The first column and the number of combinations of each pack, at most PACK_SLOTS if it has several columns."""
    first, pack_sizes = [0], [1]
    for j, size in enumerate(sizes):
        if j > first[-1] and pack_sizes[-1] * size > PACK_SLOTS:
            first.append(j)
            pack_sizes.append(1)
        pack_sizes[-1] *= size
    return np.array([*first, len(sizes)], dtype=np.int64), pack_sizes


@njit(nogil=True, cache=True)
def pack_codes(
    codes: NDArray[np.integer],
    base: Ints,
    sizes: Ints,
    first: Ints,
    pack_base: Ints,
    slots: CellSlots,
    packed: CellSlots,
) -> None:
    """The slot of each cell, and of each row in each pack: its codes as digits, the last column varying fastest."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            slots[i, j] = base[j] + codes[i, j]
        k = np.uintp(0)
        for p in range(packed.shape[1]):
            slot = 0
            while k < np.uintp(first[p + 1]):
                slot = slot * sizes[k] + codes[i, k]
                k += np.uintp(1)
            packed[i, p] = pack_base[p] + slot


@njit(nogil=True, cache=True)
def count_packs(packed: CellSlots, rows: Rows, y: Ints, count: Floats) -> None:
    """The number of rows of each slot and class. Unsigned indices need no check for negative ones: half the time."""
    for i in range(rows.size):
        row, c = np.uintp(rows[i]), np.uintp(y[i])
        for p in range(packed.shape[1]):
            count[np.uintp(packed[row, p]), c] += 1.0


@njit(nogil=True, cache=True)
def weigh_packs(packed: CellSlots, rows: Rows, y: Ints, w: Floats, weight: Floats, held: Floats) -> None:
    """The total weight and the number of rows with positive weight, of each slot and class."""
    for i in range(rows.size):
        row, c = np.uintp(rows[i]), np.uintp(y[i])
        one = 1.0 if w[i] > 0 else 0.0
        for p in range(packed.shape[1]):
            slot = np.uintp(packed[row, p])
            weight[slot, c] += w[i]
            held[slot, c] += one


@njit(nogil=True, cache=True)
def unpack_counts(packed: Floats, base: Ints, sizes: Ints, first: Ints, pack_base: Ints, counts: Floats) -> None:
    """Counts of columns from counts of packs. Digits follow from runs of slots, which is faster than dividing."""
    n_classes = counts.shape[1]
    for p in range(first.size - 1):
        run = pack_base[p + 1] - pack_base[p]  # consecutive slots with the same digit
        for j in range(first[p], first[p + 1]):
            run //= sizes[j]
            slot = pack_base[p]
            while slot < pack_base[p + 1]:
                for digit in range(base[j], base[j] + sizes[j]):
                    for _ in range(run):
                        for c in range(n_classes):
                            counts[digit, c] += packed[slot, c]
                        slot += 1
