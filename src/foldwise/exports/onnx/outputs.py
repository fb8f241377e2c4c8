"""What a classifier predicts, as tensors: probabilities, their logarithms or decision values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foldwise.exports.onnx.graph import OnnxGraph


@dataclass(frozen=True)
class ClassTensors:
    """A tensor of shape (rows, classes), in the order of `classes`."""

    classes: Sequence[Any]
    tensor: str
    kind: Literal["proba", "decision"] = "proba"
    logs: str = ""  # log-probabilities, where they are computed without underflow
    codes: str = ""  # (rows, 1), the index of the predicted class, where it is not the first of the most probable ones


def softmax(scores: str, graph: OnnxGraph) -> tuple[str, str]:
    """Return probabilities and log-probabilities; the maximum is subtracted first."""
    shifted = graph.add("Sub", scores, graph.largest(scores))
    powers = graph.add("Exp", shifted)
    total = graph.sum_of(powers, 1)
    return graph.add("Div", powers, total), graph.add("Sub", shifted, graph.add("Log", total))


def expit(scores: str, graph: OnnxGraph) -> str:
    """Return the logistic function 1 / (1 + exp(-x)), which does not overflow.

    The operator Sigmoid is not used, because onnxruntime approximates it.
    """
    power = graph.add("Exp", graph.add("Neg", graph.add("Abs", scores)))
    total = graph.add("Add", power, 1.0)
    positive = graph.add("GreaterOrEqual", scores, 0.0)
    return str(graph.add("Div", graph.add("Where", positive, 1.0, power), total))


def two_classes(second: str, graph: OnnxGraph) -> str:
    """Return the probabilities of both classes from that of the second one."""
    return str(graph.add("Concat", graph.add("Sub", 1.0, second), second, axis=1))


def from_log_odds(classes: Sequence[Any], scores: str, n_scores: int, graph: OnnxGraph) -> ClassTensors:
    """Return probabilities from one score per class (softmax), or from the log-odds of the second of two classes."""
    if n_scores == 1:
        return ClassTensors(classes, two_classes(expit(scores, graph), graph))
    tensor, logs = softmax(scores, graph)
    return ClassTensors(classes, tensor, logs=logs)


def interpolated(x: str, grid: NDArray[np.float64], values: NDArray[np.float64], graph: OnnxGraph) -> str:
    """Interpolate linearly between points, and stay at the first and the last one, as numpy.interp does."""
    last = len(grid) - 1
    reached = graph.add("Cast", graph.add("GreaterOrEqual", x, grid[None, 1:last]), to=7)
    index = graph.sum_of(reached, 1) if last > 1 else graph.add("Cast", graph.add("Mul", graph.zeros, 0.0), to=7)
    start, height = graph.add("Gather", grid[:-1], index), graph.add("Gather", values[:-1], index)
    slope = graph.add("Gather", np.diff(values) / np.diff(grid), index)
    inside = graph.add("Add", graph.add("Mul", slope, graph.add("Sub", x, start)), height)
    found = graph.add("Where", graph.add("LessOrEqual", x, float(grid[0])), float(values[0]), inside)
    return str(graph.add("Where", graph.add("GreaterOrEqual", x, float(grid[-1])), float(values[-1]), found))
