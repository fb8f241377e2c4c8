"""ONNX of the models that wrap others: pipelines, the weighted mean of a run, calibration, transformed targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.onnx.calibration import calibrated_output
from foldwise.exports.onnx.columns import ColumnTensors, transform
from foldwise.exports.onnx.graph import OnnxGraph
from foldwise.exports.onnx.outputs import ClassTensors, interpolated
from foldwise.exports.registry import ONNX


def classify(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    """Write any classifier."""
    found: ClassTensors = ONNX.classify(model, table, graph)
    return found


def regress(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    """Write any regressor, and return the tensor (rows, 1) of its prediction."""
    found: str = ONNX.regress(model, table, graph)
    return found


def before_last(model: Any, table: ColumnTensors, graph: OnnxGraph) -> tuple[Any, ColumnTensors]:
    """Return the last step of a pipeline, and the table that it sees."""
    for _, step in model.steps[:-1]:
        table = transform(step, table, graph)
    return model.steps[-1][1], table


def pipeline_classifier(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    return classify(*before_last(model, table, graph), graph)


def pipeline_regressor(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    return regress(*before_last(model, table, graph), graph)


def coded_labels(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    found = classify(model.estimator_, table, graph)
    return ClassTensors(model.classes_, found.tensor, found.kind, found.logs, found.codes)


def class_frequencies(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    if model.strategy != "prior":
        raise InputError(f"DummyClassifier with strategy={model.strategy!r} cannot be exported to ONNX.")
    return ClassTensors(model.classes_, graph.repeated(model.class_prior_))


def constant(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    return graph.repeated(np.ravel(model.constant_)[:1])


def blend(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    n_classes = len(model.labels)
    prior, doubt = np.asarray(model.prior, dtype=np.float64), float(model.doubt)
    mean = ""
    for member, weight, to in zip(model.members, model.weights, model.maps, strict=True):
        shares = member_shares(classify(member, table, graph), to, n_classes, graph)
        total = graph.sum_of(shares, 1)
        own = graph.add("Where", graph.add("Greater", total, 0.0), graph.add("Div", shares, total), prior[None])
        mixed = graph.add("Add", graph.add("Mul", own, 1 - doubt), (doubt * prior)[None])
        term = graph.add("Mul", mixed, float(weight))
        mean = graph.add("Add", mean, term) if mean else term
    return ClassTensors(model.labels, calibrated_output(ClassTensors(model.labels, mean), model.temper, graph))


def member_shares(found: ClassTensors, to: Any, n_classes: int, graph: OnnxGraph) -> str:
    """Return the probabilities of a member, one column per class of the run; its classes are codes."""
    codes = [int(code) for code in np.asarray(found.classes).tolist()]
    if len(codes) == n_classes:
        return found.tensor if to is None else calibrated_output(found, to, graph)
    if to is not None or found.kind == "decision":
        raise InputError(
            "a member of the model was fitted without rows of one class, so it cannot be exported to ONNX."
        )
    indicators = np.zeros((len(codes), n_classes))
    indicators[np.arange(len(codes)), codes] = 1.0
    return str(graph.add("MatMul", found.tensor, indicators))


def calibrated(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    found = classify(model.estimator_, table, graph)
    return ClassTensors(model.classes_, calibrated_output(found, model.calibrator_, graph))


def value_blend(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    terms = [
        graph.add("Mul", regress(member, table, graph), float(weight))
        for member, weight in zip(model.members, model.weights, strict=True)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = graph.add("Add", total, term)
    return str(total)


def transformed_target(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    found, back = regress(model.regressor_, table, graph), model.back_
    n_points = back.shape[1]
    if not n_points:
        return found
    if n_points == 1:
        return str(graph.add("Add", graph.add("Mul", found, float(back[1, 0])), float(back[0, 0])))
    return interpolated(found, np.asarray(back[0], dtype=np.float64), np.asarray(back[1], dtype=np.float64), graph)
