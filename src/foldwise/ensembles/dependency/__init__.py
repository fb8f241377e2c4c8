"""Whether members know of each other while they are trained: one file a way."""

from foldwise.ensembles.dependency.adaboost import AdaBoost
from foldwise.ensembles.dependency.decorate import Decorate
from foldwise.ensembles.dependency.independent import Independent
from foldwise.ensembles.dependency.residuals import Residuals

DEPENDENCIES = {"independent": Independent, "adaboost": AdaBoost, "residuals": Residuals, "decorate": Decorate}

__all__ = ["DEPENDENCIES", "AdaBoost", "Decorate", "Independent", "Residuals"]
