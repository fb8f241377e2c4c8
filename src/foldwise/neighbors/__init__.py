"""k nearest neighbors for mixed tables: distances, the space they are measured in, an exact search, the estimators."""

from foldwise.neighbors.choose_k import KCurve, choose_k
from foldwise.neighbors.estimators import KNNClassifier, KNNRegressor

__all__ = ["KCurve", "KNNClassifier", "KNNRegressor", "choose_k"]
