"""Forms of their own: JSON and arrays for our estimators, their own text or binary form for boosters."""

from __future__ import annotations

from foldwise.storage.codecs import bayes, boosters, neighbors
from foldwise.storage.codecs.protocol import Codec, Stored

CODECS: dict[str, Codec] = {
    "foldwise.NaiveBayes": bayes,
    "foldwise.KNNClassifier": neighbors,
    "lightgbm.LGBMClassifier": boosters.LIGHTGBM,
    "xgboost.XGBClassifier": boosters.XGBOOST,
    "catboost.CatBoostClassifier": boosters.CATBOOST,
    "foldwise.BoosterModel": boosters.AGAIN,
}

__all__ = ["CODECS", "Codec", "Stored"]
