"""ONNX of naive Bayes: the log prior plus one log-likelihood per column, which is 0 where a cell is ignored.

Factors that are the same for all classes, such as log x! of a Poisson distribution, cancel and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.bayes.families.bernoulli_multinomial import BernoulliLikelihood, MultinomialLikelihood
from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood
from foldwise.bayes.families.gamma import GammaLikelihood
from foldwise.bayes.families.gaussian import GaussianLikelihood
from foldwise.bayes.families.poisson_binomial import BinomialLikelihood, PoissonLikelihood
from foldwise.bayes.presence import WithPresence
from foldwise.bayes.weighting import WeightedLikelihood
from foldwise.exports.family_writers import FamilyWriters
from foldwise.exports.onnx.columns import ColumnTensors
from foldwise.exports.onnx.graph import Columns, InputColumn, Matrix, OnnxGraph
from foldwise.exports.onnx.outputs import ClassTensors, softmax

IMPOSSIBLE = -1e300  # instead of minus infinity, which times 0 would be NaN


def naive_bayes(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    finished = model._finished
    columns = graph.columns(table)
    prior = finite_logs(finished.log_prior)[None]
    scores = graph.repeated(prior)
    for block, likelihood in zip(finished.blocks, finished.likelihoods, strict=True):
        scores = graph.add("Add", scores, block_logs(likelihood, [columns[j] for j in block.columns], graph))
    top = graph.largest(scores)
    impossible = graph.add("Less", top, IMPOSSIBLE / 10)
    scores = graph.add("Where", impossible, prior, graph.add("Sub", scores, top))
    tensor, logs = softmax(graph.add("Div", scores, float(finished.setting.temperature)), graph)
    return ClassTensors(model.classes_, tensor, logs=logs)


def finite_logs(log: Floats) -> Floats:
    return np.maximum(np.asarray(log, dtype=np.float64), IMPOSSIBLE)


def block_logs(likelihood: Any, columns: Columns, graph: OnnxGraph) -> str:
    """Return the log-likelihoods of a block of columns: a tensor of shape (rows, classes)."""
    if isinstance(likelihood, WeightedLikelihood):
        scaled = likelihood._scaled
        if scaled is not None:
            return block_logs(scaled, columns, graph)
        return str(graph.add("Mul", block_logs(likelihood.inner, columns, graph), float(likelihood.weights[0])))
    if isinstance(likelihood, WithPresence):
        return with_presence(likelihood, columns, graph)
    if isinstance(likelihood, CategoricalLikelihood):
        parts = [
            looked_up(table.log, graph.codes(column, table.levels), graph)
            for column, table in zip(columns, likelihood.tables, strict=True)
        ]
        return total(parts, graph)
    writer = NUMERIC.of(likelihood)
    cells = graph.matrix(columns)
    if isinstance(likelihood, BinnedLikelihood):  # a missing cell has a share of its own
        return binned(likelihood, cells, graph)
    by_column = graph.add("Unsqueeze", cells.tensor, np.array([1]))  # (rows, 1, columns)
    found = writer(likelihood, by_column, graph)  # (rows, classes, columns)
    known = graph.add("Where", graph.add("IsNaN", by_column), 0.0, found)
    return graph.sum_of(known, 2, keepdims=False)


def looked_up(log: Floats, codes: str, graph: OnnxGraph) -> str:
    """Look up rows of a table (levels, classes) by a column of codes."""
    return str(graph.add("Squeeze", graph.add("Gather", finite_logs(log), codes), np.array([1])))


def total(parts: list[str], graph: OnnxGraph) -> str:
    found = parts[0]
    for part in parts[1:]:
        found = graph.add("Add", found, part)
    return found


def with_presence(likelihood: Any, columns: Columns, graph: OnnxGraph) -> str:
    parts = [block_logs(likelihood.inner, columns, graph)]
    log = likelihood.shares.log  # (2, columns, classes)
    for j, column in enumerate(columns):
        if log[:, j].any():
            parts.append(looked_up(log[:, j], gaps_of(column, graph), graph))
    return total(parts, graph)


def gaps_of(column: InputColumn, graph: OnnxGraph) -> str:
    """Return 1 (int64) where a cell is missing, and 0 elsewhere."""
    if column.kind == "text":
        return graph.lookup(column.tensor, [column.gap], np.array([1], dtype=np.int64), 0)
    return str(graph.add("Cast", graph.add("IsNaN", column.tensor), to=7))


def gaussian(likelihood: GaussianLikelihood, x: str, graph: OnnxGraph) -> str:
    away = graph.add("Sub", x, likelihood.mean[None])
    squares = graph.add("Mul", graph.add("Mul", away, away), likelihood.scale[None])
    used = likelihood.scale != 0
    return str(graph.add("Where", used[None], graph.add("Sub", likelihood.log_norm[None], squares), 0.0))


def gamma(likelihood: GammaLikelihood, x: str, graph: OnnxGraph) -> str:
    share = graph.add("Div", x, likelihood.mean[None])
    gap = graph.add("Sub", graph.add("Sub", share, 1.0), graph.add("Log", share))
    found = graph.add("Sub", likelihood.log_norm[None], graph.add("Mul", gap, likelihood.shape[None]))
    return only_informative(likelihood, found, graph)


def poisson(likelihood: PoissonLikelihood, x: str, graph: OnnxGraph) -> str:
    found = graph.add("Sub", times_log(x, likelihood.log, graph), likelihood.rate[None])
    return only_informative(likelihood, found, graph)


def binomial(likelihood: BinomialLikelihood, x: str, graph: OnnxGraph) -> str:
    trials = np.asarray(likelihood.trials, dtype=np.float64)[None, None]
    rest = graph.add("Sub", trials, x)
    both = graph.add("Add", times_log(x, likelihood.log[1], graph), times_log(rest, likelihood.log[0], graph))
    inside = graph.add("LessOrEqual", x, trials)
    return only_informative(likelihood, graph.add("Where", inside, both, 0.0), graph)


def only_informative(likelihood: Any, found: str, graph: OnnxGraph) -> str:
    used = np.asarray(likelihood.informative, dtype=bool)
    return found if used.all() else str(graph.add("Where", used[None, None], found, 0.0))


def bernoulli(likelihood: BernoulliLikelihood, x: str, graph: OnnxGraph) -> str:
    off, on = (finite_logs(likelihood.shares.log[i]).T[None] for i in (0, 1))
    return str(graph.add("Where", graph.add("Equal", x, 1.0), on, off))


def multinomial(likelihood: MultinomialLikelihood, x: str, graph: OnnxGraph) -> str:
    return times_log(x, likelihood.shares.log.T, graph)


def times_log(x: str, log: Floats, graph: OnnxGraph) -> str:
    """Multiply counts by logarithms (classes, columns), where 0 times minus infinity is 0."""
    log = np.asarray(log, dtype=np.float64)
    impossible = np.isneginf(log)
    found = graph.add("Mul", x, np.where(impossible, 0.0, log)[None])
    if not impossible.any():
        return str(found)
    positive = graph.add("And", graph.add("Not", graph.add("Equal", x, 0.0)), impossible[None])
    return str(graph.add("Where", positive, IMPOSSIBLE, found))


def binned(likelihood: BinnedLikelihood, cells: Matrix, graph: OnnxGraph) -> str:
    """Count the cut points below each cell, and look up the shares of that bin."""
    parts = []
    for j, (cuts, table) in enumerate(zip(likelihood.cuts, likelihood.tables, strict=True)):
        x = graph.column(cells.tensor, j)
        above = graph.add("Cast", graph.add("Greater", x, np.append(cuts, np.inf)[None]), to=7)
        missing = len(table.log) - 2
        bins = graph.add("Where", graph.add("IsNaN", x), np.int64(missing), graph.sum_of(above, 1))
        parts.append(looked_up(table.log, bins, graph))
    return total(parts, graph)


NUMERIC: FamilyWriters[Callable[[Any, Any, OnnxGraph], str]] = FamilyWriters(
    "ONNX", gaussian, gamma, poisson, binomial, bernoulli, multinomial, binned
)
