"""Estimators with a file format of their own: JSON and arrays for ours, their libraries' formats for boosters."""

from __future__ import annotations

from foldwise.storage.codecs import bayes, boosters, neighbors
from foldwise.storage.codecs.formats import Codec, Files

CODECS: dict[str, Codec] = {  # by the tag that the file holds, which never changes its meaning
    "naive_bayes": bayes,
    "knn": neighbors,
    "booster": boosters,
}
CODEC_TAGS = {  # by package and class, so that no library is loaded to find out
    "foldwise.NaiveBayes": "naive_bayes",
    "foldwise.KNNClassifier": "knn",
    "lightgbm.LGBMClassifier": "booster",
    "xgboost.XGBClassifier": "booster",
    "catboost.CatBoostClassifier": "booster",
    "foldwise.BoosterModel": "booster",
}

__all__ = ["CODECS", "CODEC_TAGS", "Codec", "Files"]
