"""Scores that are sums over columns, for many settings at once: the work that naive Bayes sessions share."""

from foldwise.folds.sums.coding import CodedTable
from foldwise.folds.sums.logs import CountLogs, PriorLogs
from foldwise.folds.sums.scores import CategoricalTerms, GaussianTerms, JointScores, LinearTerms

__all__ = ["CategoricalTerms", "CodedTable", "CountLogs", "GaussianTerms", "JointScores", "LinearTerms", "PriorLogs"]
