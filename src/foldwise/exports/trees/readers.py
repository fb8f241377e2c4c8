"""Which function reads the trees of a boosted model, by the exact type of the model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foldwise.errors import InputError
from foldwise.exports.trees.splits import BoostedTrees

READERS = {
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": "histogram_boosting",
    "lightgbm.sklearn": "lightgbm",
    "xgboost.sklearn": "xgboost",
    "catboost.core": "catboost",
}
STORED = "foldwise.storage.codecs.boosters"  # of model files


def read_boosted(model: Any) -> BoostedTrees:
    """Read the trees of a boosted classifier or regressor."""
    if type(model).__name__ == "HistGradientBoostingRegressor" and model.loss not in (
        "squared_error",
        "absolute_error",
    ):
        raise InputError(
            f"HistGradientBoostingRegressor with loss={model.loss!r} cannot be exported.", "use its default."
        )
    is_stored = type(model).__module__ == STORED
    reader = import_module(f"foldwise.exports.trees.{model.library if is_stored else READERS[type(model).__module__]}")
    found: BoostedTrees = reader.read(model.booster if is_stored else model)
    return found
