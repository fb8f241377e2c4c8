"""SQL of the intervals and sets of a run with a coverage."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from foldwise.decisions.conformal.levels import CLOSED, SLACK
from foldwise.exports.sql.program import SqlProgram


def interval_columns(value: str, quantile: float, program: SqlProgram) -> list[tuple[str, str]]:
    """Return both ends of the intervals, slightly widened against rounding; NULL if they are infinite."""
    if math.isinf(quantile):
        nothing = f"CAST(NULL AS {program.dialect.double})"
        return [("predicted_low", nothing), ("predicted_high", nothing)]
    half = program.number(quantile)
    low, high = program.compute([f"{value} - {half}", f"{value} + {half}"])
    slack = f"{program.number(CLOSED)} * {program.dialect.largest}(ABS({low}), ABS({high}))"
    return [("predicted_low", f"{low} - {slack}"), ("predicted_high", f"{high} + {slack}")]


def set_column(proba: Sequence[str], classes: Sequence[Any], quantile: float, program: SqlProgram) -> tuple[str, str]:
    """Return the classes of the set as one text, as `set_text` writes it: separated by |, or as JSON."""
    dialect = program.dialect
    names = [str(name) for name in classes]
    as_json = any("|" in name for name in names)
    parts = [f", {json.dumps(name, ensure_ascii=False)}" if as_json else f"|{name}" for name in names]
    limit, one = program.number(min(quantile + SLACK, 2.0)), program.number(1.0)
    pieces = [
        f"CASE WHEN {one} - {p} <= {limit} THEN {dialect.literal(part)} ELSE '' END"
        for p, part in zip(proba, parts, strict=True)
    ]
    (text,) = program.compute([dialect.concatenated(pieces)])
    if not as_json:
        return "predicted_set", f"SUBSTR({text}, 2)"
    return "predicted_set", dialect.concatenated([dialect.literal("["), f"SUBSTR({text}, 3)", dialect.literal("]")])
