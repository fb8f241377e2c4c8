"""ONNX of the transformers of whole columns and of numbers: selection, imputation and scaling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.model_columns import chosen_columns, column_indices
from foldwise.exports.onnx.graph import Columns, InputColumn, Matrix, OnnxGraph
from foldwise.exports.registry import ONNX
from foldwise.models.column_transformers import MAX_ABS

ColumnTensors = Columns | Matrix
INT64 = 7  # of TensorProto


def transform(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors:
    """Write any transformer, "passthrough" included."""
    if fitted is None or fitted == "passthrough":
        return table
    found: ColumnTensors = ONNX.transform(fitted, table, graph)
    return found


def pipeline(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors:
    for _, step in fitted.steps:
        table = transform(step, table, graph)
    return table


def column_transformer(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors:
    parts = []
    for _, step, columns in fitted.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        some = chosen(fitted, columns, table, graph)
        if some:
            parts.append(graph.matrix(transform(step, some, graph)))
    return graph.beside(parts)


def chosen(fitted: Any, columns: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors | None:
    """Select the columns of one part of a ColumnTransformer; None if there are none."""
    if isinstance(table, Matrix):
        indices = column_indices(fitted, columns)
        return graph.take(table, indices) if indices else None
    return chosen_columns(fitted, columns, {one.name: one for one in table}, table) or None


def table_encoder(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors:
    return column_transformer(fitted.transformer_, table, graph)


def unchanged(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors:
    if fitted.func is not None:
        raise InputError("FunctionTransformer cannot be exported to ONNX.", "train the model without it.")
    return table


def number_columns(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    cells = finite(graph.matrix(table), fitted.least_, fitted.greatest_, graph)
    limited = graph.add("Where", graph.add("Greater", cells.tensor, MAX_ABS), MAX_ABS, cells.tensor)
    limited = graph.add("Where", graph.add("Less", limited, -MAX_ABS), -MAX_ABS, limited)
    seen = np.asarray(fitted.seen_, dtype=bool)
    if not seen.all():
        limited = graph.add("Where", seen[None], limited, 0.0)
    return Matrix(limited, cells.width)


def finite(cells: Matrix, least: Any, greatest: Any, graph: OnnxGraph) -> Matrix:
    """Replace infinite cells by the smallest or largest value of the training rows."""
    low, high = (np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in (least, greatest))
    found = graph.add("Where", graph.add("Equal", cells.tensor, np.inf), high, cells.tensor)
    return Matrix(graph.add("Where", graph.add("Equal", found, -np.inf), low, found), cells.width)


def keep_columns(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Columns:
    if len(fitted.dates):
        raise refused(fitted.dates[0], "dates")
    columns = named(table, fitted)
    by_name = {one.name: one for one in columns}
    for name, (least, greatest) in fitted.reach_.items():
        cells = finite(Matrix(by_name[name].tensor, 1), [least], [greatest], graph)
        by_name[name] = replace(by_name[name], tensor=cells.tensor)
    return [by_name[name] for name in fitted.columns]


def named(table: ColumnTensors, fitted: Any) -> Columns:
    """Return columns that have names."""
    if isinstance(table, Matrix):
        name = type(fitted).__name__
        raise InputError(f"{name} cannot be exported to ONNX after a step that returns columns without names.")
    return table


def refuse_dates(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors:
    raise refused(fitted.feature_names_in_[0], "dates")


def refuse_text(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> ColumnTensors:
    raise refused(fitted.feature_names_in_[0], "free text")


def refused(name: str, content: str) -> InputError:
    """Say that a column cannot be exported."""
    words = f"column {name!r} contains {content}, which cannot be exported to ONNX."
    return InputError(words, "train the model without the column.")


def top_columns(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Columns:
    columns = named(table, fitted)
    by_name, passing = {one.name: one for one in columns}, set(fitted.passing)
    found = [one for one in columns if one.name in passing]
    for i in range(fitted.most):
        source = by_name[fitted.kept_[i]].tensor if i < len(fitted.kept_) else graph.zeros
        found.append(InputColumn(f"top {i + 1}", "number", source))
    return found


def select_informative(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Columns:
    blank = set(fitted.blank_)
    return [emptied(one, graph) if one.name in blank else one for one in named(table, fitted)]


def emptied(column: InputColumn, graph: OnnxGraph) -> InputColumn:
    """Return a column of missing cells."""
    if column.kind == "text":
        gaps = graph.add("Gather", np.array([column.gap], dtype=object), graph.add("Cast", graph.zeros, to=INT64))
        return replace(column, tensor=gaps)
    return replace(column, tensor=graph.repeated([np.nan]))


def imputer(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    if any(isinstance(value, str) for value in fitted.statistics_.tolist()):
        raise InputError(
            "SimpleImputer of text cannot be exported to ONNX.", "use TableEncoder() instead of it and its encoder."
        )
    cells = graph.matrix(table)
    values = np.asarray(fitted.statistics_, dtype=np.float64)
    empty = np.isnan(values)
    gaps = graph.add("IsNaN", cells.tensor)
    filled = Matrix(graph.add("Where", gaps, np.where(empty, 0.0, values)[None], cells.tensor), cells.width)
    if empty.any() and not fitted.keep_empty_features:
        filled = graph.take(filled, np.flatnonzero(~empty).tolist())
    marked = [] if fitted.indicator_ is None else fitted.indicator_.features_.tolist()
    if not marked:
        return filled
    return graph.beside([filled, graph.take(Matrix(graph.as_double(gaps), cells.width), marked)])


def standard_scaler(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    cells = graph.matrix(table)
    found = cells.tensor
    if fitted.mean_ is not None and fitted.with_mean:
        found = graph.add("Sub", found, np.asarray(fitted.mean_, dtype=np.float64)[None])
    if fitted.scale_ is not None:
        found = graph.add("Div", found, np.asarray(fitted.scale_, dtype=np.float64)[None])
    return Matrix(found, cells.width)


def minmax_scaler(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    if fitted.clip:
        raise InputError("MinMaxScaler(clip=True) cannot be exported to ONNX.", "fit it with clip=False.")
    cells = graph.matrix(table)
    found = graph.add("Mul", cells.tensor, np.asarray(fitted.scale_, dtype=np.float64)[None])
    return Matrix(graph.add("Add", found, np.asarray(fitted.min_, dtype=np.float64)[None]), cells.width)
