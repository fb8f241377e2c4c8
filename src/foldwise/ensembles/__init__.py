"""Ensembles from four building blocks, and the named recipes made of them."""

from foldwise.ensembles.combiners import Best, LogMean, Mean, Median, Sum, Vote, Weighted
from foldwise.ensembles.dependency import AdaBoost, Independent, Residuals
from foldwise.ensembles.diversity import (
    Bootstrap,
    ColumnParts,
    Pasting,
    Poisson,
    Recoded,
    RowParts,
    Settings,
    Subspaces,
    Together,
)
from foldwise.ensembles.ensemble import Ensemble, EnsembleRegressor
from foldwise.ensembles.protocol import Combiner, Crew, Dependency, Diversity, Lesson, Panel, Size, Task
from foldwise.ensembles.recipes import (
    adaboost,
    bagging,
    boosted_trees,
    majority_vote,
    pasting,
    random_forest,
    random_subspaces,
    weighted_vote,
)
from foldwise.ensembles.sizes import Fixed

__all__ = [
    "AdaBoost",
    "Best",
    "Bootstrap",
    "ColumnParts",
    "Combiner",
    "Crew",
    "Dependency",
    "Diversity",
    "Ensemble",
    "EnsembleRegressor",
    "Fixed",
    "Independent",
    "Lesson",
    "LogMean",
    "Mean",
    "Median",
    "Panel",
    "Pasting",
    "Poisson",
    "Recoded",
    "Residuals",
    "RowParts",
    "Settings",
    "Size",
    "Subspaces",
    "Sum",
    "Task",
    "Together",
    "Vote",
    "Weighted",
    "adaboost",
    "bagging",
    "boosted_trees",
    "majority_vote",
    "pasting",
    "random_forest",
    "random_subspaces",
    "weighted_vote",
]
