"""Compiled distances between a few queries and a block of training rows. The search itself is in `selection`.

The innermost loop runs over the rows of a block, so that it vectorizes, and over four columns at a time, so that sums
are loaded and stored once. Every sum is computed in the order of the columns with one rounding per step (`fma`). So
the distance between two rows depends neither on their position in a block nor on the other queries: duplicate rows
tie exactly, and a query equal to a training row is at distance 0.

Numba caches the entry points in `selection` with these functions inlined, but watches only that file. After a change
here, remove `__pycache__/*.nbi`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints

Bytes = NDArray[np.uint8]

BLOCK = 512  # training rows per block: their sums and four columns fit into the L1 cache
PANEL = 64  # numeric columns of a block that are summed at a time
TILE = 4  # queries handled together: each training value is loaded once for all of them

# terms: what a numeric column adds to the sum; f is the factor of the column
PLAIN_SQUARES = 0  # (a - b)²
SQUARES = 1  # f (a - b)², 0 if a value is missing
LENGTHS = 2  # f |a - b|, 0 if a value is missing
POWERS = 3  # f |a - b|^p
GREATEST = 4  # the maximum of f |a - b| instead of a sum

# forms: how a sum becomes a distance
ITSELF = 0
ROOT = 1
POWER_ROOT = 2
HALF = 3
RATIO = 4  # the sum divided by the weight of the columns present in both rows; 1 if that weight is 0


def _fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


def _popcount(typing: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(*arguments)

    return types.uint8(types.uint8), generate


fma: Callable[[float, float, float], float] = cast(Any, intrinsic(_fma))
"""Compute a·b + c in float64 with one rounding, which numba's `fastmath` does not guarantee."""

popcount: Callable[[np.uint8], np.uint8] = cast(Any, intrinsic(_popcount))
"""Count the bits of a byte that are set."""


class CompiledDistance(NamedTuple):
    """A distance in the form that the kernels need.

    Each column that may be missing, or is compared by equality, has one bit. Eight bits form a byte, which is looked
    up in `bit_weights`.
    """

    term: int  # PLAIN_SQUARES ... GREATEST
    form: int  # ITSELF ... RATIO
    p: float
    factors: Floats  # (n_numbers,)
    bit_weights: Floats  # (n_bytes, 256): total weight of the columns whose bits are set
    all_ones: bool  # all weights are 1, at most 255 columns: bits are counted instead of looked up
    total_weight: float  # of all columns that have a bit
    plane_starts: Ints  # (n_bytes + 1,): first plane of each byte
    plane_bits: Bytes  # (n_planes,)
    shares: Floats  # (n_slots, n_classes): P(class | level)
    slot_weights: Floats  # (n_slots,)
    slot_starts: Ints  # (n_looked_up + 1,): first slot of each column; its last slot is for missing values


class TrainingBlocks(NamedTuple):
    """Training rows in blocks of `BLOCK` rows, stored column by column within a block; the last block is padded."""

    numbers: Floats  # (n_blocks, n_numbers * BLOCK)
    planes: Bytes  # (n_blocks, n_planes * BLOCK): the bytes of the codes
    gaps: Bytes  # (n_blocks, n_bytes * BLOCK): bits that mark missing values
    slots: NDArray[np.int32]  # (n_blocks, n_looked_up * BLOCK)
    start: int  # index of the first row
    stop: int  # index after the last row


class Queries(NamedTuple):
    """Queries, stored row by row and encoded like the training rows."""

    numbers: Floats  # (m, n_numbers)
    planes: Bytes  # (m, n_planes)
    gaps: Bytes  # (m, n_bytes)
    slots: NDArray[np.int32]  # (m, n_looked_up)
    leave_out: Ints  # (m,): index of a training row to exclude, or -1


@njit(nogil=True, forceinline=True)
def add(term: int, total: float, a: float, b: float, f: float) -> float:
    """Add the term of one numeric column to `total`. `term` is a compile-time constant in every call."""
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
    """Add the numeric columns first..last to the `sums` (TILE * BLOCK,) of the queries `q` (TILE, d).

    One flat array and a constant BLOCK let the compiler see that sums and values do not overlap.
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
def add_powers(q: Floats, dist: CompiledDistance, first: int, last: int, block: Floats, sums: Floats) -> None:
    """Add f |a - b|^p to the `sums` (BLOCK,) of one query; a power costs more than loading values again."""
    for j in range(first, last):
        for i in range(BLOCK):
            sums[i] += dist.factors[j] * abs(q[j] - block[j * BLOCK + i]) ** dist.p


@njit(nogil=True)
def sum_pair(dist: CompiledDistance, a: Floats, b: Floats) -> float:
    """Sum the terms of all numeric columns for one query and one training row."""
    total = 0.0
    for j in range(a.size):
        if dist.term == POWERS:
            total += dist.factors[j] * abs(a[j] - b[j]) ** dist.p
        else:
            total = add(dist.term, total, a[j], b[j], dist.factors[j])
    return total


@njit(nogil=True, cache=True)
def add_numbers(dist: CompiledDistance, q: Floats, first: int, last: int, block: Floats, sums: Floats) -> None:
    """Add the numeric columns first..last to the `sums` (TILE * BLOCK,) of the queries `q` (TILE, d)."""
    if dist.term == PLAIN_SQUARES:  # constants, so that each term has a loop without branches
        add_columns(PLAIN_SQUARES, q, dist.factors, first, last, block, sums)
    elif dist.term == SQUARES:
        add_columns(SQUARES, q, dist.factors, first, last, block, sums)
    elif dist.term == LENGTHS:
        add_columns(LENGTHS, q, dist.factors, first, last, block, sums)
    elif dist.term == GREATEST:
        add_columns(GREATEST, q, dist.factors, first, last, block, sums)
    else:
        for t in range(TILE):
            if t == 0 or not np.isnan(q[t, 0]):  # powers are expensive: skip the padding of a tile
                add_powers(q[t], dist, first, last, block, sums[t * BLOCK : (t + 1) * BLOCK])


@njit(nogil=True, cache=True)
def sum_numbers(dist: CompiledDistance, tiles: Floats, block: Floats, sums: Floats) -> None:
    """Compute the `sums` (m * BLOCK,) over all numeric columns for whole tiles of queries, one panel at a time.

    A panel of columns stays in the cache from tile to tile; a block of many columns would not.
    """
    for i in range(sums.size):
        sums[i] = 0.0
    n_columns = dist.factors.size
    for first in range(0, n_columns, PANEL):
        last = min(first + PANEL, n_columns)
        for t in range(0, tiles.shape[0], TILE):
            add_numbers(dist, tiles[t : t + TILE], first, last, block, sums[t * BLOCK : (t + TILE) * BLOCK])


@njit(nogil=True)
def mark_differences(values: Bytes, bits: Bytes, planes: Bytes, marks: Bytes) -> None:
    """Set the bits of the planes in which each row differs from the query, in `marks` (BLOCK,)."""
    for i in range(BLOCK):
        marks[i] = 0
    for j in range(values.size):
        x = planes[j * BLOCK : (j + 1) * BLOCK]
        value, bit = values[j], bits[j]
        for i in range(BLOCK):
            marks[i] |= bit if x[i] != value else np.uint8(0)


@njit(nogil=True)
def count_bits(is_ratio: bool, marks: Bytes, gap: Bytes, own_gap: int, differ: Bytes, absent: Bytes) -> None:
    """Add the columns of one byte that differ, or are missing in either row, to `differ` and `absent` (BLOCK,).

    Unless the distance is a ratio, a missing value counts as different.
    """
    own = np.uint8(own_gap)
    if is_ratio:
        for i in range(BLOCK):
            missing = np.uint8(gap[i] | own)
            differ[i] += popcount(np.uint8(marks[i] & ~missing))
            absent[i] += popcount(missing)
    else:
        for i in range(BLOCK):
            differ[i] += popcount(np.uint8(marks[i] | gap[i] | own))


@njit(nogil=True, cache=True)
def add_overlap(
    dist: CompiledDistance,
    values: Bytes,
    own_gaps: Bytes,
    planes: Bytes,
    gaps: Bytes,
    work: Bytes,
    sums: Floats,
    weights: Floats,
) -> None:
    """Add the columns that have bits to the `sums` (BLOCK,) of one query; for ratios, also compute `weights`."""
    n_bytes = own_gaps.size
    is_ratio = dist.form == RATIO
    marks, differ, absent = work[:BLOCK], work[BLOCK : 2 * BLOCK], work[2 * BLOCK : 3 * BLOCK]
    if dist.all_ones:
        for i in range(BLOCK):
            differ[i] = absent[i] = 0
        for g in range(n_bytes):
            first, last = dist.plane_starts[g], dist.plane_starts[g + 1]
            mark_differences(values[first:last], dist.plane_bits[first:last], planes[first * BLOCK :], marks)
            count_bits(is_ratio, marks, gaps[g * BLOCK : (g + 1) * BLOCK], own_gaps[g], differ, absent)
        for i in range(BLOCK):
            sums[i] += differ[i]
        if is_ratio:
            for i in range(BLOCK):
                weights[i] = dist.total_weight - absent[i]
        return
    over = np.zeros(BLOCK)  # separate from `sums`, which would round at every step
    for i in range(BLOCK):
        weights[i] = dist.total_weight
    for g in range(n_bytes):
        first, last = dist.plane_starts[g], dist.plane_starts[g + 1]
        mark_differences(values[first:last], dist.plane_bits[first:last], planes[first * BLOCK :], marks)
        look_up, gap, own = dist.bit_weights[g], gaps[g * BLOCK : (g + 1) * BLOCK], own_gaps[g]
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
def fill_look_up(dist: CompiledDistance, slots: NDArray[np.int32], look_up: Floats) -> None:
    """Fill `look_up` (n_slots,) with w Σ_c (P(c|a) - P(c|b))² for the levels a of one query and all levels b."""
    for j in range(slots.size):
        first, last = dist.slot_starts[j], dist.slot_starts[j + 1]
        own = slots[j]
        for t in range(first, last):
            if own == last - 1 or t == last - 1:  # missing
                look_up[t] = dist.slot_weights[t]
                continue
            total = 0.0
            for c in range(dist.shares.shape[1]):
                d = dist.shares[own, c] - dist.shares[t, c]
                total += d * d
            look_up[t] = dist.slot_weights[t] * total


@njit(nogil=True)
def add_look_ups(look_up: Floats, n_columns: int, slots: NDArray[np.int32], sums: Floats) -> None:
    """Add the columns that are looked up by slot to the `sums` (BLOCK,) of one query."""
    for j in range(n_columns):
        x = slots[j * BLOCK : (j + 1) * BLOCK]
        for i in range(BLOCK):
            sums[i] += look_up[x[i]]


class Workspace(NamedTuple):
    """Arrays that one search reuses for every block."""

    tiles: Floats  # (m rounded up, n_numbers): the queries, padded with NaN to whole tiles
    look_ups: Floats  # (m, n_slots), as `fill_look_up` makes them
    sums: Floats  # (TILE * BLOCK,), or of all tiles if there are more columns than a panel
    weights: Floats  # (TILE * BLOCK,)


@njit(nogil=True)
def workspace(dist: CompiledDistance, queries: Queries) -> Workspace:
    m, n_columns = queries.numbers.shape
    tiles = np.empty((-(-m // TILE) * TILE, n_columns))
    for i in range(tiles.shape[0]):  # numba compiles loops sooner than np.full and slices
        for j in range(n_columns):
            tiles[i, j] = queries.numbers[i, j] if i < m else np.nan
    look_ups = np.empty((m, dist.slot_weights.size))
    if queries.slots.shape[1]:
        for i in range(m):
            fill_look_up(dist, queries.slots[i], look_ups[i])
    n_sums = tiles.shape[0] if n_columns > PANEL else TILE
    return Workspace(tiles, look_ups, np.empty(n_sums * BLOCK), np.empty(TILE * BLOCK))


@njit(nogil=True)
def tile_sums(
    dist: CompiledDistance, blocks: TrainingBlocks, b: int, queries: Queries, first: int, work: Workspace
) -> Floats:
    """Compute the sums (TILE * BLOCK,) of the tile of queries at `first` for block `b`; fills `work.weights`."""
    if dist.factors.size <= PANEL:
        sums = work.sums
        sum_numbers(dist, work.tiles[first : first + TILE], blocks.numbers[b], sums)
    else:
        if first == 0:
            sum_numbers(dist, work.tiles, blocks.numbers[b], work.sums)
        sums = work.sums[first * BLOCK : (first + TILE) * BLOCK]
    n = min(TILE, queries.leave_out.size - first)
    if queries.gaps.shape[1]:
        marks = np.empty(3 * BLOCK, dtype=np.uint8)
        for t in range(n):
            values, own_gaps = queries.planes[first + t], queries.gaps[first + t]
            s, w = sums[t * BLOCK : (t + 1) * BLOCK], work.weights[t * BLOCK : (t + 1) * BLOCK]
            add_overlap(dist, values, own_gaps, blocks.planes[b], blocks.gaps[b], marks, s, w)
    elif dist.form == RATIO:
        for i in range(TILE * BLOCK):
            work.weights[i] = 0.0
    if queries.slots.shape[1]:
        for t in range(n):
            s = sums[t * BLOCK : (t + 1) * BLOCK]
            add_look_ups(work.look_ups[first + t], queries.slots.shape[1], blocks.slots[b], s)
    return sums


@njit(nogil=True)
def distance_of(dist: CompiledDistance, total: float, weight: float) -> float:
    """Convert a sum to a distance."""
    if dist.form == ROOT:
        return np.sqrt(total)  # type: ignore[no-any-return]
    if dist.form == RATIO:
        return total / weight if weight > 0.0 else 1.0
    if dist.form == HALF:
        return 0.5 * total
    if dist.form == POWER_ROOT:
        return total ** (1.0 / dist.p)  # type: ignore[no-any-return]
    return total


@njit(nogil=True)
def bound_of(dist: CompiledDistance, distance: float) -> float:
    """Compute a bound that every sum nearer than `distance` stays below (for ratios: below the bound times the weight).

    The slack exceeds the rounding error of the root or the ratio; 1e-300 covers underflow.
    """
    if dist.form == ROOT:
        return distance * distance * (1.0 + 1e-14) + 1e-300
    if dist.form == RATIO:
        return distance * (1.0 + 1e-14) + 1e-300
    if dist.form == HALF:
        return 2.0 * distance
    if dist.form == POWER_ROOT:
        return distance**dist.p * (1.0 + 1e-15 * (dist.p + 10.0)) + 1e-300  # type: ignore[no-any-return]
    return distance


@njit(nogil=True, cache=True)
def project(numbers: Floats, center: Floats, axes: Floats, out: Floats) -> None:
    """Project rows on axes (n_columns, n_axes); unlike in a matrix product, a row's result never depends on others."""
    for i in range(numbers.shape[0]):
        out[i] = 0.0
        for j in range(numbers.shape[1]):
            x = numbers[i, j] - center[j]
            for c in range(axes.shape[1]):
                out[i, c] += x * axes[j, c]
