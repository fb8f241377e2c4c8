"""Foldwise: from a table to a tuned, honestly evaluated, explained model.

The names below are loaded when first used, so `import foldwise` itself costs almost nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldwise.app.checking.check import check as check
    from foldwise.app.explaining import explain as explain
    from foldwise.app.exploring.result import Exploration as Exploration
    from foldwise.app.exploring.run import explore as explore
    from foldwise.app.file_predictions import predict_file as predict_file
    from foldwise.app.refitting.refit import refit as refit
    from foldwise.app.result import Run as Run
    from foldwise.app.run import fit as fit
    from foldwise.app.spark_predictions import predict_spark as predict_spark
    from foldwise.bayes import NaiveBayes as NaiveBayes
    from foldwise.clusters import DensityClusters as DensityClusters
    from foldwise.clusters import KMeans as KMeans
    from foldwise.clusters import KMedoids as KMedoids
    from foldwise.clusters import choose_clusters as choose_clusters
    from foldwise.clusters import choose_mixture as choose_mixture
    from foldwise.data import Column as Column
    from foldwise.data import Schema as Schema
    from foldwise.data import Table as Table
    from foldwise.data import read_table as read_table
    from foldwise.decisions import Balanced as Balanced
    from foldwise.decisions import Calibrated as Calibrated
    from foldwise.decisions import Conformal as Conformal
    from foldwise.decisions import CostSensitive as CostSensitive
    from foldwise.decisions import reliability as reliability
    from foldwise.ensembles import Ensemble as Ensemble
    from foldwise.ensembles import EnsembleRegressor as EnsembleRegressor
    from foldwise.evaluation import Confusion as Confusion
    from foldwise.evaluation import CostMatrix as CostMatrix
    from foldwise.evaluation import Estimate as Estimate
    from foldwise.evaluation import bias_corrected as bias_corrected
    from foldwise.evaluation import compare as compare
    from foldwise.evaluation import compare_tables as compare_tables
    from foldwise.evaluation import cross_predict as cross_predict
    from foldwise.evaluation import cross_val_predict as cross_val_predict
    from foldwise.evaluation import cross_val_score as cross_val_score
    from foldwise.evaluation import cross_validate as cross_validate
    from foldwise.evaluation import duplicate_groups as duplicate_groups
    from foldwise.evaluation import estimate as estimate
    from foldwise.evaluation import find_leaks as find_leaks
    from foldwise.evaluation import learning_curve as learning_curve
    from foldwise.evaluation import nested_cv as nested_cv
    from foldwise.evaluation import score_slices as score_slices
    from foldwise.evaluation import validation_curve as validation_curve
    from foldwise.exports import OnnxExport as OnnxExport
    from foldwise.exports import SqlExport as SqlExport
    from foldwise.exports import to_onnx as to_onnx
    from foldwise.exports import to_sql as to_sql
    from foldwise.models import DateFeatures as DateFeatures
    from foldwise.models import ModelSpec as ModelSpec
    from foldwise.models import TableEncoder as TableEncoder
    from foldwise.models import catalogue as catalogue
    from foldwise.models import models_for as models_for
    from foldwise.neighbors import KNNClassifier as KNNClassifier
    from foldwise.neighbors import KNNRegressor as KNNRegressor
    from foldwise.neighbors import choose_k as choose_k
    from foldwise.storage import StoredModel as StoredModel
    from foldwise.storage import open_model as open_model
    from foldwise.storage import save_model as save_model
    from foldwise.tuning import GridSearchCV as GridSearchCV
    from foldwise.tuning import HalvingGridSearchCV as HalvingGridSearchCV
    from foldwise.tuning import HalvingRandomSearchCV as HalvingRandomSearchCV
    from foldwise.tuning import RandomizedSearchCV as RandomizedSearchCV
    from foldwise.tuning import SearchCV as SearchCV
    from foldwise.tuning import SelectFeatures as SelectFeatures
    from foldwise.tuning.store import TrialStore as TrialStore
    from foldwise.tuning.store import open_search as open_search
    from foldwise.unsupervised import association_rules as association_rules
    from foldwise.unsupervised import describe_clusters as describe_clusters
    from foldwise.unsupervised import find_factors as find_factors
    from foldwise.unsupervised import find_outliers as find_outliers
    from foldwise.unsupervised import frequent_itemsets as frequent_itemsets
    from foldwise.unsupervised import map_table as map_table
    from foldwise.unsupervised import rank_rows as rank_rows
    from foldwise.unsupervised import similar as similar

__version__ = "0.1.0.dev0"

_NAMES = {
    "app.checking.check": "check",
    "app.explaining": "explain",
    "app.exploring.result": "Exploration",
    "app.exploring.run": "explore",
    "app.file_predictions": "predict_file",
    "app.refitting.refit": "refit",
    "app.result": "Run",
    "app.run": "fit",
    "app.spark_predictions": "predict_spark",
    "bayes": "NaiveBayes",
    "clusters": "DensityClusters KMeans KMedoids choose_clusters choose_mixture",
    "data": "Column Schema Table read_table",
    "decisions": "Balanced Calibrated Conformal CostSensitive reliability",
    "ensembles": "Ensemble EnsembleRegressor",
    "evaluation": "Confusion CostMatrix Estimate bias_corrected compare compare_tables cross_predict cross_val_predict "
    "cross_val_score cross_validate duplicate_groups estimate find_leaks learning_curve nested_cv "
    "score_slices validation_curve",
    "exports": "OnnxExport SqlExport to_onnx to_sql",
    "models": "DateFeatures ModelSpec TableEncoder catalogue models_for",
    "neighbors": "KNNClassifier KNNRegressor choose_k",
    "storage": "StoredModel open_model save_model",
    "tuning": "GridSearchCV HalvingGridSearchCV HalvingRandomSearchCV RandomizedSearchCV SearchCV SelectFeatures",
    "tuning.store": "TrialStore open_search",
    "unsupervised": "association_rules describe_clusters find_factors find_outliers frequent_itemsets map_table "
    "rank_rows similar",
}
_ROOMS = {*(room.split(".")[0] for room in _NAMES), "engines", "folds", "plots", "testing"}
_HOMES = {name: f"foldwise.{room}" for room, names in _NAMES.items() for name in names.split()}

__all__ = sorted(["__version__", *_HOMES])  # type checkers go by "as" above


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:  # foldwise.plots, without importing it first
        return import_module(f"foldwise.{name}")
    message = f"module 'foldwise' has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules[__name__])  # for Python's own suggestion


def __dir__() -> list[str]:
    return __all__
