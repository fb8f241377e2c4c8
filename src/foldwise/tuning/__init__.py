"""Searches over settings with scikit-learn's interface, search strategies, and feature selection."""

from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.tuning.search import GridSearchCV, RandomizedSearchCV, SearchCV
from foldwise.tuning.select_features import SelectFeatures
from foldwise.tuning.strategies import Grid, Random, Strategy, Trial

__all__ = [
    "Grid",
    "GridSearchCV",
    "OutOfFoldAnswers",
    "Random",
    "RandomizedSearchCV",
    "SearchCV",
    "SelectFeatures",
    "Strategy",
    "Trial",
]
