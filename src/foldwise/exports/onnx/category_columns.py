"""ONNX of the transformers of categories: codes, one-hot columns, and encodings by the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.onnx.columns import ColumnTensors, named
from foldwise.exports.onnx.graph import Matrix, OnnxGraph


def category_codes(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    nothing = np.nan if fitted.unseen == "missing" else -1.0
    found = []
    for column, levels, has_rare in zip(named(table, fitted), fitted.levels_, fitted.has_rare_, strict=True):
        slots = np.array([*range(len(levels)), np.nan, len(levels) if has_rare else nothing])
        cells = graph.add("Gather", slots, graph.codes(column, levels)) if levels else graph.zeros
        found.append(Matrix(cells, 1))
    return graph.beside(found)


def categorical_frame(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    """Codes stay codes: for LightGBM a missing one is NaN, for CatBoost it is -1."""
    cells = graph.matrix(table)
    if fitted.kind == "category" or not fitted.n_codes:
        return cells
    is_code = np.arange(cells.width)[None] < fitted.n_codes
    gaps = graph.add("And", graph.add("IsNaN", cells.tensor), is_code)
    return Matrix(graph.add("Where", gaps, -1.0, cells.tensor), cells.width)


def one_hot(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    if fitted.drop is not None or fitted.min_frequency is not None or fitted.max_categories is not None:
        raise InputError(
            "OneHotEncoder with drop, min_frequency or max_categories cannot be exported to ONNX.",
            "fit it without these parameters.",
        )
    found = []
    for column, categories in zip(graph.columns(table), fitted.categories_, strict=True):
        levels = categories.tolist()
        present = [level for level in levels if not is_missing(level)]
        index = {level: i for i, level in enumerate(present)}
        slots = [len(present) if is_missing(level) else index[level] for level in levels]
        codes = graph.codes(column, present)
        found.append(Matrix(graph.as_double(graph.add("Equal", codes, np.array([slots]))), len(levels)))
    return graph.beside(found)


def is_missing(level: Any) -> bool:
    return level is None or (isinstance(level, float) and np.isnan(level))


def target_encoder(fitted: Any, table: ColumnTensors, graph: OnnxGraph) -> Matrix:
    """Look each code up among values; the last row of a table (values + 1, outputs) is for others."""
    cells = graph.matrix(table)
    found = []
    for j, (known, rates) in enumerate(zip(fitted.values_, fitted.tables(), strict=True)):
        indices = np.arange(len(known), dtype=np.int64)
        codes = graph.lookup(graph.column(cells.tensor, j), known.tolist(), indices, len(known))
        rows = graph.add("Gather", np.asarray(rates, dtype=np.float64), codes)  # (rows, 1, outputs)
        found.append(Matrix(graph.add("Squeeze", rows, np.array([1])), rates.shape[1]))
    return graph.beside(found)
