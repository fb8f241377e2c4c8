"""Estimators with a file format of their own: JSON and arrays for those of Foldwise, native formats for boosters."""

from __future__ import annotations

from foldwise.storage.codecs import bayes, boosters, neighbors
from foldwise.storage.codecs.formats import Codec, Files

CODECS: dict[str, Codec] = {  # by the tag in the file, which never changes its meaning
    "naive_bayes": bayes,
    "knn": neighbors,
    "booster": boosters,
}
CODEC_TAGS = {  # by package and class, so that no library needs to be imported
    "foldwise.NaiveBayes": "naive_bayes",
    "foldwise.KNNClassifier": "knn",
    "foldwise.KNNRegressor": "knn",
    "lightgbm.LGBMClassifier": "booster",
    "lightgbm.LGBMRegressor": "booster",
    "xgboost.XGBClassifier": "booster",
    "xgboost.XGBRegressor": "booster",
    "catboost.CatBoostClassifier": "booster",
    "catboost.CatBoostRegressor": "booster",
    "foldwise.BoosterModel": "booster",
    "foldwise.BoosterRegressor": "booster",
}

__all__ = ["CODECS", "CODEC_TAGS", "Codec", "Files"]
