"""Recipes for ensembles of different estimators: votes, stacking, greedy selection and grading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import is_regressor

from foldwise.ensembles.combiners import Grading, Stacking, Weighted
from foldwise.ensembles.ensemble import Ensemble, EnsembleRegressor
from foldwise.ensembles.sizes import GreedySelection

__all__ = ["grading", "greedy_selection", "majority_vote", "stacking", "weighted_vote"]

Estimators = Sequence[Any] | Mapping[str, Any]


def composed(members: Any, **blocks: Any) -> Any:
    """An `Ensemble`, or an `EnsembleRegressor` if the members are regressors."""
    one = members
    if isinstance(members, Mapping):
        one = next(iter(members.values()), None)
    elif isinstance(members, list | tuple):
        one = members[0] if members else None
    return (EnsembleRegressor if is_regressor(one) else Ensemble)(members, **blocks)


def majority_vote(members: Estimators, **options: Any) -> Ensemble:
    """Combine classifiers by majority vote.

    Parameters
    ----------
    members : list or dict of estimators
        The members; a dict gives their names.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise import KNNClassifier, NaiveBayes
    >>> from foldwise.ensembles import majority_vote
    >>> model = majority_vote([NaiveBayes(), KNNClassifier(5), KNNClassifier(25)])
    """
    return Ensemble(members, combiner="vote", **options)


def weighted_vote(
    members: Estimators, weights: str | Sequence[float] = "accuracy", *, cv: Any = 5, **options: Any
) -> Ensemble:
    """Combine classifiers by a vote, weighted by their out-of-fold accuracy or by given weights.

    Parameters
    ----------
    members : list or dict of estimators
        The members; a dict gives their names.
    weights : {"accuracy", "odds"} or sequence of float, default="accuracy"
        As `by` of `Weighted`.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise import KNNClassifier, NaiveBayes
    >>> from foldwise.ensembles import weighted_vote
    >>> model = weighted_vote([NaiveBayes(), KNNClassifier()], weights=[1, 2])
    """
    return Ensemble(members, combiner=Weighted(weights, cv=cv), **options)


def stacking(members: Estimators, final: Any = None, *, cv: Any = 5, passthrough: bool = False, **options: Any) -> Any:
    """Combine estimators by a final model that is trained on their out-of-fold predictions.

    Parameters
    ----------
    members : list or dict of estimators
        The members; a dict gives their names.
    final : estimator, optional
        The final model; by default `LogisticRegression()`, or `RidgeCV()` for regression.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.
    passthrough : bool, default=False
        Whether the final model also sees the columns of the table.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble or EnsembleRegressor
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise import KNNClassifier, NaiveBayes
    >>> from foldwise.ensembles import stacking
    >>> model = stacking([NaiveBayes(), KNNClassifier()])
    """
    return composed(members, combiner=Stacking(final, cv, passthrough=passthrough), **options)


def greedy_selection(
    members: Estimators, rounds: int | None = None, *, metric: Any = None, start: int = 3, cv: Any = 5, **options: Any
) -> Any:
    """Weight estimators by greedy forward selection with replacement.

    Parameters
    ----------
    members : list or dict of estimators
        The members; a dict gives their names.
    rounds : int, optional
        How many members are added after the first ones; by default depending on the number of rows.
    metric : str or callable, optional
        What is optimized; by default log loss, or squared error for regression.
    start : int, default=3
        With how many of the best members the selection starts.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble or EnsembleRegressor
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise import KNNClassifier, NaiveBayes
    >>> from foldwise.ensembles import greedy_selection
    >>> model = greedy_selection([NaiveBayes(), KNNClassifier(5), KNNClassifier(25)], start=1)
    """
    return composed(members, size=GreedySelection(rounds, start, metric, cv=cv), **options)


def grading(members: Estimators, grader: Any = None, *, cv: Any = 10, **options: Any) -> Ensemble:
    """Combine the votes of classifiers that are predicted to be right.

    Parameters
    ----------
    members : list or dict of estimators
        The members; a dict gives their names.
    grader : classifier, optional
        Predicts whether a member is right; by default `NaiveBayes()`.
    cv : int, splitter or iterable, default=10
        The splits of the out-of-fold predictions.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise import KNNClassifier, NaiveBayes
    >>> from foldwise.ensembles import grading
    >>> model = grading([NaiveBayes(), KNNClassifier()], cv=5)
    """
    return Ensemble(members, combiner=Grading(grader, cv), **options)
