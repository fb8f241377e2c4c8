"""Which session answers for an estimator: its own, one registered for its exact type, or a refit. So with subsets."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foldwise.folds.protocol import FoldSession, HasSubsets, Opener
from foldwise.folds.refit_session import RefitSession
from foldwise.folds.rows import with_rows
from foldwise.folds.subset_session import SubsetRefitSession

SHIPPED = "foldwise.adapters.registry"  # of the sessions that come with Foldwise; loaded when first needed

_REGISTERED: dict[type, Opener] = {}


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
    found = session.subsets() if isinstance(session, HasSubsets) else None
    return SubsetRefitSession(estimator, with_rows(X), y, fit_params) if found is None else found


def opener_of(kind: type) -> Opener | None:
    """What opens sessions for estimators of exactly this type."""
    if kind in _REGISTERED:
        return _REGISTERED[kind]
    own: Opener | None = vars(kind).get("open_folds") or import_module(SHIPPED).opener_of(kind)
    return own
