"""The k nearest rows of a mixed table: distances, the space they are measured in, an exact search, the estimators."""

from foldwise.neighbors.choose_k import KCurve, choose_k
from foldwise.neighbors.classifier import KNNClassifier
from foldwise.neighbors.regressor import KNNRegressor

__all__ = ["KCurve", "KNNClassifier", "KNNRegressor", "choose_k"]
