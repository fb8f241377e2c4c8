"""ONNX of boosted trees: scikit-learn's histogram gradient boosting, LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.exports.onnx.columns import ColumnTensors
from foldwise.exports.onnx.forests import summed_values
from foldwise.exports.onnx.graph import OnnxGraph
from foldwise.exports.onnx.outputs import ClassTensors, from_log_odds
from foldwise.exports.trees.readers import read_boosted


def boosted_scores(model: Any, table: ColumnTensors, graph: OnnxGraph) -> tuple[str, int]:
    """Return the sums of boosted trees, and their number."""
    boosted = read_boosted(model)
    cells = graph.matrix(table)
    if boosted.known:  # other categories count as missing
        columns = [graph.column(cells.tensor, j) for j in range(cells.width)]
        for j, values in boosted.known.items():
            columns[j] = graph.lookup(columns[j], values, np.array(values, dtype=np.float64), np.nan)
        joined = graph.add("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
    else:
        joined = cells.tensor
    return summed_values(joined, boosted.forests, boosted.starts, graph), len(boosted.starts)


def classifier(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    return from_log_odds(model.classes_, *boosted_scores(model, table, graph), graph)


def regressor(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    return boosted_scores(model, table, graph)[0]
