"""Categories of a whole table as slots, counted by class over any rows; neighboring columns are packed into one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.summaries.number_kernels import Floats, Ints

Slots = NDArray[np.int32]
Places = NDArray[np.intp]

PACK_SLOTS = 100  # the most slots of a pack: its table stays in a near cache


@dataclass(frozen=True)
class CodedTable:
    """Column j has the slots base[j] … base[j] + sizes[j] - 1.

    A pack is a run of columns whose combinations are few: one count, or one addition, then serves several columns.
    """

    slots: Slots  # (n, d)
    base: Ints  # (d,)
    sizes: Ints  # (d,)
    packed: Slots  # (n, packs), slots of the packs
    pack_base: Ints  # (packs + 1,)
    first: Ints  # (packs + 1,), the first column of each pack

    @classmethod
    def of(cls, codes: NDArray[np.integer], sizes: Ints) -> CodedTable:
        """The table of codes (n, d) with `sizes` values a column."""
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
        """Where columns and packs begin, as kernels take it."""
        return self.base, self.sizes, self.first, self.pack_base

    def count(self, rows: Places, y: Ints, weights: Floats | None, n_classes: int) -> tuple[Floats, Floats]:
        """Weight, and rows of a weight above 0, of each slot and class (slots, K)."""
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
    """Runs of columns whose combinations fit into PACK_SLOTS: where each begins, and how many combinations it has."""
    first, pack_sizes = [0], [1]
    for j, size in enumerate(sizes):
        if j > first[-1] and pack_sizes[-1] * size > PACK_SLOTS:
            first.append(j)
            pack_sizes.append(1)
        pack_sizes[-1] *= size
    return np.array([*first, len(sizes)], dtype=np.int64), pack_sizes


@njit(nogil=True, cache=True)
def pack_codes(
    codes: NDArray[np.integer], base: Ints, sizes: Ints, first: Ints, pack_base: Ints, slots: Slots, packed: Slots
) -> None:
    """The slot of each cell, and of each row in each pack: its codes as digits, the last column's fastest."""
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
def count_packs(packed: Slots, rows: Places, y: Ints, count: Floats) -> None:
    """Rows of each slot and class. Unsigned places are not tested for counting from the end: half the time."""
    for i in range(rows.size):
        row, c = np.uintp(rows[i]), np.uintp(y[i])
        for p in range(packed.shape[1]):
            count[np.uintp(packed[row, p]), c] += 1.0


@njit(nogil=True, cache=True)
def weigh_packs(packed: Slots, rows: Places, y: Ints, w: Floats, weight: Floats, held: Floats) -> None:
    """Weight and rows (of a weight above 0) of each slot and class."""
    for i in range(rows.size):
        row, c = np.uintp(rows[i]), np.uintp(y[i])
        one = 1.0 if w[i] > 0 else 0.0
        for p in range(packed.shape[1]):
            slot = np.uintp(packed[row, p])
            weight[slot, c] += w[i]
            held[slot, c] += one


@njit(nogil=True, cache=True)
def unpack_counts(packed: Floats, base: Ints, sizes: Ints, first: Ints, pack_base: Ints, counts: Floats) -> None:
    """Counts of packs as counts of their columns' slots. Digits are told by runs: a division a slot costs more."""
    n_classes = counts.shape[1]
    for p in range(first.size - 1):
        run = pack_base[p + 1] - pack_base[p]  # of slots in which a column's digit stays as it is
        for j in range(first[p], first[p + 1]):
            run //= sizes[j]
            slot = pack_base[p]
            while slot < pack_base[p + 1]:
                for digit in range(base[j], base[j] + sizes[j]):
                    for _ in range(run):
                        for c in range(n_classes):
                            counts[digit, c] += packed[slot, c]
                        slot += 1
