"""Searches over settings with scikit-learn's interface, search strategies, and feature selection."""

from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.tuning.ask_tell import AskTell
from foldwise.tuning.dimensions import Choice, Float, Int
from foldwise.tuning.halving import HalvingGridSearchCV, HalvingRandomSearchCV
from foldwise.tuning.penalty_factors import PenaltyFactors
from foldwise.tuning.pictures import LivePlot, plot_search
from foldwise.tuning.racing import Racing
from foldwise.tuning.search import GridSearchCV, RandomizedSearchCV, SearchCV
from foldwise.tuning.select_features import SelectFeatures
from foldwise.tuning.strategies.bayesian import Bayesian
from foldwise.tuning.strategies.evolutionary import Evolutionary
from foldwise.tuning.strategies.gradient import Gradient
from foldwise.tuning.strategies.grid import Design, Grid
from foldwise.tuning.strategies.manual import Manual
from foldwise.tuning.strategies.optuna import CMAES, TPE
from foldwise.tuning.strategies.protocol import Strategy, Trial
from foldwise.tuning.strategies.random import Random

__all__ = [
    "CMAES",
    "TPE",
    "AskTell",
    "Bayesian",
    "Choice",
    "Design",
    "Evolutionary",
    "Float",
    "Gradient",
    "Grid",
    "GridSearchCV",
    "HalvingGridSearchCV",
    "HalvingRandomSearchCV",
    "Int",
    "LivePlot",
    "Manual",
    "OutOfFoldAnswers",
    "PenaltyFactors",
    "Racing",
    "Random",
    "RandomizedSearchCV",
    "SearchCV",
    "SelectFeatures",
    "Strategy",
    "Trial",
    "plot_search",
]
