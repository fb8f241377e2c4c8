"""The adapter of each type, by package and name, so that no library is loaded just to be registered."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foldwise.adapters.support import LIBRARIES, Support
from foldwise.folds.protocol import FoldSession, Opener

BOOSTERS = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}
KINDS = ("Classifier", "Regressor")
ENSEMBLES = ("AdaBoost", "Bagging", "ExtraTrees", "GradientBoosting", "HistGradientBoosting", "RandomForest")
SKLEARN_TYPES = {  # by adapter
    "sklearn_naive_bayes": ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "sklearn_staged": tuple(f"{name}{kind}" for name in ENSEMBLES for kind in KINDS),
    "sklearn_trees": ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
    "sklearn_discriminants": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn_lasso": ("ElasticNet", "Lasso"),
    "sklearn_linear": ("LinearRegression", "Ridge", "RidgeClassifier"),
    "sklearn_neighbors": ("KNeighborsClassifier", "KNeighborsRegressor"),
    "sklearn_pipelines": ("Pipeline",),
}
ADAPTERS = {("sklearn", name): adapter for adapter, names in SKLEARN_TYPES.items() for name in names} | dict.fromkeys(
    [(library, f"{name}{kind}") for library, name in BOOSTERS.items() for kind in KINDS], "boosters"
)

TESTED = {package: Support(versions) for package, versions in LIBRARIES.items()}


def opener_of(kind: type) -> Opener | None:
    """The function that opens sessions for estimators of exactly this type; subclasses may predict differently."""
    package = kind.__module__.split(".")[0]
    adapter = ADAPTERS.get((package, kind.__qualname__))
    if adapter is None or not TESTED[package].is_given(None):  # names that it imports may be missing
        return None
    module = import_module(f"foldwise.adapters.{adapter}")
    support = module.SUPPORT[kind.__name__] if isinstance(module.SUPPORT, dict) else module.SUPPORT

    def open_supported(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> FoldSession | None:
        if not support.is_given(estimator):
            return None
        session: FoldSession | None = module.open_folds(estimator, X, y, fit_params)
        return session

    return open_supported
