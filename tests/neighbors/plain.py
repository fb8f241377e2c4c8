"""Distances and searches in plain Python, cell by cell, straight from the definitions in `neighbors.distance`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows


def scaled(distance: DistanceSpec, training: EncodedRows, cells: EncodedRows) -> list[list[float]]:
    """The numbers of rows as a scale makes them."""
    out = [list(map(float, row)) for row in cells.numbers]
    for j in range(cells.numbers.shape[1]):
        column = sorted(float(v) for v in training.numbers[:, j])
        if distance.scale == "standard":
            shift = math.fsum(column) / len(column)
            by = math.sqrt(math.fsum((v - shift) ** 2 for v in column) / len(column))
        elif distance.scale == "minmax":
            shift, by = column[0], column[-1] - column[0]
        elif distance.scale == "robust":
            low, shift, high = np.percentile(column, [25, 50, 75]).tolist()
            by = high - low
        else:
            shift, by = 0.0, 1.0
        if column[0] == column[-1] or by == 0:
            by = 1.0
        for row in out:
            row[j] = (row[j] - shift) / by
    return out


def numeric(distance: DistanceSpec, a: Sequence[float], b: Sequence[float], w: Sequence[float]) -> float:
    steps = [abs(x - y) for x, y in zip(a, b, strict=True)]
    if distance.metric == "chebyshev":
        return max((wj * s for s, wj in zip(steps, w, strict=True) if wj > 0), default=0.0)
    if distance.metric == "cosine":
        ab = sum(wj * x * y for x, y, wj in zip(a, b, w, strict=True))
        aa = sum(wj * x * x for x, wj in zip(a, w, strict=True))
        bb = sum(wj * y * y for y, wj in zip(b, w, strict=True))
        return 1.0 if aa == 0 or bb == 0 else 1.0 - ab / math.sqrt(aa) / math.sqrt(bb)
    p = {"euclidean": 2.0, "manhattan": 1.0, "minkowski": distance.p}[distance.metric]
    return float(sum(wj * s**p for s, wj in zip(steps, w, strict=True)) ** (1 / p))


def mixed(
    distance: DistanceSpec,
    training: EncodedRows,
    a: int,
    b: int,
    queries: EncodedRows,
    y: Sequence[int] | None,
    n_classes: int,
) -> float:
    """The distance of query `a` and training row `b`."""
    steps: list[float | None] = []  # None where a cell is missing in either row
    for j in range(training.numbers.shape[1]):
        u, v = float(queries.numbers[a, j]), float(training.numbers[b, j])
        column = [float(t) for t in training.numbers[:, j] if not math.isnan(t)]
        if math.isnan(u) or math.isnan(v):
            steps.append(None)
        elif min(column) == max(column):
            steps.append(0.0)
        elif distance.metric == "hvdm":
            mean = math.fsum(column) / len(column)
            sigma = math.sqrt(math.fsum((t - mean) ** 2 for t in column) / len(column))
            steps.append(abs(u - v) / (4 * sigma))
        else:
            steps.append(abs(u - v) / (max(column) - min(column)))
    for j in range(training.codes.shape[1]):
        g, h = int(queries.codes[a, j]), int(training.codes[b, j])
        if g == -1 or h == -1:
            steps.append(None)
        elif distance.metric == "hvdm":
            assert y is not None
            square = 0.0
            for c in range(n_classes):
                share = []
                for level in (g, h):
                    classes = [y[i] for i in range(training.n_rows) if training.codes[i, j] == level and level >= 0]
                    share.append(classes.count(c) / len(classes) if classes else 0.0)
                square += (share[0] - share[1]) ** 2
            steps.append(math.sqrt(square))
        else:
            steps.append(float(g != h or g == -2))
    w = weights_of(distance, training)
    if distance.metric == "gower":
        present = [(s, wj) for s, wj in zip(steps, w, strict=True) if s is not None]
        whole = sum(wj for _, wj in present)
        return sum(s * wj for s, wj in present) / whole if whole > 0 else 1.0
    return math.sqrt(sum(wj * (1.0 if s is None else s) ** 2 for s, wj in zip(steps, w, strict=True)))


def weights_of(distance: DistanceSpec, cells: EncodedRows) -> list[float]:  # numeric columns, then categorical ones
    numbers, codes = distance.number_weights, distance.code_weights
    return [
        *([1.0] * cells.numbers.shape[1] if numbers is None else map(float, numbers)),
        *([1.0] * cells.codes.shape[1] if codes is None else map(float, codes)),
    ]


def matrix(
    distance: DistanceSpec,
    training: EncodedRows,
    queries: EncodedRows,
    y: Sequence[int] | None = None,
    n_classes: int = 0,
) -> list[list[float]]:
    """All distances, queries by training rows."""
    if distance.is_mixed:
        return [
            [mixed(distance, training, a, b, queries, y, n_classes) for b in range(training.n_rows)]
            for a in range(queries.n_rows)
        ]
    w = weights_of(distance, training)[: training.numbers.shape[1]]
    here, there = scaled(distance, training, queries), scaled(distance, training, training)
    return [[numeric(distance, a, b, w) for b in there] for a in here]
