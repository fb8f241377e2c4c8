"""SQL of scikit-learn's histogram gradient boosting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.sql.forests import ValueTree, summed_values
from foldwise.exports.sql.outputs import ClassOutput, from_log_odds
from foldwise.exports.sql.program import Feature, Input, SqlProgram
from foldwise.exports.sql.trees import TreeNodes, among, at_most


def raw_scores(model: Any, inputs: Sequence[Input], program: SqlProgram) -> list[str]:
    """Return one column per class, or a single one."""
    features = numbered_categories(model, program.numbers(inputs), program)
    starts = np.ravel(model._baseline_prediction).tolist()
    forests = [boosted_nodes(model, k, features, program) for k in range(len(starts))]
    return summed_values(forests, starts, program)


def numbered_categories(model: Any, features: list[Feature], program: SqlProgram) -> list[Feature]:
    """Return the features in the order of the trees, with categories as the numbers that trees split by.

    The estimator encodes categories by their index among the known ones, and moves them to the front.
    """
    mask = model.is_categorical_
    if mask is None or not mask.any():
        return features
    encoder = model._preprocessor.named_transformers_["encoder"]
    columns = np.flatnonzero(mask)
    front = []
    for j, categories in zip(columns.tolist(), encoder.categories_, strict=True):
        cell = features[j].as_value(program.dialect)
        known = [value for value in categories.tolist() if not (isinstance(value, float) and np.isnan(value))]
        whens = " ".join(
            f"WHEN {cell} = {program.number(value)} THEN {program.number(i)}" for i, value in enumerate(known)
        )
        front.append(Feature(f"CASE {whens} END" if whens else "NULL"))
    rest = [feature for j, feature in enumerate(features) if not mask[j]]
    return program.numbers([*front, *rest])


def boosted_nodes(model: Any, k: int, features: Sequence[Feature], program: SqlProgram) -> Iterable[ValueTree]:
    """Return the trees of one class with their leaf values."""
    for stage in model._predictors:
        tree = stage[k]
        nodes = tree.nodes
        is_leaf = nodes["is_leaf"].astype(bool)
        tests = []
        for i, node in enumerate(nodes):
            if is_leaf[i]:
                tests.append("")
                continue
            feature, missing_left = features[int(node["feature_idx"])], bool(node["missing_go_to_left"])
            if node["is_categorical"]:
                bits = tree.raw_left_cat_bitsets[int(node["bitset_idx"])]
                left = [float(v) for v in range(256) if bits[v // 32] >> (v % 32) & 1]
                tests.append(among(feature, left, missing_left, program))
            elif np.isinf(node["num_threshold"]):  # splits missing from present cells
                tests.append(f"{feature.expression} IS NOT NULL" if not missing_left else "1 = 1")
            else:
                tests.append(at_most(feature, float(node["num_threshold"]), missing_left, program))
        left, right = (np.where(is_leaf, -1, nodes[side].astype(np.int64)).tolist() for side in ("left", "right"))
        yield TreeNodes(left, right, tests), nodes["value"].tolist()


def classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return from_log_odds(model.classes_, raw_scores(model, inputs, program), program)


def regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    if model.loss not in ("squared_error", "absolute_error", "quantile"):
        raise InputError(f"HistGradientBoostingRegressor with loss={model.loss!r} cannot be exported to SQL.")
    return raw_scores(model, inputs, program)[0]
