"""What a classifier predicts, as columns of a query: probabilities, their logarithms or decision values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from foldwise.exports.sql.program import SqlProgram


@dataclass(frozen=True)
class ClassOutput:
    """One column per class, in the order of `classes`."""

    classes: Sequence[Any]
    columns: Sequence[str]
    kind: Literal["proba", "decision"] = "proba"
    logs: Sequence[str] = ()  # columns of log-probabilities, where they are computed without underflow


def softmax(scores: Sequence[str], program: SqlProgram) -> tuple[list[str], list[str]]:
    """Return columns of probabilities and of log-probabilities; the maximum is subtracted first."""
    dialect = program.dialect
    (top,) = program.compute([dialect.extreme(dialect.largest, list(scores))])
    shifted = program.compute(f"{score} - {top}" for score in scores)
    powers = program.compute(dialect.exp(one) for one in shifted)
    total = program.add_up(powers)
    (log_total,) = program.compute([f"LN({total})"])
    found = program.compute([*(f"{one} / {total}" for one in powers), *(f"{one} - {log_total}" for one in shifted)])
    return found[: len(scores)], found[len(scores) :]


def expit(score: str, program: SqlProgram) -> str:
    """Return the logistic function 1 / (1 + exp(-x)), which does not overflow."""
    (power,) = program.compute([program.dialect.exp(f"(-ABS({score}))")])
    one, zero = program.number(1.0), program.number(0.0)
    (total,) = program.compute([f"{one} + {power}"])
    return program.compute([f"CASE WHEN {score} >= {zero} THEN {one} / {total} ELSE {power} / {total} END"])[0]


def two_classes(second: str, program: SqlProgram) -> list[str]:
    """Return the probabilities of both classes from that of the second one."""
    return [program.compute([f"{program.number(1.0)} - {second}"])[0], second]


def from_log_odds(classes: Sequence[Any], scores: Sequence[str], program: SqlProgram) -> ClassOutput:
    """Return probabilities from one score per class (softmax), or from the log-odds of the second of two classes."""
    if len(scores) == 1:
        return ClassOutput(classes, two_classes(expit(scores[0], program), program))
    columns, logs = softmax(scores, program)
    return ClassOutput(classes, columns, logs=logs)
