"""Which session answers for an estimator: its own, one registered for its exact type, or a refit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldwise.folds.protocol import FoldSession
from foldwise.folds.refit import RefitSession

Opener = Callable[[Any, Any, Any, dict[str, Any]], FoldSession]

_REGISTERED: dict[type, Opener] = {}


def register(kind: type, opener: Opener) -> None:
    """Answer for estimators of exactly this type: a subclass may have changed what it predicts."""
    _REGISTERED[kind] = opener


def open_session(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> FoldSession:
    """A session for an estimator on a table.

    An estimator offers its own by a method `open_folds(X, y, fit_params)`; it may return None to decline.
    """
    opener = _REGISTERED.get(type(estimator))
    if opener is None and "open_folds" in vars(type(estimator)):
        opener = type(estimator).open_folds
    session = opener(estimator, X, y, dict(fit_params or {})) if opener is not None else None
    return RefitSession(estimator, X, y, fit_params) if session is None else session
