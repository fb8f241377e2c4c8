"""SQL of calibrators: maps from the scores of a classifier to probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.decisions.calibration.dirichlet import Dirichlet
from foldwise.decisions.calibration.isotonic import Isotonic
from foldwise.decisions.calibration.scores import MIN_LOG_PROBA, IdentityCalibrator
from foldwise.decisions.calibration.sigmoid import Sigmoid
from foldwise.decisions.calibration.temperature import Temperature
from foldwise.errors import InputError
from foldwise.exports.sql.outputs import ClassOutput, expit, softmax, two_classes
from foldwise.exports.sql.program import SqlProgram


def scores_of(found: ClassOutput, program: SqlProgram, floor: bool = True) -> list[str]:
    """Return columns of finite scores: log-probabilities of at least 1e-12, or decision values."""
    if found.kind == "decision":
        return list(found.columns)
    least = program.number(MIN_LOG_PROBA if floor else -700.0)
    if found.logs:
        return program.compute(program.dialect.extreme(program.dialect.largest, [one, least]) for one in found.logs)
    smallest = program.number(float(np.exp(MIN_LOG_PROBA)) if floor else 1e-300)
    return program.compute(f"CASE WHEN {p} > {smallest} THEN LN({p}) ELSE {least} END" for p in found.columns)


def calibrated_output(found: ClassOutput, calibrator: Any, program: SqlProgram) -> list[str]:
    """Return the columns of calibrated probabilities."""
    if calibrator is None or type(calibrator) is IdentityCalibrator:
        if found.kind == "decision":
            return softmax(found.columns, program)[0]
        total = program.add_up(found.columns)
        return program.compute(f"{p} / {total}" for p in found.columns)
    scores = scores_of(found, program)
    if type(calibrator) is Temperature:
        return softmax(program.compute(f"{program.number(calibrator.inverse)} * {s}" for s in scores), program)[0]
    if type(calibrator) is Dirichlet:
        return dirichlet(calibrator, scores, program)
    odds = against_rest(scores, found.kind != "decision", program)
    if type(calibrator) is Sigmoid:
        return sigmoid(calibrator, odds, program)
    if type(calibrator) is Isotonic:
        return isotonic(calibrator, odds, program)
    raise InputError(f"the calibration {type(calibrator).__name__} cannot be exported to SQL.")


def against_rest(scores: Sequence[str], normalized: bool, program: SqlProgram) -> list[str]:
    """Return the log-odds of each class against all others; decision values are taken as log-odds."""
    if len(scores) == 2:
        return program.compute([f"{scores[0]} - {scores[1]}", f"{scores[1]} - {scores[0]}"])
    if not normalized:
        return list(scores)
    dialect = program.dialect
    others = [[other for other in scores if other is not own] for own in scores]
    tops = program.compute(dialect.extreme(dialect.largest, some) for some in others)
    sums = program.compute(
        " + ".join(dialect.exp(f"({one} - {top})") for one in some) for some, top in zip(others, tops, strict=True)
    )
    return program.compute(f"{own} - {top} - LN({total})" for own, top, total in zip(scores, tops, sums, strict=True))


def sigmoid(calibrator: Sigmoid, odds: Sequence[str], program: SqlProgram) -> list[str]:
    number = program.number
    if len(odds) == 2:
        line = f"{number(calibrator.slopes[0])} * {odds[1]} + {number(calibrator.intercepts[0])}"
        return two_classes(expit(program.compute([line])[0], program), program)
    lines = program.compute(
        f"{number(a)} * {x} + {number(b)}"
        for a, b, x in zip(calibrator.slopes, calibrator.intercepts, odds, strict=True)
    )
    shares = [expit(line, program) for line in lines]
    total = program.add_up(shares)
    return program.compute(f"{one} / {total}" for one in shares)


def isotonic(calibrator: Isotonic, odds: Sequence[str], program: SqlProgram) -> list[str]:
    from foldwise.exports.sql.run_models import interpolated

    grid = program.number(calibrator.grid)
    used = odds[1:] if len(odds) == 2 else odds
    rounded = program.compute(f"ROUND({x} / {grid}) * {grid}" for x in used)
    shares = program.compute(
        interpolated(x, step.X_thresholds_, step.y_thresholds_, program)
        if len(step.X_thresholds_) > 1
        else program.number(float(step.y_thresholds_[0]))
        for x, step in zip(rounded, calibrator.steps, strict=True)
    )
    if len(odds) == 2:
        return two_classes(shares[0], program)
    total = program.add_up(shares)
    equal = program.number(1 / len(shares))
    return program.compute(
        f"CASE WHEN {total} > {program.number(0.0)} THEN {one} / {total} ELSE {equal} END" for one in shares
    )


def dirichlet(calibrator: Dirichlet, scores: Sequence[str], program: SqlProgram) -> list[str]:
    lines = [
        [program.number(start), *(f"{program.number(w)} * {s}" for w, s in zip(weights, scores, strict=True))]
        for weights, start in zip(calibrator.weights.tolist(), calibrator.intercepts.tolist(), strict=True)
    ]
    return softmax([program.add_up(terms) for terms in lines], program)[0]
