"""Forms of their own: JSON and arrays for our estimators, their own text or binary form for boosters."""

from __future__ import annotations

from foldwise.storage.codecs import bayes, boosters, neighbors
from foldwise.storage.codecs.protocol import Codec, Stored

CODECS: dict[str, Codec] = {  # by the tag that the file holds, which never changes its meaning
    "naive_bayes": bayes,
    "knn": neighbors,
    "lightgbm": boosters.LIGHTGBM,
    "xgboost": boosters.XGBOOST,
    "catboost": boosters.CATBOOST,
    "booster": boosters.AGAIN,
}
CODEC_TAGS = {  # by package and class, so that no library is loaded to find out
    "foldwise.NaiveBayes": "naive_bayes",
    "foldwise.KNNClassifier": "knn",
    "lightgbm.LGBMClassifier": "lightgbm",
    "xgboost.XGBClassifier": "xgboost",
    "catboost.CatBoostClassifier": "catboost",
    "foldwise.BoosterModel": "booster",
}

__all__ = ["CODECS", "CODEC_TAGS", "Codec", "Stored"]
