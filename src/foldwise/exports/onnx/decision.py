"""ONNX of what follows from predictions: decisions by cost, intervals and sets of classes."""

from __future__ import annotations

import numpy as np

from foldwise.decisions.conformal.levels import CLOSED, SLACK
from foldwise.decisions.resolved_costs import TIE
from foldwise.exports.costs import CostDecision
from foldwise.exports.onnx.graph import OnnxGraph


def decision_tensors(decision: CostDecision, proba: str, graph: OnnxGraph) -> tuple[str, str]:
    """Return the index of the chosen action and its expected cost; the first of equally cheap actions is taken."""
    costs = np.asarray(decision.costs, dtype=np.float64)  # (actions, classes)
    expected = graph.add("MatMul", proba, costs.T)
    least = graph.add("ReduceMin", expected, np.array([1]), keepdims=1)
    limit = graph.add("Add", least, TIE * float(np.abs(costs).max()))
    cheap = graph.add("Cast", graph.add("LessOrEqual", expected, limit), to=7)
    chosen = graph.add("ArgMax", cheap, axis=1, keepdims=1)
    return chosen, graph.add("GatherElements", expected, chosen, axis=1)


def interval_tensors(values: str, quantile: float, graph: OnnxGraph) -> tuple[str, str]:
    """Return both ends of the intervals, slightly widened against rounding."""
    if np.isinf(quantile):
        return graph.repeated([-np.inf]), graph.repeated([np.inf])
    low, high = graph.add("Sub", values, quantile), graph.add("Add", values, quantile)
    slack = graph.add("Mul", graph.add("Max", graph.add("Abs", low), graph.add("Abs", high)), CLOSED)
    return graph.add("Sub", low, slack), graph.add("Add", high, slack)


def set_tensor(proba: str, quantile: float, graph: OnnxGraph) -> str:
    """Return whether each class belongs to the set of a row."""
    limit = min(quantile + SLACK, 2.0)  # an infinite quantile contains all classes
    return str(graph.add("LessOrEqual", graph.add("Sub", 1.0, proba), limit))
