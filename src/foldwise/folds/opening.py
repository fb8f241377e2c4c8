"""Which session answers for an estimator: its own, one registered for its exact type, or a refit. So with subsets."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from foldwise.folds.protocol import FoldSession
from foldwise.folds.rows import with_rows
from foldwise.folds.sessions.refit import RefitSession
from foldwise.folds.sessions.subsets import SubsetRefitSession

Opener = Callable[[Any, Any, Any, dict[str, Any]], FoldSession | None]

_REGISTERED: dict[type, Opener] = {}

# the sessions that come with Foldwise, by package and name of the type: a library is not loaded to be registered
_SHIPPED: dict[tuple[str, str], str] = {
    ("sklearn", "MultinomialNB"): "foldwise.folds.sessions.naive_bayes",
    ("sklearn", "GaussianNB"): "foldwise.folds.sessions.naive_bayes",
    ("sklearn", "ComplementNB"): "foldwise.folds.sessions.naive_bayes",
    ("sklearn", "CategoricalNB"): "foldwise.folds.sessions.naive_bayes",
    ("sklearn", "BernoulliNB"): "foldwise.folds.sessions.naive_bayes",
    ("sklearn", "AdaBoostClassifier"): "foldwise.folds.sessions.staged",
    ("sklearn", "AdaBoostRegressor"): "foldwise.folds.sessions.staged",
    ("sklearn", "BaggingClassifier"): "foldwise.folds.sessions.staged",
    ("sklearn", "BaggingRegressor"): "foldwise.folds.sessions.staged",
    ("sklearn", "ExtraTreesClassifier"): "foldwise.folds.sessions.staged",
    ("sklearn", "ExtraTreesRegressor"): "foldwise.folds.sessions.staged",
    ("sklearn", "GradientBoostingClassifier"): "foldwise.folds.sessions.staged",
    ("sklearn", "GradientBoostingRegressor"): "foldwise.folds.sessions.staged",
    ("sklearn", "HistGradientBoostingClassifier"): "foldwise.folds.sessions.staged",
    ("sklearn", "HistGradientBoostingRegressor"): "foldwise.folds.sessions.staged",
    ("sklearn", "RandomForestClassifier"): "foldwise.folds.sessions.staged",
    ("sklearn", "RandomForestRegressor"): "foldwise.folds.sessions.staged",
    ("sklearn", "DecisionTreeClassifier"): "foldwise.folds.sessions.pruning",
    ("sklearn", "DecisionTreeRegressor"): "foldwise.folds.sessions.pruning",
    ("sklearn", "ExtraTreeClassifier"): "foldwise.folds.sessions.pruning",
    ("sklearn", "ExtraTreeRegressor"): "foldwise.folds.sessions.pruning",
    ("sklearn", "LinearDiscriminantAnalysis"): "foldwise.folds.sessions.discriminants",
    ("sklearn", "QuadraticDiscriminantAnalysis"): "foldwise.folds.sessions.discriminants",
    ("sklearn", "KNeighborsClassifier"): "foldwise.folds.sessions.neighbors",
    ("sklearn", "KNeighborsRegressor"): "foldwise.folds.sessions.neighbors",
    ("lightgbm", "LGBMClassifier"): "foldwise.folds.sessions.boosters",
    ("xgboost", "XGBClassifier"): "foldwise.folds.sessions.boosters",
    ("catboost", "CatBoostClassifier"): "foldwise.folds.sessions.boosters",
    ("sklearn", "Pipeline"): "foldwise.folds.sessions.pipelines",
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
