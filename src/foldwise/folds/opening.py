"""Which session answers for an estimator: its own, one registered for its exact type, or a refit. So with subsets."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from foldwise.folds.protocol import FoldSession
from foldwise.folds.refit_session import RefitSession
from foldwise.folds.rows import with_rows
from foldwise.folds.subset_session import SubsetRefitSession

Opener = Callable[[Any, Any, Any, dict[str, Any]], FoldSession | None]

_REGISTERED: dict[type, Opener] = {}

# the sessions that come with Foldwise, by package and name of the type: a library is not loaded to be registered
_SHIPPED: dict[tuple[str, str], str] = {
    ("sklearn", "MultinomialNB"): "foldwise.adapters.sklearn_naive_bayes",
    ("sklearn", "GaussianNB"): "foldwise.adapters.sklearn_naive_bayes",
    ("sklearn", "ComplementNB"): "foldwise.adapters.sklearn_naive_bayes",
    ("sklearn", "CategoricalNB"): "foldwise.adapters.sklearn_naive_bayes",
    ("sklearn", "BernoulliNB"): "foldwise.adapters.sklearn_naive_bayes",
    ("sklearn", "AdaBoostClassifier"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "AdaBoostRegressor"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "BaggingClassifier"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "BaggingRegressor"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "ExtraTreesClassifier"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "ExtraTreesRegressor"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "GradientBoostingClassifier"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "GradientBoostingRegressor"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "HistGradientBoostingClassifier"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "HistGradientBoostingRegressor"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "RandomForestClassifier"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "RandomForestRegressor"): "foldwise.adapters.sklearn_staged",
    ("sklearn", "DecisionTreeClassifier"): "foldwise.adapters.sklearn_trees",
    ("sklearn", "DecisionTreeRegressor"): "foldwise.adapters.sklearn_trees",
    ("sklearn", "ExtraTreeClassifier"): "foldwise.adapters.sklearn_trees",
    ("sklearn", "ExtraTreeRegressor"): "foldwise.adapters.sklearn_trees",
    ("sklearn", "LinearDiscriminantAnalysis"): "foldwise.adapters.sklearn_discriminants",
    ("sklearn", "QuadraticDiscriminantAnalysis"): "foldwise.adapters.sklearn_discriminants",
    ("sklearn", "KNeighborsClassifier"): "foldwise.adapters.sklearn_neighbors",
    ("sklearn", "KNeighborsRegressor"): "foldwise.adapters.sklearn_neighbors",
    ("lightgbm", "LGBMClassifier"): "foldwise.adapters.boosters",
    ("xgboost", "XGBClassifier"): "foldwise.adapters.boosters",
    ("catboost", "CatBoostClassifier"): "foldwise.adapters.boosters",
    ("sklearn", "Pipeline"): "foldwise.adapters.sklearn_pipelines",
}


def register(kind: type, opener: Opener) -> None:
    """Answer for estimators of exactly this type: a subclass may have changed what it predicts.

    An opener takes the estimator, X, y and fit parameters, and may return None to decline.
    """
    _REGISTERED[kind] = opener


def open_session(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> FoldSession:
    """A session for an estimator on a table.

    An estimator offers its own by a method `open_folds(X, y, fit_params)`; it may return None to decline.
    """
    X = with_rows(X)
    opener = opener_of(type(estimator))
    session = opener(estimator, X, y, dict(fit_params or {})) if opener is not None else None
    return RefitSession(estimator, X, y, fit_params) if session is None else session


def open_subsets(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> FoldSession:
    """A session whose settings are subsets of columns, `{"columns": places}`, each as if fitted on them alone."""
    session = open_session(estimator, X, y, fit_params)
    offered = getattr(session, "subsets", None)
    found: FoldSession | None = None if offered is None else offered()
    if found is not None:
        return found
    return SubsetRefitSession(estimator, with_rows(X), y, fit_params)


def opener_of(kind: type) -> Opener | None:
    """What opens sessions for estimators of exactly this type."""
    if kind in _REGISTERED:
        return _REGISTERED[kind]
    shipped = _SHIPPED.get((kind.__module__.split(".")[0], kind.__qualname__))
    if shipped is not None:
        opener: Opener = import_module(shipped).open_folds
        return opener
    own: Opener | None = vars(kind).get("open_folds")
    return own
