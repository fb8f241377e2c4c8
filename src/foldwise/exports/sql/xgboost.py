"""SQL of XGBoost. It adds leaves in single precision, so that sums of doubles differ by about 1e-7."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.sql.forests import ValueTree, summed_values
from foldwise.exports.sql.outputs import ClassOutput, from_log_odds
from foldwise.exports.sql.program import Feature, Input, SqlProgram
from foldwise.exports.sql.trees import TreeNodes, at_most, below_as_at_most, double_threshold

LINKS = {"binary:logistic": "logit", "multi:softprob": "none", "reg:squarederror": "none"}


def raw_scores(model: Any, inputs: Sequence[Input], program: SqlProgram) -> list[str]:
    """Return one column per class, or a single one."""
    features = program.numbers(inputs)
    booster = model.get_booster() if hasattr(model, "get_booster") else model  # a model from a file is the booster
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective, parameters = learner["objective"]["name"], learner["learner_model_param"]
    if objective not in LINKS or learner["gradient_booster"]["name"] != "gbtree":
        raise InputError(f"XGBoost with objective={objective!r} cannot be exported to SQL.", "use its default.")
    n_scores = max(int(parameters["num_class"]), 1)
    starts = np.broadcast_to(np.array(json.loads(parameters["base_score"].replace("E", "e")), np.float64), n_scores)
    if LINKS[objective] == "logit":
        starts = np.log(starts / (1 - starts))
    forest = learner["gradient_booster"]["model"]
    by_score: list[list[Any]] = [[] for _ in range(n_scores)]
    for tree, k in zip(forest["trees"], forest["tree_info"], strict=True):
        by_score[k].append(tree)
    return summed_values([boosted_nodes(own, features, program) for own in by_score], starts.tolist(), program)


def boosted_nodes(trees: Sequence[Any], features: Sequence[Feature], program: SqlProgram) -> Iterable[ValueTree]:
    """Return trees with their leaf values. A cell x, rounded to single precision, goes left if x < t."""
    for tree in trees:
        if any(tree["split_type"]):
            raise InputError(
                "XGBoost with enable_categorical=True cannot be exported to SQL.",
                "encode the categories first, for example with OneHotEncoder.",
            )
        left, right = tree["left_children"], tree["right_children"]
        conditions = np.array(tree["split_conditions"], dtype=np.float32)
        tests = [
            at_most(features[j], double_threshold(below_as_at_most(float(t))), bool(m), program) if child >= 0 else ""
            for j, t, m, child in zip(tree["split_indices"], conditions, tree["default_left"], left, strict=True)
        ]
        yield TreeNodes(left, right, tests), conditions.tolist()


def classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return from_log_odds(model.classes_, raw_scores(model, inputs, program), program)


def regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    (found,) = raw_scores(model, inputs, program)
    return found
