"""Search spaces, strategies, and searches in the shape of scikit-learn's, answered by fold sessions."""

from foldwise.evaluation.kept import Kept
from foldwise.tuning.search import GridSearchCV, RandomizedSearchCV, SearchCV
from foldwise.tuning.select_features import SelectFeatures
from foldwise.tuning.strategies import Grid, Random, Strategy, Trial

__all__ = [
    "Grid",
    "GridSearchCV",
    "Kept",
    "Random",
    "RandomizedSearchCV",
    "SearchCV",
    "SelectFeatures",
    "Strategy",
    "Trial",
]
