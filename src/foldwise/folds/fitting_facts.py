"""Fits an estimator to the facts of an engine: by its own method, or by the adapter of its exact type."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.engines.asking import Asker
from foldwise.engines.table_facts import TableFacts
from foldwise.errors import InputError
from foldwise.folds.abilities import FitsFacts

SHIPPED = "foldwise.adapters.linear_table_facts"  # loaded on first use


def fit_facts(estimator: Any, facts: TableFacts) -> Any:
    """Fit an estimator to facts of a database or Spark, without reading a row.

    Parameters
    ----------
    estimator : estimator
        `NaiveBayes`, or scikit-learn's `LinearRegression`, `Ridge` or `RidgeClassifier`.
    facts : TableFacts
        Facts about the training rows, from `foldwise.engines.facts_of`; linear models need `gram=True`.

    Returns
    -------
    estimator
        A fitted clone.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from foldwise.engines import facts_of, table_of
    >>> from foldwise.folds import fit_facts
    >>> weather = table_of("examples/weather.csv")
    >>> facts = facts_of(weather, "play", columns=["temperature", "humidity"], gram=True)
    >>> fit_facts(RidgeClassifier(), facts).coef_.shape
    (1, 2)
    """
    if needs_grams(estimator):
        return import_module(SHIPPED).fit_linear(estimator, facts)
    return clone(estimator).fit_facts(facts)


def needs_grams(estimator: Any) -> bool:
    """Whether an estimator is fitted to sums of products. One that cannot be fitted to facts is refused."""
    if isinstance(estimator, FitsFacts):
        return False
    if type(estimator) not in import_module(SHIPPED).LINEAR:
        raise InputError(
            f"{type(estimator).__name__} cannot be fitted to facts, because it needs more than counts and sums.",
            "use NaiveBayes, LinearRegression, Ridge or RidgeClassifier.",
        )
    return True


def squared_error(model: Any, facts: TableFacts) -> float:
    """Return the sum of squared errors of a linear model on the rows of these facts, without reading them."""
    return float(import_module(SHIPPED).squared_error(model, facts))


def scores_by_fold(models: Sequence[Any], asker: Asker, fold: str, label: str, classes: NDArray[Any]) -> str:
    """Return a query of an engine with the scores of all rows, each by the classifier of its fold.

    Parameters
    ----------
    models : sequence of classifiers
        One classifier for each fold, fitted to facts.
    asker : Asker
        The table whose rows are scored, and its engine.
    fold : str
        Name of the column with the index of the model of each row.
    label : str
        Name of the target.
    classes : ndarray
        All classes, sorted.

    Returns
    -------
    str
        A query with the columns label (the index of the class), fold, and j0, j1, …: one per class. The class with the
        largest score is predicted.
    """
    if isinstance(models[0], FitsFacts):
        return str(models[0].joint_by_fold(models, asker, fold, label))
    return str(import_module(SHIPPED).scores_by_fold(models, asker, fold, label, classes))
