"""ONNX of calibrators: maps from the scores of a classifier to probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.decisions.calibration.dirichlet import Dirichlet
from foldwise.decisions.calibration.isotonic import Isotonic
from foldwise.decisions.calibration.scores import MIN_LOG_PROBA, IdentityCalibrator
from foldwise.decisions.calibration.sigmoid import Sigmoid
from foldwise.decisions.calibration.temperature import Temperature
from foldwise.errors import InputError
from foldwise.exports.onnx.graph import OnnxGraph
from foldwise.exports.onnx.outputs import ClassTensors, expit, interpolated, softmax, two_classes


def scores_of(found: ClassTensors, graph: OnnxGraph) -> str:
    """Return finite scores: log-probabilities of at least 1e-12, or decision values."""
    if found.kind == "decision":
        return found.tensor
    if found.logs:
        return str(graph.add("Max", found.logs, MIN_LOG_PROBA))
    return str(graph.add("Log", graph.add("Max", found.tensor, float(np.exp(MIN_LOG_PROBA)))))


def calibrated_output(found: ClassTensors, calibrator: Any, graph: OnnxGraph) -> str:
    """Return the tensor of calibrated probabilities."""
    n_classes = len(found.classes)
    if calibrator is None or type(calibrator) is IdentityCalibrator:
        return softmax(found.tensor, graph)[0] if found.kind == "decision" else normalized(found.tensor, graph)
    scores = scores_of(found, graph)
    if type(calibrator) is Temperature:
        return softmax(graph.add("Mul", scores, float(calibrator.inverse)), graph)[0]
    if type(calibrator) is Dirichlet:
        product = graph.add("MatMul", scores, np.asarray(calibrator.weights, dtype=np.float64).T)
        return softmax(graph.add("Add", product, np.asarray(calibrator.intercepts, dtype=np.float64)[None]), graph)[0]
    odds = against_rest(scores, n_classes, found.kind != "decision", graph)
    if type(calibrator) is Sigmoid:
        return sigmoid(calibrator, odds, n_classes, graph)
    if type(calibrator) is Isotonic:
        return isotonic(calibrator, odds, n_classes, graph)
    raise InputError(f"the calibration {type(calibrator).__name__} cannot be exported to ONNX.")


def normalized(tensor: str, graph: OnnxGraph) -> str:
    return str(graph.add("Div", tensor, graph.sum_of(tensor, 1)))


def against_rest(scores: str, n_classes: int, are_logs: bool, graph: OnnxGraph) -> str:
    """Return the log-odds of each class against all others; decision values are taken as log-odds."""
    if n_classes == 2:
        return str(graph.add("Sub", scores, graph.add("Gather", scores, np.array([1, 0]), axis=1)))
    if not are_logs:
        return scores
    rest = np.array([[j for j in range(n_classes) if j != k] for k in range(n_classes)])
    others = graph.add("Gather", scores, rest, axis=1)  # (rows, classes, classes - 1)
    top = graph.add("ReduceMax", others, np.array([2]), keepdims=1)
    total = graph.add("Log", graph.sum_of(graph.add("Exp", graph.add("Sub", others, top)), 2, keepdims=False))
    return str(graph.add("Sub", graph.add("Sub", scores, graph.add("Squeeze", top, np.array([2]))), total))


def sigmoid(calibrator: Sigmoid, odds: str, n_classes: int, graph: OnnxGraph) -> str:
    slopes, starts = (np.asarray(one, dtype=np.float64)[None] for one in (calibrator.slopes, calibrator.intercepts))
    if n_classes == 2:
        odds, slopes, starts = graph.column(odds, 1), slopes[:, :1], starts[:, :1]
    shares = expit(graph.add("Add", graph.add("Mul", odds, slopes), starts), graph)
    return two_classes(shares, graph) if n_classes == 2 else normalized(shares, graph)


def isotonic(calibrator: Isotonic, odds: str, n_classes: int, graph: OnnxGraph) -> str:
    grid = float(calibrator.grid)
    rounded = graph.add("Mul", graph.add("Round", graph.add("Div", odds, grid)), grid)
    used = [1] if n_classes == 2 else range(n_classes)
    parts = [
        interpolated(graph.column(rounded, k), step.X_thresholds_, step.y_thresholds_, graph)
        if len(step.X_thresholds_) > 1
        else graph.repeated([float(step.y_thresholds_[0])])
        for k, step in zip(used, calibrator.steps, strict=True)
    ]
    if n_classes == 2:
        return two_classes(parts[0], graph)
    shares = graph.add("Concat", *parts, axis=1)
    total = graph.sum_of(shares, 1)
    return str(graph.add("Where", graph.add("Greater", total, 0.0), graph.add("Div", shares, total), 1 / n_classes))
