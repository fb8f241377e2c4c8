"""The trees of XGBoost. It adds leaves in single precision, so that sums of doubles differ by about 1e-7."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.trees.splits import BoostedTrees, SplitTree, below_as_at_most, double_threshold

LINKS = {"binary:logistic": "logit", "multi:softprob": "none", "reg:squarederror": "none"}


def read(model: Any) -> BoostedTrees:
    """Read the trees of a classifier or a regressor."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model  # a model from a file is the booster
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective, parameters = learner["objective"]["name"], learner["learner_model_param"]
    if objective not in LINKS or learner["gradient_booster"]["name"] != "gbtree":
        raise InputError(f"XGBoost with objective={objective!r} cannot be exported.", "use its default.")
    n_scores = max(int(parameters["num_class"]), 1)
    starts = np.broadcast_to(np.array(json.loads(parameters["base_score"].replace("E", "e")), np.float64), n_scores)
    if LINKS[objective] == "logit":
        starts = np.log(starts / (1 - starts))
    forest = learner["gradient_booster"]["model"]
    by_score: list[list[Any]] = [[] for _ in range(n_scores)]
    for tree, k in zip(forest["trees"], forest["tree_info"], strict=True):
        by_score[k].append(tree)
    return BoostedTrees(starts.tolist(), [boosted(own) for own in by_score])


def boosted(trees: Sequence[Any]) -> Iterable[SplitTree]:
    """Read trees. A cell x, rounded to single precision, goes left if x < t."""
    for tree in trees:
        if any(tree["split_type"]):
            raise InputError(
                "XGBoost with enable_categorical=True cannot be exported.",
                "encode the categories first, for example with OneHotEncoder.",
            )
        left, right = tree["left_children"], tree["right_children"]
        conditions = np.array(tree["split_conditions"], dtype=np.float32)
        thresholds = [
            double_threshold(below_as_at_most(float(t))) if child >= 0 else 0.0
            for t, child in zip(conditions, left, strict=True)
        ]
        missing = [bool(one) for one in tree["default_left"]]
        yield SplitTree(left, right, tree["split_indices"], thresholds, missing, conditions.astype(np.float64))
