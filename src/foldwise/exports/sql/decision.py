"""SQL of decisions by cost: the action with the lowest expected cost of each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foldwise.decisions.resolved_costs import TIE
from foldwise.exports.costs import CostDecision
from foldwise.exports.sql.program import SqlProgram


def decision_columns(decision: CostDecision, proba: Sequence[str], program: SqlProgram) -> list[tuple[str, str]]:
    """Return the decision and its expected cost; the first of equally cheap actions is taken."""
    dialect = program.dialect
    expected = [
        program.add_up([f"{p} * {program.number(cost)}" for p, cost in zip(proba, row, strict=True)])
        for row in decision.costs.tolist()
    ]
    (least,) = program.compute([dialect.extreme(dialect.smallest, expected)])
    margin = program.number(TIE * float(np.abs(decision.costs).max()))
    (limit,) = program.compute([f"{least} + {margin}"])
    pairs = list(zip(expected, decision.actions, strict=True))
    action = " ".join(f"WHEN {one} <= {limit} THEN {dialect.literal(name)}" for one, name in pairs)
    cost = " ".join(f"WHEN {one} <= {limit} THEN {one}" for one in expected)
    return [("predicted_decision", f"CASE {action} END"), ("predicted_expected_cost", f"CASE {cost} END")]
