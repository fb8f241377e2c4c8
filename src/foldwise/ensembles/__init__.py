"""Ensembles composed from four blocks, and recipes for well-known ensembles.

The blocks and the recipes are listed in `__all__` of their modules.
"""

# ruff: noqa: F403
from foldwise.ensembles import blocks, combiners, dependency, diversity, mixed_recipes, protocol, recipes, sizes
from foldwise.ensembles.blocks import *
from foldwise.ensembles.combiners import *
from foldwise.ensembles.dependency import *
from foldwise.ensembles.diagnosis import Diagnosis, diagnose
from foldwise.ensembles.diversity import *
from foldwise.ensembles.ensemble import Ensemble, EnsembleRegressor
from foldwise.ensembles.greedy import GreedyResult, select_greedily
from foldwise.ensembles.mixed_recipes import *
from foldwise.ensembles.protocol import *
from foldwise.ensembles.recipes import *
from foldwise.ensembles.regressor_diagnosis import RegressorDiagnosis
from foldwise.ensembles.resampling import BiasVariance, BootstrapResult, bias_variance, bootstrap
from foldwise.ensembles.sizes import *

__all__ = ["BiasVariance", "BootstrapResult", "Diagnosis", "Ensemble", "EnsembleRegressor", "GreedyResult"]
__all__ += ["RegressorDiagnosis", "bias_variance", "bootstrap", "diagnose", "select_greedily"]
__all__ += blocks.__all__ + combiners.__all__ + dependency.__all__ + diversity.__all__
__all__ += mixed_recipes.__all__ + protocol.__all__ + recipes.__all__ + sizes.__all__
