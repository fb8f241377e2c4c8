"""Naive Bayes: one file per likelihood family, the estimator, the worked table and the worked calculation."""

from foldwise.bayes.estimator import NaiveBayes

__all__ = ["NaiveBayes"]
