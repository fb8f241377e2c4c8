"""Naive Bayes for tables with columns of any kind: the estimator `NaiveBayes`."""

from foldwise.bayes.estimator import NaiveBayes

__all__ = ["NaiveBayes"]
