"""Searches in the shape of scikit-learn's, answered by fold sessions."""

from foldwise.tuning.search import GridSearchCV, RandomizedSearchCV

__all__ = ["GridSearchCV", "RandomizedSearchCV"]
