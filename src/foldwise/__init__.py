"""Foldwise: from a table to a tuned, honestly evaluated, explained classifier.

The names below are loaded when first used, so `import foldwise` itself costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldwise.bayes import NaiveBayes
    from foldwise.data import Column, Schema, Table, read_table
    from foldwise.ensembles import Ensemble, EnsembleRegressor
    from foldwise.evaluation import (
        Confusion,
        CostMatrix,
        Estimate,
        bias_corrected,
        cross_predict,
        duplicate_groups,
        estimate,
        find_leaks,
        nested_cv,
    )
    from foldwise.neighbors import KNNClassifier, KNNRegressor, choose_k
    from foldwise.tuning import GridSearchCV, RandomizedSearchCV, SearchCV

__version__ = "0.1.0.dev0"

_HOMES = {
    "Column": "foldwise.data",
    "Confusion": "foldwise.evaluation",
    "CostMatrix": "foldwise.evaluation",
    "Ensemble": "foldwise.ensembles",
    "EnsembleRegressor": "foldwise.ensembles",
    "Estimate": "foldwise.evaluation",
    "GridSearchCV": "foldwise.tuning",
    "KNNClassifier": "foldwise.neighbors",
    "KNNRegressor": "foldwise.neighbors",
    "NaiveBayes": "foldwise.bayes",
    "RandomizedSearchCV": "foldwise.tuning",
    "Schema": "foldwise.data",
    "SearchCV": "foldwise.tuning",
    "Table": "foldwise.data",
    "bias_corrected": "foldwise.evaluation",
    "choose_k": "foldwise.neighbors",
    "cross_predict": "foldwise.evaluation",
    "duplicate_groups": "foldwise.evaluation",
    "estimate": "foldwise.evaluation",
    "find_leaks": "foldwise.evaluation",
    "nested_cv": "foldwise.evaluation",
    "read_table": "foldwise.data",
}

__all__ = [
    "Column",
    "Confusion",
    "CostMatrix",
    "Ensemble",
    "EnsembleRegressor",
    "Estimate",
    "GridSearchCV",
    "KNNClassifier",
    "KNNRegressor",
    "NaiveBayes",
    "RandomizedSearchCV",
    "Schema",
    "SearchCV",
    "Table",
    "__version__",
    "bias_corrected",
    "choose_k",
    "cross_predict",
    "duplicate_groups",
    "estimate",
    "find_leaks",
    "nested_cv",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'foldwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
