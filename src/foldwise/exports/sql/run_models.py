"""SQL of the models that wrap others: pipelines, the weighted mean of a run, calibration, transformed targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.registry import SQL
from foldwise.exports.sql.calibration import calibrated_output
from foldwise.exports.sql.columns import transform
from foldwise.exports.sql.outputs import ClassOutput
from foldwise.exports.sql.program import Input, SqlProgram


def classify(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    """Write the SQL of any classifier."""
    found: ClassOutput = SQL.classify(model, inputs, program)
    return found


def regress(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    """Write the SQL of any regressor, and return the column of its prediction."""
    found: str = SQL.regress(model, inputs, program)
    return found


def before_last(model: Any, inputs: Sequence[Input], program: SqlProgram) -> tuple[Any, list[Input]]:
    """Return the last step of a pipeline, and the features that it sees."""
    found = list(inputs)
    for _, step in model.steps[:-1]:
        found = transform(step, found, program)
    return model.steps[-1][1], found


def pipeline_classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return classify(*before_last(model, inputs, program), program)


def pipeline_regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    return regress(*before_last(model, inputs, program), program)


def coded_labels(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    found = classify(model.estimator_, inputs, program)
    return ClassOutput(model.classes_, found.columns, found.kind, found.logs)


def class_frequencies(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    if model.strategy != "prior":
        raise InputError(f"DummyClassifier with strategy={model.strategy!r} cannot be exported to SQL.")
    shares = np.asarray(model.class_prior_, dtype=np.float64).tolist()
    return ClassOutput(model.classes_, program.compute(map(program.number, shares)))


def constant(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    return program.compute([program.number(float(np.ravel(model.constant_)[0]))])[0]


def blend(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    n_classes = len(model.labels)
    totals: list[list[str]] = [[] for _ in range(n_classes)]
    prior, doubt = np.asarray(model.prior, dtype=np.float64).tolist(), float(model.doubt)
    for member, weight, to in zip(model.members, model.weights, model.maps, strict=True):
        columns = member_columns(classify(member, inputs, program), to, n_classes, program)
        total = program.add_up(columns)
        share, zero = program.number((1 - doubt) * 1.0), program.number(0.0)
        mixed = program.compute(
            f"{program.number(float(weight))} * CASE WHEN {total} > {zero} THEN {share} * ({one} / {total}) + "
            f"{program.number(doubt * p)} ELSE {program.number((1 - doubt) * p + doubt * p)} END"
            for one, p in zip(columns, prior, strict=True)
        )
        for k in range(n_classes):
            totals[k].append(mixed[k])
    means = program.compute(" + ".join(terms) for terms in totals)
    found = calibrated_output(ClassOutput(model.labels, means), model.temper, program)
    return ClassOutput(model.labels, found)


def member_columns(found: ClassOutput, to: Any, n_classes: int, program: SqlProgram) -> list[str]:
    """Return the probabilities of a member, one column per class of the run; its classes are codes."""
    codes = [int(code) for code in np.asarray(found.classes).tolist()]
    if len(codes) < n_classes:
        if to is not None or found.kind == "decision":
            raise InputError(
                "a member of the model was fitted without rows of one class, so it cannot be exported to SQL."
            )
        nothing = program.compute([program.number(0.0)])[0]
        by_code = dict(zip(codes, found.columns, strict=True))
        return [by_code.get(k, nothing) for k in range(n_classes)]
    return list(found.columns) if to is None else calibrated_output(found, to, program)


def calibrated(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    found = classify(model.estimator_, inputs, program)
    return ClassOutput(model.classes_, calibrated_output(found, model.calibrator_, program))


def value_blend(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    terms = [
        f"{program.number(float(weight))} * {regress(member, inputs, program)}"
        for member, weight in zip(model.members, model.weights, strict=True)
    ]
    return program.add_up(terms)


def transformed_target(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    found, back = regress(model.regressor_, inputs, program), model.back_
    n_points = back.shape[1]
    if not n_points:
        return found
    if n_points == 1:
        line = f"{program.number(float(back[0, 0]))} + {program.number(float(back[1, 0]))} * {found}"
        return program.compute([line])[0]
    return program.compute([interpolated(found, back[0], back[1], program)])[0]


def interpolated(x: str, grid: Any, values: Any, program: SqlProgram) -> str:
    """Interpolate linearly between points, and stay at the first and the last one, as numpy.interp does."""
    number = program.number

    def between(first: int, last: int) -> str:  # indices of the points around x
        if last - first == 1:
            slope = (values[last] - values[first]) / (grid[last] - grid[first])
            return f"{number(slope)} * ({x} - {number(grid[first])}) + {number(values[first])}"
        middle = (first + last) // 2
        return f"CASE WHEN {x} < {number(grid[middle])} THEN {between(first, middle)} ELSE {between(middle, last)} END"

    inside = between(0, len(grid) - 1)
    low = f"WHEN {x} <= {number(grid[0])} THEN {number(values[0])}"
    high = f"WHEN {x} >= {number(grid[-1])} THEN {number(values[-1])}"
    return f"CASE {low} {high} ELSE {inside} END"
