"""The trees of scikit-learn's histogram gradient boosting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sklearn

from foldwise.adapters.support import SKLEARN, missing_attributes, missing_reason
from foldwise.errors import InputError
from foldwise.exports.trees.splits import BoostedTrees, SplitTree

PRIVATE = ("_baseline_prediction", "_predictors", "_preprocessor")  # attributes of fitted models


def read(model: Any) -> BoostedTrees:
    """Read the trees of a classifier or a regressor.

    The estimator moves categories to the front and encodes them by their index among the known ones. Here they keep
    their positions and values.
    """
    missing = missing_attributes(model, PRIVATE)
    if missing:
        raise InputError(
            f"histogram gradient boosting of scikit-learn {sklearn.__version__} cannot be exported: "
            f"{missing_reason(missing)}.",
            f"use version {SKLEARN.tested}.",
        )
    starts = np.ravel(model._baseline_prediction).tolist()
    mask, known = model.is_categorical_, {}
    order = list(range(model.n_features_in_))
    if mask is not None and mask.any():
        encoder = model._preprocessor.named_transformers_["encoder"]
        columns = np.flatnonzero(mask).tolist()
        order = [*columns, *np.flatnonzero(~mask).tolist()]
        for j, categories in zip(columns, encoder.categories_, strict=True):
            if not all(isinstance(value, int | float) for value in categories.tolist()):
                raise InputError(
                    "histogram gradient boosting with categories of text cannot be exported.",
                    'encode them first, with TableEncoder("codes").',
                )
            known[j] = [value for value in map(float, categories.tolist()) if not np.isnan(value)]
    return BoostedTrees(starts, [boosted(model, k, order, known) for k in range(len(starts))], known)


def boosted(model: Any, k: int, order: Sequence[int], known: dict[int, list[float]]) -> Iterable[SplitTree]:
    """Read the trees of one score."""
    for stage in model._predictors:
        tree = stage[k]
        nodes = tree.nodes
        is_leaf = nodes["is_leaf"].astype(bool)
        left, right = (np.where(is_leaf, -1, nodes[side].astype(np.int64)).tolist() for side in ("left", "right"))
        feature = [order[i] for i in nodes["feature_idx"].tolist()]
        among = {}
        for i in np.flatnonzero(~is_leaf & nodes["is_categorical"].astype(bool)).tolist():
            bits = tree.raw_left_cat_bitsets[int(nodes["bitset_idx"][i])]
            values = known[feature[i]]
            among[i] = [values[v] for v in range(len(values)) if bits[v // 32] >> (v % 32) & 1]
        missing = nodes["missing_go_to_left"].astype(bool).tolist()
        yield SplitTree(left, right, feature, nodes["num_threshold"].tolist(), missing, nodes["value"].copy(), among)
