"""Opens the session of an estimator: its own, one registered for its exact type, or one that refits."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foldwise.folds.model_session import RefitSession, SubsetRefitSession
from foldwise.folds.protocol import FoldSession, HasSubsets, Opener
from foldwise.folds.rows import is_square, takes_pairs, with_rows

SHIPPED = "foldwise.adapters.registry"  # the sessions that come with Foldwise; loaded on first use

PAIRED = {"affinity", "kernel", "metric"}  # parameters that may be "precomputed"

_REGISTERED: dict[type, Opener] = {}


def register(kind: type, opener: Opener) -> None:
    """Register a session for estimators of exactly one type.

    Subclasses are not included, because they may predict differently.

    Parameters
    ----------
    kind : type
        The type of the estimators.
    opener : callable
        Takes the estimator, X, y and a dict of fit parameters, and returns a `FoldSession`, or None to refit.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from foldwise.folds import RefitSession, register
    >>> register(DummyClassifier, RefitSession)
    """
    _REGISTERED[kind] = opener


def open_session(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> FoldSession:
    """Open the fold session of an estimator on a table.

    An estimator defines its own session with a method `open_folds(X, y, fit_params)`, which may return None to refit.

    Parameters
    ----------
    estimator : estimator
        The estimator that settings are applied to.
    X, y : table and target
        All rows; splits refer to them by index.
    fit_params : dict, optional
        Further arguments of `fit`, such as `sample_weight`.

    Returns
    -------
    FoldSession
        A session that shares work between settings and splits, or one that refits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from foldwise.folds import open_session
    >>> open_session(GaussianNB(), *load_iris(return_X_y=True)).shares
    'summaries'
    """
    X = with_rows(X)
    opener = None if is_square(X) and may_take_pairs(estimator) else opener_of(type(estimator))
    session = opener(estimator, X, y, dict(fit_params or {})) if opener is not None else None
    return RefitSession(estimator, X, y, fit_params) if session is None else session


def open_subsets(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> FoldSession:
    """Open a session whose settings are subsets of columns. It predicts like fits on these columns alone.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted on the subsets.
    X, y : table and target
        All rows and columns.
    fit_params : dict, optional
        Further arguments of `fit`, such as `sample_weight`.

    Returns
    -------
    FoldSession
        Its settings are `{"columns": indices}`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes
    >>> from foldwise.folds import Need, open_subsets
    >>> session = open_subsets(NaiveBayes(), *load_iris(return_X_y=True))
    >>> settings = [{"columns": (0, 1)}, {"columns": (2, 3)}]
    >>> [block] = session.answer(settings, np.arange(0, 150, 2), np.arange(1, 150, 2), Need.LABELS)
    >>> block.answer.labels.shape
    (2, 75)
    """
    session = open_session(estimator, X, y, fit_params)
    found = session.subsets() if isinstance(session, HasSubsets) else None
    return SubsetRefitSession(estimator, with_rows(X), y, fit_params) if found is None else found


def may_take_pairs(estimator: Any) -> bool:
    """Whether an estimator takes a precomputed kernel or distances, or could do so with other parameters."""
    names = estimator.get_params() if hasattr(estimator, "get_params") else ()
    return any(name.rpartition("__")[2] in PAIRED for name in names) or takes_pairs(estimator)


def opener_of(kind: type) -> Opener | None:
    """The function that opens sessions for estimators of exactly this type; None if they are refitted."""
    if kind in _REGISTERED:
        return _REGISTERED[kind]
    own: Opener | None = vars(kind).get("open_folds") or import_module(SHIPPED).opener_of(kind)
    return own
