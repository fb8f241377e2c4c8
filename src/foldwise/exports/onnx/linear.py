"""ONNX of linear models: a product of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.exports.onnx.columns import ColumnTensors
from foldwise.exports.onnx.graph import OnnxGraph
from foldwise.exports.onnx.outputs import ClassTensors, from_log_odds


def decisions(model: Any, table: ColumnTensors, graph: OnnxGraph) -> tuple[str, int]:
    """Return the sums, one column per row of the coefficients, and their number."""
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    starts = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(weights))
    product = graph.add("MatMul", graph.matrix(table).tensor, weights.T)
    return graph.add("Add", product, starts[None]), len(weights)


def logistic(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    return from_log_odds(model.classes_, *decisions(model, table, graph), graph)


def linear_decision(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    return decision_output(model.classes_, *decisions(model, table, graph), graph)


def decision_output(classes: Sequence[Any], found: str, n_scores: int, graph: OnnxGraph) -> ClassTensors:
    """Return decision values of each class; one value for two classes is the difference of theirs."""
    if n_scores == 1:
        half = graph.add("Div", found, 2.0)
        found = graph.add("Concat", graph.add("Neg", half), half, axis=1)
    return ClassTensors(classes, found, "decision")


def linear_value(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    return decisions(model, table, graph)[0]
