"""Scores that are sums over columns, for many settings together: shared by the sessions of naive Bayes."""

from foldwise.folds.sums.coding import CodedTable
from foldwise.folds.sums.logs import BatchLogs, CountLogs
from foldwise.folds.sums.scores import CategoricalTerms, GaussianTerms, JointScores, LinearTerms

__all__ = ["BatchLogs", "CategoricalTerms", "CodedTable", "CountLogs", "GaussianTerms", "JointScores", "LinearTerms"]
