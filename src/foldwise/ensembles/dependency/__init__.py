"""Dependencies: whether members are trained independently or one after the other."""

from foldwise.ensembles.dependency.boosting import AdaBoost, Residuals
from foldwise.ensembles.dependency.decorate import Decorate
from foldwise.ensembles.training import Independent

DEPENDENCIES = {"independent": Independent, "adaboost": AdaBoost, "residuals": Residuals, "decorate": Decorate}

__all__ = ["AdaBoost", "Decorate", "Independent", "Residuals"]
