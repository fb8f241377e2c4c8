"""SQL of the transformers of whole columns and of numbers: selection, imputation and scaling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.model_columns import chosen_columns
from foldwise.exports.registry import SQL
from foldwise.exports.sql.dates import named_date_features
from foldwise.exports.sql.dialects import LARGEST
from foldwise.exports.sql.program import Feature, Input, RawColumn, SqlProgram
from foldwise.models.column_transformers import MAX_ABS


def transform(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    """Write the SQL of any transformer, "passthrough" included."""
    if fitted is None or isinstance(fitted, str):
        if fitted == "drop":
            return []
        return list(inputs)
    found: list[Input] = SQL.transform(fitted, inputs, program)
    return found


def pipeline(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    found = list(inputs)
    for _, step in fitted.steps:
        found = transform(step, found, program)
    return found


def column_transformer(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    by_name = {one.name: one for one in inputs if isinstance(one, RawColumn)}
    found: list[Input] = []
    for _, step, columns in fitted.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        chosen = chosen_columns(fitted, columns, by_name, inputs)
        found += transform(step, chosen, program) if chosen else []
    return found


def table_encoder(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    return column_transformer(fitted.transformer_, inputs, program)


def unchanged(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    if fitted.func is not None:
        raise InputError("FunctionTransformer cannot be exported to SQL.", "train the model without it.")
    return list(inputs)


def number_columns(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    cells = program.numbers(inputs)
    ranges = zip(cells, fitted.seen_, fitted.least_, fitted.greatest_, strict=True)
    zero = Feature(program.number(0.0), nullable=False)
    kept = [
        Feature(clipped(cell, float(least), float(greatest), program)) if seen else zero
        for cell, seen, least, greatest in ranges
    ]
    return list(program.numbers(kept))


def clipped(cell: Feature, least: float, greatest: float, program: SqlProgram) -> str:
    """Replace infinite cells by the smallest or largest value of the training rows, and limit all others."""
    x, number = cell.expression, program.number
    inside = finite(cell, max(least, -MAX_ABS), min(greatest, MAX_ABS), program).removesuffix(f" ELSE {x} END")
    more = f"WHEN {x} > {number(MAX_ABS)} THEN {number(MAX_ABS)} WHEN {x} < {number(-MAX_ABS)} THEN {number(-MAX_ABS)}"
    return f"{inside} {more} ELSE {x} END"


def keep_columns(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    by_name = {one.name: one for one in inputs if isinstance(one, RawColumn)}
    names = list(fitted.reach_)
    cells = program.numbers([by_name[name] for name in names])
    inside = program.compute(
        finite(cell, fitted.reach_[name][0], fitted.reach_[name][1], program)
        for name, cell in zip(names, cells, strict=True)
    )
    clipped_columns = {name: RawColumn(name, "number", one) for name, one in zip(names, inside, strict=True)}
    kept = [clipped_columns.get(name, by_name[name]) for name in fitted.columns]
    if not len(fitted.dates):
        return list(kept)
    return [*kept, *named_date_features(fitted.date_features_, [by_name[name] for name in fitted.dates], program)]


def finite(cell: Feature, least: float, greatest: float, program: SqlProgram) -> str:
    """Replace infinite cells by the smallest or largest value of the training rows."""
    x, number = cell.expression, program.number
    high = f"WHEN {x} > {number(LARGEST)} THEN {number(greatest)}"
    return f"CASE {high} WHEN {x} < {number(-LARGEST)} THEN {number(least)} ELSE {x} END"


def refuse_text(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    raise InputError(
        f"column {fitted.feature_names_in_[0]!r} contains free text, which cannot be exported to SQL.",
        "train the model without the column.",
    )


def top_columns(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    by_name = {one.name: one for one in inputs if isinstance(one, RawColumn)}
    passing = set(fitted.passing)
    found: list[Input] = [one for one in inputs if isinstance(one, RawColumn) and one.name in passing]
    for i in range(fitted.most):
        source = by_name[fitted.kept_[i]].expression if i < len(fitted.kept_) else program.number(0.0)
        found.append(RawColumn(f"top {i + 1}", "number", source))
    return found


def select_informative(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    blank = set(fitted.blank_)
    text = program.dialect.text
    empty = {"number": program.dialect.double, "truth": "BOOLEAN", "text": text, "date": text}
    return [
        RawColumn(one.name, one.kind, f"CAST(NULL AS {empty[one.kind]})")
        if isinstance(one, RawColumn) and one.name in blank
        else one
        for one in inputs
    ]


def imputer(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    if any(isinstance(value, str) for value in fitted.statistics_.tolist()):
        raise InputError(
            "SimpleImputer of text cannot be exported to SQL.", "use TableEncoder() instead of it and its encoder."
        )
    cells = program.numbers(inputs)
    filled: list[Feature] = []
    for cell, value in zip(cells, np.asarray(fitted.statistics_, dtype=np.float64), strict=True):
        if np.isnan(value) and not fitted.keep_empty_features:
            continue
        instead = program.number(0.0 if np.isnan(value) else float(value))
        filled.append(
            Feature(f"COALESCE({cell.as_value(program.dialect)}, {instead})", nullable=False) if cell.nullable else cell
        )
    marked = [] if fitted.indicator_ is None else fitted.indicator_.features_.tolist()
    marks = [Feature(cells[j].expression, indicator=True) for j in marked]
    return [*program.numbers(filled), *marks]


def standard_scaler(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    n = len(inputs)
    center = np.zeros(n) if fitted.mean_ is None or not fitted.with_mean else fitted.mean_
    scale = np.ones(n) if fitted.scale_ is None else fitted.scale_
    return scaled_by(
        inputs,
        program,
        [f"({{}} - {program.number(m)}) / {program.number(s)}" for m, s in zip(center, scale, strict=True)],
    )


def minmax_scaler(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    if fitted.clip:
        raise InputError("MinMaxScaler(clip=True) cannot be exported to SQL.", "fit it with clip=False.")
    return scaled_by(
        inputs,
        program,
        [f"{{}} * {program.number(s)} + {program.number(m)}" for m, s in zip(fitted.min_, fitted.scale_, strict=True)],
    )


def scaled_by(inputs: Sequence[Input], program: SqlProgram, patterns: Sequence[str]) -> list[Input]:
    """Apply one pattern to each feature, with `{}` for its value."""
    cells = program.numbers(inputs)
    values = (f"({cell.as_value(program.dialect)})" if cell.indicator else cell.expression for cell in cells)
    found = [
        Feature(pattern.replace("{}", value), cell.nullable and not cell.indicator)
        for pattern, value, cell in zip(patterns, values, cells, strict=True)
    ]
    return list(program.numbers(found))
