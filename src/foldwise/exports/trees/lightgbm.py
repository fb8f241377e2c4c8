"""The trees of LightGBM, read from the description that the library itself writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.trees.splits import BoostedTrees, SplitTree

OBJECTIVES = ("binary", "multiclass", "regression", "regression_l1", "huber", "fair", "quantile", "mape")


def read(model: Any) -> BoostedTrees:
    """Read the trees of a classifier or a regressor."""
    told = getattr(model, "booster_", model).dump_model()  # a model from a file is the booster itself
    if told["average_output"]:
        raise InputError("LightGBM's random forests cannot be exported.", "use boosting_type='gbdt'.")
    objective = told["objective"].split()[0]
    if objective not in OBJECTIVES:
        raise InputError(f"LightGBM with objective={objective!r} cannot be exported.", "use its default.")
    if any(levels != list(range(len(levels))) for levels in told.get("pandas_categorical") or ()):
        raise InputError(
            "LightGBM with columns of the type category cannot be exported.",
            'encode the categories first, with TableEncoder("codes").',
        )
    n_scores = told["num_tree_per_iteration"]
    return BoostedTrees([0.0] * n_scores, [boosted(told["tree_info"][k::n_scores]) for k in range(n_scores)])


def boosted(trees: Sequence[Any]) -> Iterable[SplitTree]:
    """Read trees; children get the indices behind all nodes that are known so far."""
    for tree in trees:
        nodes: list[Any] = []
        left: list[int] = []
        pending = [tree["tree_structure"]]
        while pending:
            node = pending.pop(0)
            is_split = "split_feature" in node
            left.append(len(nodes) + len(pending) + 1 if is_split else -1)
            nodes.append(node)
            pending += [node["left_child"], node["right_child"]] if is_split else []
        splits = [node if first >= 0 else None for node, first in zip(nodes, left, strict=True)]
        among = {
            i: [float(code) for code in str(node["threshold"]).split("||")]
            for i, node in enumerate(splits)
            if node is not None and node["decision_type"] == "=="
        }
        yield SplitTree(
            left,
            [first + 1 if first >= 0 else -1 for first in left],
            [0 if node is None else int(node["split_feature"]) for node in splits],
            [0.0 if node is None or i in among else float(node["threshold"]) for i, node in enumerate(splits)],
            [node is not None and i not in among and missing_left(node) for i, node in enumerate(splits)],
            np.array([float(node.get("leaf_value", 0.0)) for node in nodes]),
            among,
            frozenset(i for i, node in enumerate(splits) if node is not None and is_near_zero(node)),
        )


def is_near_zero(node: Any) -> bool:
    return bool(node["decision_type"] != "==" and node["missing_type"] == "Zero")


def missing_left(node: Any) -> bool:
    """Whether a missing cell goes left; without a direction of its own, it counts as 0."""
    return float(node["threshold"]) >= 0.0 if node["missing_type"] == "None" else bool(node["default_left"])
