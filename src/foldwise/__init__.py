"""Foldwise: from a table to a tuned, honestly evaluated, explained classifier.

The names below are loaded when first used, so `import foldwise` itself costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldwise.app.result import Run
    from foldwise.app.run import fit
    from foldwise.bayes import NaiveBayes
    from foldwise.data import Column, Schema, Table, read_table
    from foldwise.decisions import Balanced, Calibrated, CostSensitive, reliability
    from foldwise.ensembles import Ensemble, EnsembleRegressor
    from foldwise.evaluation import (
        Confusion,
        CostMatrix,
        Estimate,
        bias_corrected,
        compare,
        compare_tables,
        cross_predict,
        duplicate_groups,
        estimate,
        find_leaks,
        learning_curve,
        nested_cv,
        validation_curve,
    )
    from foldwise.models import ModelSpec, catalogue, models_for
    from foldwise.neighbors import KNNClassifier, KNNRegressor, choose_k
    from foldwise.storage import StoredModel, open_model, save_model
    from foldwise.tuning import GridSearchCV, RandomizedSearchCV, SearchCV, SelectFeatures

__version__ = "0.1.0.dev0"

_HOMES = {
    "Balanced": "foldwise.decisions",
    "Calibrated": "foldwise.decisions",
    "Column": "foldwise.data",
    "Confusion": "foldwise.evaluation",
    "CostMatrix": "foldwise.evaluation",
    "CostSensitive": "foldwise.decisions",
    "Ensemble": "foldwise.ensembles",
    "EnsembleRegressor": "foldwise.ensembles",
    "Estimate": "foldwise.evaluation",
    "GridSearchCV": "foldwise.tuning",
    "KNNClassifier": "foldwise.neighbors",
    "KNNRegressor": "foldwise.neighbors",
    "ModelSpec": "foldwise.models",
    "NaiveBayes": "foldwise.bayes",
    "RandomizedSearchCV": "foldwise.tuning",
    "Run": "foldwise.app.result",
    "Schema": "foldwise.data",
    "SearchCV": "foldwise.tuning",
    "SelectFeatures": "foldwise.tuning",
    "StoredModel": "foldwise.storage",
    "Table": "foldwise.data",
    "bias_corrected": "foldwise.evaluation",
    "catalogue": "foldwise.models",
    "choose_k": "foldwise.neighbors",
    "compare": "foldwise.evaluation",
    "compare_tables": "foldwise.evaluation",
    "cross_predict": "foldwise.evaluation",
    "duplicate_groups": "foldwise.evaluation",
    "estimate": "foldwise.evaluation",
    "find_leaks": "foldwise.evaluation",
    "fit": "foldwise.app.run",
    "learning_curve": "foldwise.evaluation",
    "models_for": "foldwise.models",
    "nested_cv": "foldwise.evaluation",
    "open_model": "foldwise.storage",
    "read_table": "foldwise.data",
    "reliability": "foldwise.decisions",
    "save_model": "foldwise.storage",
    "validation_curve": "foldwise.evaluation",
}

__all__ = [
    "Balanced",
    "Calibrated",
    "Column",
    "Confusion",
    "CostMatrix",
    "CostSensitive",
    "Ensemble",
    "EnsembleRegressor",
    "Estimate",
    "GridSearchCV",
    "KNNClassifier",
    "KNNRegressor",
    "ModelSpec",
    "NaiveBayes",
    "RandomizedSearchCV",
    "Run",
    "Schema",
    "SearchCV",
    "SelectFeatures",
    "StoredModel",
    "Table",
    "__version__",
    "bias_corrected",
    "catalogue",
    "choose_k",
    "compare",
    "compare_tables",
    "cross_predict",
    "duplicate_groups",
    "estimate",
    "find_leaks",
    "fit",
    "learning_curve",
    "models_for",
    "nested_cv",
    "open_model",
    "read_table",
    "reliability",
    "save_model",
    "validation_curve",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'foldwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
