"""The trees of CatBoost with numbers and one-hot categories. All nodes of a level ask the same question."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.trees.splits import BoostedTrees, SplitTree, double_threshold

CODES = range(-1, 1000)  # whole numbers that a category may be


def read(model: Any) -> BoostedTrees:
    """Read the trees of a classifier or a regressor."""
    told = described(model)
    if "oblivious_trees" not in told:
        raise InputError("CatBoost with a grow_policy cannot be exported.", "use grow_policy='SymmetricTree'.")
    scale, starts = told["scale_and_bias"]
    hashes = category_hashes(model, told)
    forests = [boosted(told, k, len(starts), float(scale), hashes) for k in range(len(starts))]
    return BoostedTrees([float(start) for start in starts], forests)


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


def boosted(told: dict[str, Any], k: int, n_scores: int, scale: float, hashes: dict[int, int]) -> Iterable[SplitTree]:
    """Read the trees of one score. Split i decides bit i of the index of a leaf, so the last one is the root."""
    for tree in told["oblivious_trees"]:
        splits = [split_of(one, told["features_info"], hashes) for one in reversed(tree["splits"] or [])]
        n_inner = 2 ** len(splits) - 1
        n_nodes = 2 * n_inner + 1
        by_node = [splits[(i + 1).bit_length() - 1] for i in range(n_inner)]
        # a row whose category equals the value has bit 1, but goes left
        swapped = [codes is not None for _, _, _, codes in by_node]
        left = [2 * i + 1 + swapped[i] if i < n_inner else -1 for i in range(n_nodes)]
        right = [2 * i + 2 - swapped[i] if i < n_inner else -1 for i in range(n_nodes)]
        filled = [*by_node, *[(0, 0.0, False, None)] * (n_nodes - n_inner)]
        features, thresholds, missing, codes = zip(*filled, strict=True)
        values = scale * np.array(tree["leaf_values"], dtype=np.float64)[k::n_scores]
        among = {i: one for i, one in enumerate(codes) if one is not None}
        yield SplitTree(left, right, features, thresholds, missing, np.concatenate([np.zeros(n_inner), values]), among)


def split_of(
    split: Any, info: Any, hashes: dict[int, int]
) -> tuple[int, float, bool, list[float] | None]:  # feature, threshold, missing cells go left, codes that go left
    """Return one split."""
    if split["split_type"] == "FloatFeature":
        own = info["float_features"][split["float_feature_index"]]
        missing_zero = own["nan_value_treatment"] != "AsTrue"
        return own["flat_feature_index"], double_threshold(float(split["border"])), missing_zero, None
    if split["split_type"] == "OneHotFeature":
        own = info["categorical_features"][split["cat_feature_index"]]
        if split["value"] not in hashes:
            raise InputError("a category of CatBoost is not a whole number, so it cannot be exported.")
        return own["flat_feature_index"], 0.0, False, [float(hashes[split["value"]])]
    raise InputError(
        "CatBoost with categories of many levels uses statistics of the target, which cannot be exported.",
        "set one_hot_max_size above the number of levels, or leave CatBoost out.",
    )
