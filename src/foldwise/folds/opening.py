"""Which session answers for an estimator: its own, one registered for its exact type, or a refit."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from foldwise.folds.protocol import FoldSession
from foldwise.folds.refit import RefitSession
from foldwise.folds.rows import with_rows

Opener = Callable[[Any, Any, Any, dict[str, Any]], FoldSession | None]

_REGISTERED: dict[type, Opener] = {}

# the sessions that come with Foldwise, by package and name of the type: a library is not loaded to be registered
_SHIPPED: dict[tuple[str, str], str] = {
    ("sklearn", "MultinomialNB"): "foldwise.folds.naive_bayes",
    ("sklearn", "GaussianNB"): "foldwise.folds.naive_bayes",
    ("sklearn", "ComplementNB"): "foldwise.folds.naive_bayes",
    ("sklearn", "CategoricalNB"): "foldwise.folds.naive_bayes",
    ("sklearn", "BernoulliNB"): "foldwise.folds.naive_bayes",
    ("sklearn", "AdaBoostClassifier"): "foldwise.folds.staged",
    ("sklearn", "AdaBoostRegressor"): "foldwise.folds.staged",
    ("sklearn", "BaggingClassifier"): "foldwise.folds.staged",
    ("sklearn", "BaggingRegressor"): "foldwise.folds.staged",
    ("sklearn", "ExtraTreesClassifier"): "foldwise.folds.staged",
    ("sklearn", "ExtraTreesRegressor"): "foldwise.folds.staged",
    ("sklearn", "GradientBoostingClassifier"): "foldwise.folds.staged",
    ("sklearn", "GradientBoostingRegressor"): "foldwise.folds.staged",
    ("sklearn", "HistGradientBoostingClassifier"): "foldwise.folds.staged",
    ("sklearn", "HistGradientBoostingRegressor"): "foldwise.folds.staged",
    ("sklearn", "RandomForestClassifier"): "foldwise.folds.staged",
    ("sklearn", "RandomForestRegressor"): "foldwise.folds.staged",
    ("sklearn", "DecisionTreeClassifier"): "foldwise.folds.pruning",
    ("sklearn", "DecisionTreeRegressor"): "foldwise.folds.pruning",
    ("sklearn", "ExtraTreeClassifier"): "foldwise.folds.pruning",
    ("sklearn", "ExtraTreeRegressor"): "foldwise.folds.pruning",
    ("sklearn", "LinearDiscriminantAnalysis"): "foldwise.folds.discriminants",
    ("sklearn", "QuadraticDiscriminantAnalysis"): "foldwise.folds.discriminants",
    ("sklearn", "Pipeline"): "foldwise.folds.pipelines",
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
