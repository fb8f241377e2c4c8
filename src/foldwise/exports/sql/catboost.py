"""SQL of CatBoost with numbers and one-hot categories. All nodes of a level of its trees ask the same question."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.sql.forests import ValueTree, summed_values
from foldwise.exports.sql.outputs import ClassOutput, from_log_odds
from foldwise.exports.sql.program import Feature, Input, SqlProgram
from foldwise.exports.sql.trees import TreeNodes, at_most, double_threshold

CODES = range(-1, 1000)  # whole numbers that a category may be


def raw_scores(model: Any, inputs: Sequence[Input], program: SqlProgram) -> list[str]:
    """Return one column per class, or a single one."""
    features = program.numbers(inputs)
    told = described(model)
    if "oblivious_trees" not in told:
        raise InputError("CatBoost with a grow_policy cannot be exported to SQL.", "use grow_policy='SymmetricTree'.")
    scale, starts = told["scale_and_bias"]
    hashes = category_hashes(model, told)
    forests = [boosted_nodes(told, k, len(starts), float(scale), features, hashes, program) for k in range(len(starts))]
    return summed_values(forests, starts, program)


def described(model: Any) -> dict[str, Any]:
    """Return the trees as the library describes them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def category_hashes(model: Any, told: dict[str, Any]) -> dict[int, int]:
    """Return the code of each hash by which CatBoost knows a category."""
    categorical = told["features_info"].get("categorical_features", [])
    if not any("values" in one for one in categorical):
        return {}
    from catboost import Pool

    indices = [one["flat_feature_index"] for one in categorical]
    n_features = len(categorical) + len(told["features_info"].get("float_features", []))
    rows = [[code if j in indices else 0.0 for j in range(n_features)] for code in CODES]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.py"
        model.save_model(str(path), format="python", pool=Pool(rows, cat_features=indices))
        text = path.read_text(encoding="utf-8")
    listed = text[text.index("cat_features_hashes") :]
    pairs = re.findall(r'"(-?\d+)"\s*:\s*(-?\d+)', listed[: listed.index("}")])
    return {
        int(np.array(int(hashed) & 0xFFFFFFFF, dtype=np.uint32).view(np.int32)): int(code) for code, hashed in pairs
    }


def boosted_nodes(
    told: dict[str, Any],
    k: int,
    n_scores: int,
    scale: float,
    features: Sequence[Feature],
    hashes: dict[int, int],
    program: SqlProgram,
) -> Iterable[ValueTree]:
    """Return the trees of one score. Split i decides bit i of the index of a leaf, so the last one is the root."""
    for tree in told["oblivious_trees"]:
        splits = tree["splits"] or []
        depth = len(splits)
        tests = [test_of(split, told["features_info"], features, hashes, program) for split in reversed(splits)]
        n_inner = 2**depth - 1
        left = [2 * i + 1 if i < n_inner else -1 for i in range(2 * n_inner + 1)]
        right = [2 * i + 2 if i < n_inner else -1 for i in range(2 * n_inner + 1)]
        by_node = [tests[(i + 1).bit_length() - 1] if i < n_inner else "" for i in range(2 * n_inner + 1)]
        values = scale * np.array(tree["leaf_values"], dtype=np.float64)[k::n_scores]
        yield TreeNodes(left, right, by_node), [0.0] * n_inner + values.tolist()


def test_of(split: Any, info: Any, features: Sequence[Feature], hashes: dict[int, int], program: SqlProgram) -> str:
    """Return the condition under which the bit of a split is 0."""
    if split["split_type"] == "FloatFeature":
        own = info["float_features"][split["float_feature_index"]]
        feature = features[own["flat_feature_index"]]
        missing_zero = own["nan_value_treatment"] != "AsTrue"
        return at_most(feature, double_threshold(float(split["border"])), missing_zero, program)
    if split["split_type"] == "OneHotFeature":
        own = info["categorical_features"][split["cat_feature_index"]]
        x = features[own["flat_feature_index"]].as_value(program.dialect)
        if split["value"] not in hashes:
            raise InputError("a category of CatBoost is not a whole number, so it cannot be exported to SQL.")
        return f"{x} <> {program.number(float(hashes[split['value']]))}"
    raise InputError(
        "CatBoost with categories of many levels uses statistics of the target, which cannot be exported to SQL.",
        "set one_hot_max_size above the number of levels, or leave CatBoost out.",
    )


def classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return from_log_odds(model.classes_, raw_scores(model, inputs, program), program)


def regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    (found,) = raw_scores(model, inputs, program)
    return found
