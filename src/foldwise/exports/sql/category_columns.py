"""SQL of the transformers of categories: codes, one-hot columns, and encodings by the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.sql.program import Feature, Input, RawColumn, SqlProgram, equals


def category_codes(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    nothing = "NULL" if fitted.unseen == "missing" else program.number(-1.0)
    found = []
    for column, levels, has_rare in zip(inputs, fitted.levels_, fitted.has_rare_, strict=True):
        if not levels:
            found.append(Feature(program.number(0.0), nullable=False))
            continue
        otherwise = program.number(len(levels)) if has_rare else nothing
        found.append(Feature(code_of(column, levels, otherwise, program)))
    return list(program.numbers(found))


def code_of(column: Input, levels: Sequence[Any], otherwise: str, program: SqlProgram) -> str:
    """Return the index of a cell among the levels, NULL if it is missing, and `otherwise` if it is none of them."""
    cell = column.expression
    whens = " ".join(
        f"WHEN {equals(cell, level, program.dialect)} THEN {program.number(i)}" for i, level in enumerate(levels)
    )
    missing = is_missing(column, program)
    return f"CASE WHEN {missing} THEN NULL {whens} ELSE {otherwise} END"


def is_missing(column: Input, program: SqlProgram) -> str:
    """Return the condition under which a cell is missing: NULL, or NaN in a column of numbers."""
    cell = column.expression
    if isinstance(column, RawColumn) and column.kind == "number" and program.dialect.nan:
        return f"({cell} IS NULL OR {program.dialect.nan.format(program.dialect.as_double(cell))})"
    return f"{cell} IS NULL"


def categorical_frame(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    """Codes stay codes: for LightGBM a missing one is NULL, for CatBoost it is -1."""
    if fitted.kind == "category" or not fitted.n_codes:
        return list(inputs)
    cells = program.numbers(inputs)
    codes = [
        Feature(f"COALESCE({one.expression}, {program.number(-1.0)})", nullable=False)
        for one in cells[: fitted.n_codes]
    ]
    return [*program.numbers(codes), *cells[fitted.n_codes :]]


def one_hot(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    if fitted.drop is not None or fitted.min_frequency is not None or fitted.max_categories is not None:
        raise InputError(
            "OneHotEncoder with drop, min_frequency or max_categories cannot be exported to SQL.",
            "fit it without these parameters.",
        )
    found: list[Input] = []
    for column, categories in zip(inputs, fitted.categories_, strict=True):
        kind = getattr(column, "kind", "number")
        source = program.numbers([column])[0].expression if kind == "number" else column.expression
        for level in categories.tolist():
            empty = level is None or (isinstance(level, float) and np.isnan(level))
            found.append(Feature(source, indicator=True, level=None if empty else level))
    return found


def target_encoder(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    """Look each code up among sorted values, NaN last; the last row of a table (values + 1, outputs) is for others."""
    found = []
    for cell, known, table in zip(program.numbers(inputs), fitted.values_, fitted.tables(), strict=True):
        levels = [None if np.isnan(value) else value for value in known.tolist()]
        tests = [Feature(cell.expression, indicator=True, level=level).is_level(program.dialect) for level in levels]
        for column in table.T.tolist():
            pairs = zip(tests, column, strict=False)
            whens = " ".join(f"WHEN {test} THEN {program.number(value)}" for test, value in pairs)
            found.append(Feature(f"CASE {whens} ELSE {program.number(column[-1])} END", nullable=False))
    return list(program.numbers(found))
