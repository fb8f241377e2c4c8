"""k nearest neighbors for tables with numeric and categorical columns: the estimators, and how to choose k."""

from foldwise.neighbors.choose_k import KCurve, choose_k
from foldwise.neighbors.estimators import KNNClassifier, KNNRegressor

__all__ = ["KCurve", "KNNClassifier", "KNNRegressor", "choose_k"]
