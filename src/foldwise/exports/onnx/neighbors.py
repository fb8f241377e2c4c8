"""ONNX of nearest neighbors: the distances to all training rows, the nearest of them, and their votes.

Which of several nearly tied rows is nearest depends on how sums are rounded. Python adds columns with a fused
multiply-add, which has one rounding. ONNX has no such operator, so it is composed from products and sums whose
rounding errors are computed and added, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.exports.onnx.columns import ColumnTensors, transform
from foldwise.exports.onnx.graph import Columns, Matrix, OnnxGraph
from foldwise.exports.onnx.outputs import ClassTensors
from foldwise.neighbors.kernels import GREATEST, LENGTHS, PLAIN_SQUARES, RATIO, ROOT, SQUARES
from foldwise.neighbors.votes import SPREAD

TERMS = (PLAIN_SQUARES, SQUARES, LENGTHS, GREATEST)
HALVES = 134217729.0  # 2^27 + 1 splits a double into two halves whose products are exact
INT64 = 7


def knn_classifier(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    voting = model._voting()
    distances, indices = nearest(model, table, graph)
    weights, distances, indices = voters(voting, distances, indices, graph)
    n_classes = len(model.classes_)
    own = graph.add("Gather", np.eye(n_classes)[model._y], indices)  # (rows, k, classes)
    votes = added_up(weights, own, graph)
    shares = graph.add("Div", votes, graph.sum_of(votes, 1))
    codes = graph.add("ArgMax", votes, axis=1, keepdims=1)
    if voting.ties == "nearest":  # neighbors without weight do not decide ties
        counted = graph.add("Where", graph.add("Greater", weights, 0.0), distances, 0.0)
        leading = graph.add("Equal", votes, graph.largest(votes))
        near = graph.add("Where", leading, added_up(counted, own, graph), np.inf)
        codes = graph.add("ArgMin", near, axis=1, keepdims=1)
    if voting.laplace:
        total = voting.k + voting.laplace * n_classes
        shares = graph.add("Div", graph.add("Add", graph.add("Mul", shares, float(voting.k)), voting.laplace), total)
    return ClassTensors(model.classes_, shares, codes=codes)


def knn_regressor(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    distances, indices = nearest(model, table, graph)
    weights, _, indices = voters(model._voting(), distances, indices, graph)
    values = graph.add("Mul", weights, graph.add("Gather", np.asarray(model._y, dtype=np.float64), indices))
    return str(graph.add("Div", graph.sum_of(values, 1), graph.sum_of(weights, 1)))


def added_up(weights: str, own: str, graph: OnnxGraph) -> str:
    """Add up the weights (rows, k) of the neighbors of each class."""
    wide = graph.add("Unsqueeze", weights, np.array([2]))
    return graph.sum_of(graph.add("Mul", wide, own), 1, keepdims=False)


def nearest(model: Any, table: ColumnTensors, graph: OnnxGraph) -> tuple[str, str]:
    """Return distances and indices (rows, k) of the neighbors that vote and, for kernels, of the next one."""
    voting = model._voting()
    if model._row_weights is not None:
        raise InputError("nearest neighbors with sample_weight= cannot be exported to ONNX.", "fit them without it.")
    if callable(voting.weights):
        raise InputError(
            "nearest neighbors with a function as weights= cannot be exported to ONNX.", "name a kernel instead."
        )
    n_rows = model._rows.n_rows
    k = voting.k if voting.weights in ("uniform", "distance") else min(voting.k + 1, n_rows)
    distances = all_distances(model, graph.columns(table), graph)
    found = graph.add("TopK", distances, np.array([k]), n_outputs=2, axis=1, largest=0, sorted=1)
    return found[0], found[1]


def all_distances(model: Any, columns: Columns, graph: OnnxGraph) -> str:
    """Return the distances to all training rows."""
    space, roles = model._index.space, model._roles
    dist, metric = space.dist, space.distance.metric
    if dist.term not in TERMS or metric == "cosine" or space.pca is not None:
        name = "pca=" if space.pca is not None else f"metric={metric!r}"
        raise InputError(f"nearest neighbors with {name} cannot be exported to ONNX.", "use metric='gower' or 'heom'.")
    trained = space.points(model._rows)
    sums = ""
    gaps: list[tuple[str, NDArray[np.bool_]]] = []  # where numbers are present: queries (rows, columns), training rows
    if len(space.number_columns):
        cells = graph.matrix([columns[roles.numbers[j]] for j in space.number_columns])
        cells = scaled(space, cells, graph)
        sums = summed_numbers(cells, trained.numbers, dist, graph)
        gaps.append((graph.as_double(graph.add("Not", graph.add("IsNaN", cells.tensor))), ~np.isnan(trained.numbers)))
    sums = sums or graph.add("Mul", graph.zeros, np.zeros((1, trained.n_rows)))
    common = ""
    if space.distance.is_mixed:
        codes = [graph.codes(columns[roles.categories[j]], roles.levels[j]) for j in space.code_columns]
        look_up = metric == "hvdm"
        more, common = overlap(dist, metric, [] if look_up else codes, trained, gaps, graph)
        sums = graph.add("Add", sums, more)
        if look_up:
            for j, own in enumerate(codes):
                sums = graph.add("Add", sums, class_differences(dist, j, own, trained.codes[:, j], graph))
    if dist.form == ROOT:
        return str(graph.add("Sqrt", sums))
    if dist.form == RATIO:
        return str(graph.add("Where", graph.add("Greater", common, 0.0), graph.add("Div", sums, common), 1.0))
    return sums


def scaled(space: Any, cells: Matrix, graph: OnnxGraph) -> Matrix:
    """Scale queries like training rows."""
    if space.scaler is not None:
        cells = graph.matrix(transform(space.scaler, cells, graph))
    if space.divisor is not None:
        constant = np.where(space.dist.factors == 0.0, 0.0, 1.0)  # a constant column becomes 0, and NaN stays
        divided = graph.add("Div", cells.tensor, space.divisor[None])
        cells = Matrix(graph.add("Mul", divided, constant[None]), cells.width)
    return cells


def summed_numbers(cells: Matrix, trained: Floats, dist: Any, graph: OnnxGraph) -> str:
    """Add up the terms of numeric columns in their order; a missing cell adds 0."""
    total = ""
    for j, factor in enumerate(dist.factors.tolist()):
        if factor == 0.0:
            continue
        gap = graph.add("Sub", graph.column(cells.tensor, j), trained[None, :, j])
        if dist.term == PLAIN_SQUARES:
            total = multiply_add(gap, gap, total, graph)
            continue
        size = graph.add("Mul", gap, gap) if dist.term == SQUARES else graph.add("Abs", gap)
        if dist.term == GREATEST:
            size = graph.add("Mul", size, factor)
            total = graph.add("Max", total, size) if total else size
            continue
        known = graph.add("Where", graph.add("Greater", size, 0.0), size, 0.0)  # NaN > 0 is false
        if np.frexp(factor)[0] == 0.5:  # a power of two: the product is exact
            product = graph.add("Mul", known, factor)
            total = graph.add("Add", total, product) if total else product
        else:
            total = multiply_add(factor, known, total, graph)
    return total


def multiply_add(a: Any, b: Any, c: str, graph: OnnxGraph) -> str:
    """Compute a·b + c with one rounding, from the errors of the product (Dekker) and of the sum (Knuth)."""
    product = graph.add("Mul", a, b)
    if not c:
        return str(product)
    high_a, low_a = halves(a, graph)
    high_b, low_b = (high_a, low_a) if b is a else halves(b, graph)
    error = graph.add("Sub", graph.add("Mul", high_a, high_b), product)
    for one, other in ((high_a, low_b), (low_a, high_b), (low_a, low_b)):
        error = graph.add("Add", error, graph.add("Mul", one, other))
    total = graph.add("Add", c, product)
    added = graph.add("Sub", total, c)
    lost = graph.add("Add", graph.add("Sub", c, graph.add("Sub", total, added)), graph.add("Sub", product, added))
    return str(graph.add("Add", total, graph.add("Add", lost, error)))


def halves(a: Any, graph: OnnxGraph) -> tuple[Any, Any]:
    """Split a double into two of 26 bits each."""
    if not isinstance(a, str):
        big = HALVES * a
        high = big - (big - a)
        return high, a - high
    big = graph.add("Mul", a, HALVES)
    first = graph.add("Sub", big, graph.add("Sub", big, a))
    return first, graph.add("Sub", a, first)


def overlap(dist: Any, metric: str, codes: list[str], trained: Any, gaps: Any, graph: OnnxGraph) -> tuple[str, str]:
    """Return what equality and missing cells add, and the weight of the columns present in both rows.

    Weights are rounded so that all of their sums are exact, in any order.
    """
    n_codes = len(codes)
    weights = np.array([dist.bit_weights[i // 8, 1 << (i % 8)] for i in range(n_codes + len(dist.factors))])
    n_rows = trained.n_rows
    equal = graph.add("Mul", graph.zeros, np.zeros((1, n_rows)))
    present = equal
    for j, own in enumerate(codes):
        n_levels, known = trained.n_levels[j], trained.codes[:, j]
        same = graph.as_double(graph.add("Equal", own, np.where(known < 0, -1, known).astype(np.int64)[None]))
        equal = graph.add("Add", equal, graph.add("Mul", same, float(weights[j])))
        here = graph.as_double(graph.add("Not", graph.add("Equal", own, np.int64(n_levels))))
        there = np.where(known == -1, 0.0, weights[j])[None]
        present = graph.add("Add", present, graph.add("Mul", here, there))
    both = present
    for here, there in gaps:
        both = graph.add("Add", both, graph.add("MatMul", here, there.T * weights[n_codes:, None]))
    if metric == "gower":
        return graph.add("Sub", present, equal), both
    # a missing cell counts as different
    return graph.add("Sub", graph.add("Sub", float(weights.sum()), graph.add("Sub", both, present)), equal), both


def class_differences(dist: Any, j: int, codes: str, trained: NDArray[Any], graph: OnnxGraph) -> str:
    """Return the distances of class frequencies between categories (hvdm)."""
    first, last = int(dist.slot_starts[j]), int(dist.slot_starts[j + 1])
    n_levels = last - first - 2
    shares, weights = dist.shares[first:last], dist.slot_weights[first:last]
    total = np.zeros((last - first, last - first))
    for c in range(shares.shape[1]):  # class by class, as in Python
        away = shares[:, None, c] - shares[None, :, c]
        total += away * away
    found = weights[None] * total
    found[-1], found[:, -1] = weights, weights  # missing
    slots = np.where(trained >= 0, trained, np.where(trained == -1, n_levels + 1, n_levels))
    order = [*range(n_levels), n_levels + 1, n_levels]  # codes of queries: missing before unknown
    rows = found[order][:, slots]  # (levels + 2, training rows)
    return str(graph.add("Squeeze", graph.add("Gather", rows, codes), np.array([1])))


def voters(voting: Any, distances: str, indices: str, graph: OnnxGraph) -> tuple[str, str, str]:
    """Return weights, distances and indices (rows, k) of the neighbors that vote."""
    form = voting.weights or "uniform"
    first = np.arange(voting.k)
    if form == "uniform":
        return graph.add("Add", graph.add("Mul", distances, 0.0), 1.0), distances, indices
    if form == "distance":
        at_zero = graph.as_double(graph.add("Equal", distances, 0.0))
        touching = graph.add("Equal", graph.column(distances, 0), 0.0)
        return (
            finite_weights(graph.add("Where", touching, at_zero, graph.add("Div", 1.0, distances)), graph),
            distances,
            indices,
        )
    bandwidth = graph.add("ReduceMax", distances, np.array([1]), keepdims=1)  # of the last neighbor
    near, indices = (graph.add("Gather", one, first, axis=1) for one in (distances, indices))
    inside = graph.add("And", graph.add("Greater", bandwidth, 0.0), graph.add("Less", near, bandwidth))
    outside = graph.as_double(graph.add("Not", graph.add("Equal", bandwidth, 0.0)))
    ratio = graph.add("Where", inside, graph.add("Div", near, bandwidth), outside)
    square = graph.add("Mul", ratio, ratio)
    if form == "gaussian":
        weights = graph.add("Exp", graph.add("Mul", square, -0.5 * SPREAD**2))
    else:
        weights = graph.add("Sub", 1.0, ratio if form == "triangular" else square)
        weights = graph.add("Mul", weights, weights) if form == "biweight" else weights
    return finite_weights(weights, graph), near, indices


def finite_weights(weights: str, graph: OnnxGraph) -> str:
    """Return weights with a finite sum above 0: 1/d may overflow, and a kernel may be 0 for all neighbors."""
    total, most = graph.sum_of(weights, 1), graph.largest(weights)
    usable = graph.add("And", graph.add("Greater", total, 0.0), graph.add("Less", total, np.inf))
    relative = graph.add("Where", graph.add("Greater", most, 0.0), graph.add("Div", weights, most), 1.0)
    infinite = graph.add("Equal", weights, np.inf)
    instead = graph.add("Where", graph.add("Equal", most, np.inf), graph.as_double(infinite), relative)
    return str(graph.add("Where", usable, weights, instead))
