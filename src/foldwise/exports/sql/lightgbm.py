"""SQL of LightGBM, read from the description that the library itself writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from foldwise.errors import InputError
from foldwise.exports.sql.forests import ValueTree, summed_values
from foldwise.exports.sql.outputs import ClassOutput, from_log_odds
from foldwise.exports.sql.program import Feature, Input, SqlProgram
from foldwise.exports.sql.trees import TreeNodes, among, at_most

NEAR_ZERO = 1e-35  # cells up to this size are 0 for LightGBM


def raw_scores(model: Any, inputs: Sequence[Input], program: SqlProgram) -> list[str]:
    """Return one column per class, or a single one."""
    features = program.numbers(inputs)
    told = getattr(model, "booster_", model).dump_model()  # a model from a file is the booster itself
    if told["average_output"]:
        raise InputError("LightGBM's random forests cannot be exported to SQL.", "use boosting_type='gbdt'.")
    n_scores = told["num_tree_per_iteration"]
    forests = [boosted_nodes(told["tree_info"][k::n_scores], features, program) for k in range(n_scores)]
    return summed_values(forests, [0.0] * n_scores, program)


def boosted_nodes(trees: Sequence[Any], features: Sequence[Feature], program: SqlProgram) -> Iterable[ValueTree]:
    """Return trees with their leaf values."""
    for tree in trees:
        left: list[int] = []
        right: list[int] = []
        tests: list[str] = []
        values: list[float] = []
        pending = [tree["tree_structure"]]
        while pending:  # children get the indices behind all nodes that are known so far
            node = pending.pop(0)
            index = len(left)
            if "split_feature" in node:
                first = index + len(pending) + 1
                left.append(first)
                right.append(first + 1)
                tests.append(test_of(node, features, program))
                values.append(0.0)
                pending += [node["left_child"], node["right_child"]]
            else:
                left.append(-1)
                right.append(-1)
                tests.append("")
                values.append(float(node["leaf_value"]))
        yield TreeNodes(left, right, tests), values


def test_of(node: Any, features: Sequence[Feature], program: SqlProgram) -> str:
    """Return the condition under which a row goes to the left child."""
    feature = features[node["split_feature"]]
    if node["decision_type"] == "==":  # missing and unknown categories go to the right
        return among(feature, [float(code) for code in str(node["threshold"]).split("||")], False, program)
    threshold, missing, default_left = float(node["threshold"]), node["missing_type"], bool(node["default_left"])
    if missing == "NaN":
        return at_most(feature, threshold, default_left, program)
    if missing == "None":  # a missing cell counts as 0
        return at_most(feature, threshold, threshold >= 0.0, program)
    x, small = feature.as_value(program.dialect), program.number(NEAR_ZERO)
    zero = f"COALESCE(ABS({x}), {program.number(0.0)}) <= {small}"
    other = at_most(feature, threshold, False, program)
    return f"({zero} OR {other})" if default_left else f"(NOT ({zero}) AND {other})"


def classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return from_log_odds(model.classes_, raw_scores(model, inputs, program), program)


def regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    objective = getattr(model, "booster_", model).dump_model()["objective"].split()[0]
    if objective not in ("regression", "regression_l1", "huber", "fair", "quantile", "mape"):
        raise InputError(f"LightGBM with objective={objective!r} cannot be exported to SQL.", "use its default.")
    (found,) = raw_scores(model, inputs, program)
    return found
