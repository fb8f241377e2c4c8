"""`learning_curve` and `validation_curve`: scores by the number of training rows, or by the values of one parameter.

The scores are those of scikit-learn's functions of the same names, computed by one fold session.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from foldwise.arrays import Floats
from foldwise.data.arguments import check_jobs
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.failures import report_failures, with_error_score
from foldwise.evaluation.intervals import share_tested
from foldwise.evaluation.metrics.scoring import check_single, metrics_of
from foldwise.evaluation.plotting import metric_name
from foldwise.evaluation.procedure_scores import check_model
from foldwise.evaluation.routing import (
    RoutedParams,
    check_fit_params,
    is_routed,
    open_routed_session,
    route_validation,
    routed_metrics,
)
from foldwise.evaluation.score_curves import LearningCurve, ValidationCurve
from foldwise.folds.engine import EvaluationTask, ScoringPlan, evaluate
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import Params
from foldwise.folds.rows import count_rows
from foldwise.folds.splits import Split, freeze_splits


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    train_sizes: ArrayLike = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = None,
    scoring: Any = None,
    exploit_incremental_learning: bool = False,
    n_jobs: int | None = None,
    pre_dispatch: Any = "all",
    verbose: int = 0,
    shuffle: bool = False,
    random_state: Any = None,
    error_score: Any = np.nan,
    return_times: bool = False,
    params: dict[str, Any] | None = None,
    level: float = 0.95,
    **fit_params: Any,
) -> LearningCurve:
    """Score an estimator on training sets of increasing size.

    The scores are those of scikit-learn's `learning_curve` on the same splits. The curve unpacks like its result:
    `train_sizes, train_scores, test_scores = learning_curve(…)`.

    Parameters
    ----------
    estimator : estimator
        The model.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,)
        The target.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them.
    train_sizes : array-like, default (0.1, 0.325, 0.55, 0.775, 1.0)
        Fractions of the training rows of the first split, or numbers of rows. Each training set consists of the first
        training rows of a split.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric; None means accuracy for classifiers and R² for regressors.
    exploit_incremental_learning : bool, default False
        Only False is supported: every size is a model fitted from scratch.
    n_jobs : int or None, default None
        Number of parallel jobs.
    pre_dispatch : int or str, default "all"
        Accepted for compatibility, but not used.
    verbose : int, default 0
        If above 0, progress is printed.
    shuffle : bool, default False
        Whether to shuffle the training rows of each split first.
    random_state : int, RandomState or None, default None
        Seed of the shuffle.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.
    return_times : bool, default False
        Whether the curve also unpacks to the times of fits and of scores. The times of fits include the predictions,
        so the times of scores are 0.
    params : dict, default None
        Passed to `fit`, like `**fit_params`.
    level : float, default 0.95
        Level of the intervals.
    **fit_params : dict
        Passed to `fit`, such as `sample_weight`. Scores are not weighted, unless scikit-learn's metadata routing is on
        and the scorer requests weights.

    Returns
    -------
    LearningCurve
        The scores; `plot` draws them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, learning_curve
    >>> curve = learning_curve(NaiveBayes(), *load_iris(return_X_y=True), train_sizes=[0.2, 1.0], shuffle=True,
    ...                        random_state=0)
    >>> curve.train_sizes.tolist(), curve.means.round(2).tolist()
    ([24, 120], [0.95, 0.95])
    """
    if exploit_incremental_learning:
        raise InputError(
            "exploit_incremental_learning must be False, because the models of a curve are fitted from scratch.",
            "leave it out, or use scikit-learn's learning_curve.",
        )
    fit_params = {**(params or {}), **fit_params}
    request = CurveRequest.of("learning_curve", estimator, X, y, groups, cv, scoring, level, fit_params)
    sizes = absolute_sizes(train_sizes, len(request.splits[0].train))
    trains = [split.train for split in request.splits]
    if shuffle:
        rng = check_random_state(random_state)
        trains = [rng.permutation(train) for train in trains]
    parts = [
        Split(train[:size], split.test) for train, split in zip(trains, request.splits, strict=True) for size in sizes
    ]

    def where(_: int, number: int) -> str:
        return f"the fit on {sizes[number % len(sizes)]} training rows of split {number // len(sizes)}"

    hint = "" if shuffle else " Hint: pass shuffle=True if the rows are sorted by class."
    outcome = request.scores([{}], parts, n_jobs, error_score, where, hint, verbose=verbose)
    shape = (len(request.splits), len(sizes))
    train_scores, test_scores, fit_times = (table[0].reshape(shape).T for table in outcome)
    name = metric_name(scoring, estimator)
    times = (fit_times, np.zeros_like(fit_times)) if return_times else None
    return LearningCurve(train_scores, test_scores, request.test_share, name, level, request.bounds, sizes, times)


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    param_name: str,
    param_range: Sequence[Any],
    *,
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    pre_dispatch: Any = "all",
    verbose: int = 0,
    error_score: Any = np.nan,
    params: dict[str, Any] | None = None,
    level: float = 0.95,
    **fit_params: Any,
) -> ValidationCurve:
    """Score an estimator for each value of one parameter; shared work is done once.

    The scores are those of scikit-learn's `validation_curve` on the same splits. The curve unpacks like its result:
    `train_scores, test_scores = validation_curve(…)`. The best mean score is optimistic, because the value was
    selected by it; see `nested_cv`.

    Parameters
    ----------
    estimator : estimator
        The model.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,)
        The target.
    param_name : str
        The parameter, such as "alpha" or "model__max_depth".
    param_range : sequence
        Its values.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric; None means accuracy for classifiers and R² for regressors.
    n_jobs : int or None, default None
        Number of parallel jobs.
    pre_dispatch : int or str, default "all"
        Accepted for compatibility, but not used.
    verbose : int, default 0
        If above 0, progress is printed.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.
    params : dict, default None
        Passed to `fit`, like `**fit_params`.
    level : float, default 0.95
        Level of the intervals.
    **fit_params : dict
        Passed to `fit`, such as `sample_weight`. Scores are not weighted, unless scikit-learn's metadata routing is on
        and the scorer requests weights.

    Returns
    -------
    ValidationCurve
        The scores; `plot` draws them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import KNNClassifier, validation_curve
    >>> curve = validation_curve(KNNClassifier(), *load_iris(return_X_y=True), "n_neighbors", [1, 10, 80])
    >>> curve.means.round(2).tolist()
    [0.96, 0.99, 0.92]
    """
    values = () if isinstance(param_range, str) or not isinstance(param_range, Iterable) else tuple(param_range)
    if not values:
        raise InputError(
            f"param_range must be a list of at least one value, got {param_range!r}.", "pass a list, such as [1, 10]."
        )
    check_model(estimator, "estimator")
    known = estimator.get_params()
    if param_name not in known:
        raise InputError(
            f"Invalid parameter {param_name!r} for estimator {type(estimator).__name__}.",
            f"its parameters are {listing(sorted(known))}.",
        )
    fit_params = {**(params or {}), **fit_params}
    request = CurveRequest.of("validation_curve", estimator, X, y, groups, cv, scoring, level, fit_params)
    settings = [{param_name: value} for value in values]

    def where(i: int, number: int) -> str:
        return f"{param_name}={values[i]!r} on split {number}"

    train, test, _ = request.scores(settings, request.splits, n_jobs, error_score, where, verbose=verbose)
    name = metric_name(scoring, estimator)
    return ValidationCurve(train, test, request.test_share, name, level, request.bounds, param_name, values)


@dataclass(frozen=True)
class CurveRequest:
    """A session with its splits and one metric."""

    session: Any
    splits: Sequence[Split]
    metrics: dict[str, Any]

    @classmethod
    def of(
        cls,
        function: str,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any,
        cv: Any,
        scoring: Any,
        level: float,
        fit_params: dict[str, Any],
    ) -> CurveRequest:
        check_single(scoring)
        check_level(level)
        check_model(estimator, "estimator")
        check_fit_params(function, estimator, fit_params)
        metrics, scorers, _ = metrics_of(scoring, estimator)
        routed = RoutedParams(dict(fit_params), {})
        if is_routed(fit_params):
            routed = route_validation(estimator, scorers, fit_params)
            metrics = routed_metrics(metrics, routed.score or {})
        session = open_routed_session(estimator, X, y, routed)
        splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=is_classifier(estimator))
        return cls(session, splits, metrics)

    @property
    def bounds(self) -> tuple[float, float]:
        return tuple(self.metrics["score"].bounds)

    @property
    def test_share(self) -> float:
        return share_tested(self.splits)

    def scores(
        self,
        settings: Sequence[Params],
        splits: Sequence[Split],
        n_jobs: int | None,
        error_score: Any,
        where: Callable[[int, int], str],
        hint: str = "",
        *,
        verbose: int = 0,
    ) -> tuple[Floats, Floats, Floats]:
        """Compute the scores on training and on test rows and the times of the fits, all (settings, splits)."""
        check_jobs(n_jobs)
        work = ScoringPlan(self.metrics, on_train=True, weighted=False)
        task, progress = EvaluationTask(settings, splits), Progress(always=bool(verbose))
        [found] = evaluate(self.session, [task], work, n_jobs=n_jobs, audit=True, progress=progress)
        unscored = [*found.unscored, *found.train_unscored]
        report_failures(found, unscored, where, error_score, stacklevel=4, hint=hint)
        train = with_error_score(found.train_scores, found.failures, found.train_unscored, error_score)
        test = with_error_score(found.scores, found.failures, found.unscored, error_score)
        return train["score"], test["score"], found.seconds


def absolute_sizes(train_sizes: ArrayLike, most: int) -> NDArray[np.int64]:
    """Convert training sizes to sorted, unique numbers of rows."""
    sizes = np.asarray(train_sizes)
    if sizes.ndim != 1 or not sizes.size or sizes.dtype.kind not in "iuf":
        raise InputError(f"train_sizes must be a list of fractions or of numbers of rows, got {train_sizes!r}.")
    low, high = sizes.min(), sizes.max()
    if sizes.dtype.kind == "f":
        if not (low > 0 and high <= 1):
            raise InputError(
                f"fractions in train_sizes must be above 0 and at most 1, got {low if low <= 0 else high:g}.",
                "pass integers for numbers of rows.",
            )
        sizes = np.clip((sizes * most).astype(int), 1, most)
    elif low <= 0 or high > most:
        raise InputError(
            f"train_sizes must be from 1 to {most}, the number of training rows of the first split, got "
            f"{low if low <= 0 else high}.",
            "pass other sizes, or fractions such as 0.5.",
        )
    found = np.unique(sizes).astype(np.int64)
    if len(found) < len(sizes):
        warnings.warn(
            f"Removed duplicate entries from 'train_sizes': there are {len(found)} ticks instead of {len(sizes)}.",
            RuntimeWarning,
            stacklevel=3,
        )
    return found
