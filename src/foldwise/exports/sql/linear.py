"""SQL of linear models: a sum over features, in which one-hot columns of one category are one CASE expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.exports.sql.outputs import ClassOutput, from_log_odds
from foldwise.exports.sql.program import Feature, Input, SqlProgram


def linear_sum(
    coefficients: NDArray[np.float64], intercept: float, features: Sequence[Feature], program: SqlProgram
) -> str:
    """Return the column of intercept + Σ coefficient · feature."""
    terms = [program.number(intercept)]
    grouped: dict[str, list[tuple[Feature, float]]] = {}
    for feature, weight in zip(features, coefficients.tolist(), strict=True):
        if feature.indicator:
            grouped.setdefault(feature.expression, []).append((feature, weight))
        elif weight:
            terms.append(f"{program.number(weight)} * {feature.expression}")
    for pairs in grouped.values():
        whens = " ".join(
            f"WHEN {one.is_level(program.dialect)} THEN {program.number(weight)}" for one, weight in pairs if weight
        )
        if whens:
            terms.append(f"CASE {whens} ELSE {program.number(0.0)} END")
    return program.add_up(terms)


def decisions(model: Any, inputs: Sequence[Input], program: SqlProgram) -> list[str]:
    """Return one column per row of the coefficients."""
    features = program.numbers(inputs)
    coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercepts = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(coefficients))
    pairs = zip(coefficients, intercepts.tolist(), strict=True)
    return [linear_sum(weights, start, features, program) for weights, start in pairs]


def logistic(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return from_log_odds(model.classes_, decisions(model, inputs, program), program)


def linear_decision(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return decision_output(model.classes_, decisions(model, inputs, program), program)


def decision_output(classes: Any, found: Sequence[str], program: SqlProgram) -> ClassOutput:
    """Return decision values of each class; one value for two classes is the difference of theirs."""
    if len(found) == 1:
        half = program.number(2.0)
        found = program.compute([f"(-{found[0]}) / {half}", f"{found[0]} / {half}"])
    return ClassOutput(classes, found, "decision")


def linear_value(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    return decisions(model, inputs, program)[0]
