"""Compiled distances of one or four queries to a block of training rows. No search: see `selection`.

The innermost loop runs over the rows of a block, so it vectorises, and four columns at a time, so that the sums are
loaded and stored once. Every sum is made in the order of the columns with one rounding a step: the distance of two
rows has the same bits wherever they lie in a block and whichever other queries come along.

Only the entries in `selection` and `tree` are cached, with all of this inside. Numba watches their files alone: after
a change here, remove `__pycache__/*.nbi`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.neighbors.fused import fma, ones

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

BLOCK = 512  # training rows measured in one go: sums and four columns stay in the first cache
PANEL = 64  # numeric columns of a block summed up in one go where there are many
TILE = 4  # queries measured in one go: a training cell is loaded once for all of them

# what a numeric column adds to the sum; f is the column's factor
PLAIN_SQUARES = 0  # (a - b)²
SQUARES = 1  # f (a - b)², 0 where a cell is missing
LENGTHS = 2  # f |a - b|, 0 where a cell is missing
POWERS = 3  # f |a - b|^p
GREATEST = 4  # the greatest f |a - b|, instead of a sum

# how a sum becomes a distance
ITSELF = 0
ROOT = 1
POWER_ROOT = 2
HALF = 3
RATIO = 4  # of the sum and the weight of the columns present in both rows; 1 where that weight is 0


class Law(NamedTuple):
    """How two rows are compared.

    Columns that may be missing, or are compared as equal or different, own a bit each, eight to a byte; a byte of
    such bits is looked up in `bit_weights`. All weights are multiples of one small number, so their sums are exact
    in any order.
    """

    term: int  # PLAIN_SQUARES ... GREATEST
    form: int  # ITSELF ... RATIO
    p: float
    factors: Floats  # (n_numbers,)
    bit_weights: Floats  # (n_bytes, 256): the weight of the columns whose bits are set
    all_ones: bool  # every weight is 1 and there are at most 255: bits are counted, not looked up
    total_weight: float  # of all columns with a bit
    plane_starts: Ints  # (n_bytes + 1,): the planes whose bits are in a byte
    plane_bits: Bytes  # (n_planes,)
    shares: Floats  # (n_slots, n_classes): P(class | level)
    slot_weights: Floats  # (n_slots,)
    slot_starts: Ints  # (n_looked_up + 1,): the slots of a column; its last is the missing cell


class Blocks(NamedTuple):
    """Training rows, column after column within a block of `BLOCK` rows; the last block is filled up."""

    numbers: Floats  # (n_blocks, n_numbers * BLOCK)
    planes: Bytes  # (n_blocks, n_planes * BLOCK): the bytes of the codes
    gaps: Bytes  # (n_blocks, n_bytes * BLOCK): the bits of missing cells
    slots: NDArray[np.int32]  # (n_blocks, n_looked_up * BLOCK)
    start: int  # place of the first row
    stop: int  # place after the last row


class Asked(NamedTuple):
    """Queries, row after row, coded like the training rows."""

    numbers: Floats  # (m, n_numbers)
    planes: Bytes  # (m, n_planes)
    gaps: Bytes  # (m, n_bytes)
    slots: NDArray[np.int32]  # (m, n_looked_up)
    leave_out: Ints  # (m,): the place of a training row that is not found, or -1


@njit(nogil=True, forceinline=True)
def add(term: int, total: float, a: float, b: float, f: float) -> float:
    """`total` and what one numeric column adds to it. `term` is a constant in every call."""
    d = a - b
    if term == PLAIN_SQUARES:
        return fma(d, d, total)
    if term == SQUARES:
        s = d * d
        return fma(f, s if s > 0.0 else 0.0, total)  # NaN > 0 is false
    d = abs(d)
    if term == LENGTHS:
        return fma(f, d if d > 0.0 else 0.0, total)
    return max(total, f * d)


@njit(nogil=True, forceinline=True)
def add_columns(term: int, q: Floats, factors: Floats, first: int, last: int, block: Floats, sums: Floats) -> None:
    """`sums` (TILE * BLOCK,) of the queries `q` (TILE, d) plus the numeric columns first..last, each added by `add`.

    One flat array and a constant BLOCK let the compiler see that sums and cells do not overlap.
    """
    fours = first + (last - first) // 4 * 4
    for j in range(first, fours, 4):
        x = block[j * BLOCK : (j + 4) * BLOCK]
        fa, fb, fc, fd = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        a0, b0, c0, d0 = q[0, j], q[0, j + 1], q[0, j + 2], q[0, j + 3]
        a1, b1, c1, d1 = q[1, j], q[1, j + 1], q[1, j + 2], q[1, j + 3]
        a2, b2, c2, d2 = q[2, j], q[2, j + 1], q[2, j + 2], q[2, j + 3]
        a3, b3, c3, d3 = q[3, j], q[3, j + 1], q[3, j + 2], q[3, j + 3]
        for i in range(BLOCK):
            xa, xb, xc, xd = x[i], x[i + BLOCK], x[i + 2 * BLOCK], x[i + 3 * BLOCK]
            s = add(term, add(term, sums[i], a0, xa, fa), b0, xb, fb)
            sums[i] = add(term, add(term, s, c0, xc, fc), d0, xd, fd)
            s = add(term, add(term, sums[i + BLOCK], a1, xa, fa), b1, xb, fb)
            sums[i + BLOCK] = add(term, add(term, s, c1, xc, fc), d1, xd, fd)
            s = add(term, add(term, sums[i + 2 * BLOCK], a2, xa, fa), b2, xb, fb)
            sums[i + 2 * BLOCK] = add(term, add(term, s, c2, xc, fc), d2, xd, fd)
            s = add(term, add(term, sums[i + 3 * BLOCK], a3, xa, fa), b3, xb, fb)
            sums[i + 3 * BLOCK] = add(term, add(term, s, c3, xc, fc), d3, xd, fd)
    for j in range(fours, last):
        x = block[j * BLOCK : (j + 1) * BLOCK]
        fa, a0, a1, a2, a3 = factors[j], q[0, j], q[1, j], q[2, j], q[3, j]
        for i in range(BLOCK):
            xa = x[i]
            sums[i] = add(term, sums[i], a0, xa, fa)
            sums[i + BLOCK] = add(term, sums[i + BLOCK], a1, xa, fa)
            sums[i + 2 * BLOCK] = add(term, sums[i + 2 * BLOCK], a2, xa, fa)
            sums[i + 3 * BLOCK] = add(term, sums[i + 3 * BLOCK], a3, xa, fa)


@njit(nogil=True)
def add_powers(q: Floats, law: Law, first: int, last: int, block: Floats, sums: Floats) -> None:
    """`sums` (BLOCK,) of one query plus f |a - b|^p: a power costs more than loading cells again."""
    for j in range(first, last):
        for i in range(BLOCK):
            sums[i] += law.factors[j] * abs(q[j] - block[j * BLOCK + i]) ** law.p


@njit(nogil=True, cache=True)
def add_numbers(law: Law, q: Floats, first: int, last: int, block: Floats, sums: Floats) -> None:
    """`sums` (TILE * BLOCK,) of the queries `q` (TILE, d) plus the numeric columns first..last."""
    if law.term == PLAIN_SQUARES:  # a constant in every call, so every term gets a loop without a branch
        add_columns(PLAIN_SQUARES, q, law.factors, first, last, block, sums)
    elif law.term == SQUARES:
        add_columns(SQUARES, q, law.factors, first, last, block, sums)
    elif law.term == LENGTHS:
        add_columns(LENGTHS, q, law.factors, first, last, block, sums)
    elif law.term == GREATEST:
        add_columns(GREATEST, q, law.factors, first, last, block, sums)
    else:
        for t in range(TILE):
            if t == 0 or not np.isnan(q[t, 0]):  # powers are dear: none for the fill-up of a tile
                add_powers(q[t], law, first, last, block, sums[t * BLOCK : (t + 1) * BLOCK])


@njit(nogil=True)
def whole_tiles(numbers: Floats) -> Floats:
    """The queries, filled up with NaN to whole tiles."""
    m, n_columns = numbers.shape
    out = np.empty((-(-m // TILE) * TILE, n_columns))
    for i in range(out.shape[0]):
        for j in range(n_columns):
            out[i, j] = numbers[i, j] if i < m else np.nan
    return out


@njit(nogil=True, cache=True)
def sum_numbers(law: Law, queries: Floats, block: Floats, sums: Floats) -> None:
    """`sums` (m * BLOCK,) over the numeric columns for queries in whole tiles, a panel of columns at a time.

    A block of many columns leaves the near caches before the next tile comes; a panel stays.
    """
    sums[:] = 0.0
    n_columns = law.factors.size
    for first in range(0, n_columns, PANEL):
        last = min(first + PANEL, n_columns)
        for t in range(0, queries.shape[0], TILE):
            add_numbers(law, queries[t : t + TILE], first, last, block, sums[t * BLOCK : (t + TILE) * BLOCK])


@njit(nogil=True)
def mark_differences(values: Bytes, bits: Bytes, planes: Bytes, marks: Bytes) -> None:
    """`marks` (BLOCK,): for every row the bits of the planes in which it differs from the query."""
    marks[:] = 0
    for j in range(values.size):
        x = planes[j * BLOCK : (j + 1) * BLOCK]
        value, bit = values[j], bits[j]
        for i in range(BLOCK):
            marks[i] |= bit if x[i] != value else np.uint8(0)


@njit(nogil=True)
def count_bits(is_ratio: bool, marks: Bytes, gap: Bytes, own_gap: int, differ: Bytes, absent: Bytes) -> None:
    """`differ` and `absent` (BLOCK,) plus the columns of one byte: different ones, and those missing in either row.

    Where sums do not become ratios a missing cell differs.
    """
    own = np.uint8(own_gap)
    if is_ratio:
        for i in range(BLOCK):
            missing = np.uint8(gap[i] | own)
            differ[i] += ones(np.uint8(marks[i] & ~missing))
            absent[i] += ones(missing)
    else:
        for i in range(BLOCK):
            differ[i] += ones(np.uint8(marks[i] | gap[i] | own))


@njit(nogil=True, cache=True)
def add_overlap(
    law: Law, values: Bytes, own_gaps: Bytes, planes: Bytes, gaps: Bytes, work: Bytes, sums: Floats, weights: Floats
) -> None:
    """`sums` (BLOCK,) of one query plus its columns that own bits; `weights` (BLOCK,) of those present, for ratios."""
    n_bytes = own_gaps.size
    is_ratio = law.form == RATIO
    marks, differ, absent = work[:BLOCK], work[BLOCK : 2 * BLOCK], work[2 * BLOCK : 3 * BLOCK]
    if law.all_ones:
        differ[:] = 0
        absent[:] = 0
        for g in range(n_bytes):
            first, last = law.plane_starts[g], law.plane_starts[g + 1]
            mark_differences(values[first:last], law.plane_bits[first:last], planes[first * BLOCK :], marks)
            count_bits(is_ratio, marks, gaps[g * BLOCK : (g + 1) * BLOCK], own_gaps[g], differ, absent)
        for i in range(BLOCK):
            sums[i] += differ[i]
        if is_ratio:
            for i in range(BLOCK):
                weights[i] = law.total_weight - absent[i]
        return
    over = np.zeros(BLOCK)  # apart from `sums`, where it would be rounded at every step
    weights[:] = law.total_weight
    for g in range(n_bytes):
        first, last = law.plane_starts[g], law.plane_starts[g + 1]
        mark_differences(values[first:last], law.plane_bits[first:last], planes[first * BLOCK :], marks)
        look_up, gap, own = law.bit_weights[g], gaps[g * BLOCK : (g + 1) * BLOCK], own_gaps[g]
        for i in range(BLOCK):
            missing = gap[i] | own
            if is_ratio:
                over[i] += look_up[marks[i] & ~missing]
                weights[i] -= look_up[missing]
            else:
                over[i] += look_up[marks[i] | missing]
    for i in range(BLOCK):
        sums[i] += over[i]


@njit(nogil=True)
def fill_look_up(law: Law, slots: NDArray[np.int32], look_up: Floats) -> None:
    """`look_up` (n_slots,): w Σ_c (P(c|a) - P(c|b))² for the levels a of one query and all levels b."""
    for j in range(slots.size):
        first, last = law.slot_starts[j], law.slot_starts[j + 1]
        own = slots[j]
        for t in range(first, last):
            if own == last - 1 or t == last - 1:  # a missing cell
                look_up[t] = law.slot_weights[t]
                continue
            total = 0.0
            for c in range(law.shares.shape[1]):
                d = law.shares[own, c] - law.shares[t, c]
                total += d * d
            look_up[t] = law.slot_weights[t] * total


@njit(nogil=True)
def add_look_ups(look_up: Floats, n_columns: int, slots: NDArray[np.int32], sums: Floats) -> None:
    """`sums` (BLOCK,) of one query plus its columns that are looked up by slot."""
    for j in range(n_columns):
        x = slots[j * BLOCK : (j + 1) * BLOCK]
        for i in range(BLOCK):
            sums[i] += look_up[x[i]]


@njit(nogil=True, cache=True)
def add_codes(
    law: Law, blocks: Blocks, b: int, asked: Asked, first: int, n: int, look_ups: Floats, sums: Floats, weights: Floats
) -> None:
    """`sums` and `weights` (TILE * BLOCK,) of `n` queries from `first` on, plus all that is not a numeric step.

    That is differing codes, missing cells, and `look_ups` (n, n_slots) as `fill_look_up` made them.
    """
    if asked.gaps.shape[1]:
        work = np.empty(3 * BLOCK, dtype=np.uint8)
        for t in range(n):
            values, own_gaps = asked.planes[first + t], asked.gaps[first + t]
            s, w = sums[t * BLOCK : (t + 1) * BLOCK], weights[t * BLOCK : (t + 1) * BLOCK]
            add_overlap(law, values, own_gaps, blocks.planes[b], blocks.gaps[b], work, s, w)
    elif law.form == RATIO:
        weights[:] = 0.0
    if asked.slots.shape[1]:
        for t in range(n):
            add_look_ups(look_ups[t], asked.slots.shape[1], blocks.slots[b], sums[t * BLOCK : (t + 1) * BLOCK])


@njit(nogil=True)
def distance_of(law: Law, total: float, weight: float) -> float:
    """The distance that a sum stands for."""
    if law.form == ROOT:
        return np.sqrt(total)  # type: ignore[no-any-return]
    if law.form == RATIO:
        return total / weight if weight > 0.0 else 1.0
    if law.form == HALF:
        return 0.5 * total
    if law.form == POWER_ROOT:
        return total ** (1.0 / law.p)  # type: ignore[no-any-return]
    return total


@njit(nogil=True)
def bound_of(law: Law, distance: float) -> float:
    """No sum above it (for ratios: above it times the weight) is nearer than `distance`.

    The slack is above what rounding of the root, or of the ratio, can do; 1e-300 is for what vanishes below.
    """
    if law.form == ROOT:
        return distance * distance * (1.0 + 1e-14) + 1e-300
    if law.form == RATIO:
        return distance * (1.0 + 1e-14) + 1e-300
    if law.form == HALF:
        return 2.0 * distance
    if law.form == POWER_ROOT:
        return distance**law.p * (1.0 + 1e-15 * (law.p + 10.0)) + 1e-300  # type: ignore[no-any-return]
    return distance


@njit(nogil=True, cache=True)
def project(numbers: Floats, centre: Floats, axes: Floats, out: Floats) -> None:
    """`out` (n, n_axes): the rows on the axes (n_columns, n_axes), each by itself, unlike a matrix product."""
    for i in range(numbers.shape[0]):
        out[i] = 0.0
        for j in range(numbers.shape[1]):
            x = numbers[i, j] - centre[j]
            for c in range(axes.shape[1]):
                out[i, c] += x * axes[j, c]
