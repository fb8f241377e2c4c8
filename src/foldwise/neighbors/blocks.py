"""Converts rows to the memory layout of the kernels: training rows in blocks of columns, queries row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.neighbors.encoding import MISSING, UNKNOWN, EncodedRows
from foldwise.neighbors.kernels import BLOCK, Queries, TrainingBlocks
from foldwise.neighbors.space import MetricSpace, bytes_per_code


def block_rows(space: MetricSpace, rows: EncodedRows) -> TrainingBlocks:
    """Arrange training rows in blocks."""
    points = space.points(rows)
    return TrainingBlocks(
        numbers=_in_blocks(points.numbers),
        planes=_in_blocks(_planes(space, points, unknown=0)),
        gaps=_in_blocks(_gaps(space, points)),
        slots=_in_blocks(_slots(space, points)),
        start=0,
        stop=points.n_rows,
    )


def prepare_queries(space: MetricSpace, rows: EncodedRows, leave_out: NDArray[np.intp] | None) -> Queries:
    """Arrange queries row by row."""
    points = space.points(rows)
    numbers = points.numbers
    if space.distance.metric == "cosine":  # see `_directions`: two rows of zeros are at distance 1
        numbers[:, -2:] = numbers[:, [-1, -2]]
    return Queries(
        numbers=numbers,
        planes=_planes(space, points, unknown=1),
        gaps=_gaps(space, points),
        slots=_slots(space, points),
        leave_out=np.full(points.n_rows, -1, np.int64) if leave_out is None else np.asarray(leave_out, np.int64),
    )


def take_queries(queries: Queries, rows: slice | NDArray[np.intp]) -> Queries:
    return Queries._make(part[rows] for part in queries)


def take_blocks(blocks: TrainingBlocks, first: int, last: int) -> TrainingBlocks:
    start, stop = blocks.start + first * BLOCK, min(blocks.start + last * BLOCK, blocks.stop)
    return TrainingBlocks._make((*(part[first:last] for part in blocks[:4]), start, stop))


def rows_of(blocks: TrainingBlocks, n_numbers: int) -> NDArray[np.float64]:  # (n, n_numbers)
    """Rearrange the numeric columns of training blocks row by row."""
    numbers = blocks.numbers.reshape(-1, n_numbers, BLOCK).transpose(0, 2, 1).reshape(-1, n_numbers)
    return numbers[: blocks.stop - blocks.start]


def _in_blocks(rows: NDArray[Any]) -> NDArray[Any]:  # (n, d) -> (n_blocks, d * BLOCK)
    n, d = rows.shape
    n_blocks = -(-n // BLOCK)
    out = np.zeros((n_blocks, d, BLOCK), dtype=rows.dtype)
    for b in range(n_blocks):
        part = rows[b * BLOCK : (b + 1) * BLOCK]
        out[b, :, : len(part)] = part.T
    return out.reshape(n_blocks, d * BLOCK)


def _planes(space: MetricSpace, points: EncodedRows, unknown: int) -> NDArray[np.uint8]:  # (n, n_planes)
    """Split codes into bytes. Unknown categories have one code in queries and another in training rows: they differ."""
    planes = [np.zeros((points.n_rows, 0), dtype=np.uint8)]
    if space.dist.plane_bits.size:
        for j, n_levels in enumerate(space.n_levels):
            codes = points.codes[:, j].astype(np.int64)
            codes = np.where(codes == UNKNOWN, n_levels + unknown, np.maximum(codes, 0))
            shifts = 8 * np.arange(bytes_per_code(n_levels))
            planes.append((codes[:, None] >> shifts & 255).astype(np.uint8))
    return np.concatenate(planes, axis=1)


def _gaps(space: MetricSpace, points: EncodedRows) -> NDArray[np.uint8]:  # (n, n_bytes)
    """Pack one bit per column that marks a missing value: categorical columns first (not for hvdm), then numeric."""
    n_bytes = len(space.dist.bit_weights)
    if not n_bytes:
        return np.zeros((points.n_rows, 0), dtype=np.uint8)
    missing = np.isnan(points.numbers)
    if space.distance.metric != "hvdm":
        missing = np.concatenate((points.codes == MISSING, missing), axis=1)
    return np.packbits(missing, axis=1, bitorder="little")


def _slots(space: MetricSpace, points: EncodedRows) -> NDArray[np.int32]:  # (n, n_looked_up)
    """Compute the index of each code in the look-up table: levels of a column, then unknown, then missing."""
    starts = space.dist.slot_starts
    if starts.size == 1:
        return np.zeros((points.n_rows, 0), dtype=np.int32)
    ends = starts[1:]
    slots = np.where(points.codes >= 0, points.codes + starts[:-1], ends - np.where(points.codes == MISSING, 1, 2))
    return slots.astype(np.int32)
