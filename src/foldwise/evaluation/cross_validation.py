"""`cross_validate`, `cross_val_score` and `cross_val_predict`: scikit-learn's functions on fold sessions.

Arguments and results are those of scikit-learn. Splits share whatever the session of the model shares. Where no session
can exist, because the target is missing or has several columns, scikit-learn's own function does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from foldwise.data.arguments import check_jobs, one_of
from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.cross_predict import NEEDS, absent_classes, check_partition, predict_all
from foldwise.evaluation.failures import check_error_score, report_failures, with_error_score
from foldwise.evaluation.fit_lines import FitPrinter
from foldwise.evaluation.metrics.metric import Metric
from foldwise.evaluation.metrics.scoring import check_single, metrics_of
from foldwise.evaluation.procedure_scores import Procedure, check_model
from foldwise.evaluation.routing import (
    RoutedParams,
    check_fit_params,
    open_routed_session,
    route_cross_validation,
    routed_metrics,
)
from foldwise.folds.engine import EvaluationTask, Outcome, ScoringPlan, evaluate
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import Answer, FoldSession, Need
from foldwise.folds.rows import count_rows
from foldwise.folds.scoring_protocol import runs_on_session
from foldwise.folds.splits import Split, freeze_splits


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """Score a model on the test rows of each split; scikit-learn's `cross_validate` with shared work done once.

    Parameters
    ----------
    estimator : estimator
        The model, or a search, which is run again on the training rows of each split.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,), default None
        The target.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them.
    scoring : str, callable, Metric, CostMatrix, list or dict, default None
        The metric or metrics; None means the `score` method of the estimator.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds.
    n_jobs : int or None, default None
        Number of parallel jobs.
    verbose : int, default 0
        If above 0, progress is printed; if above 1, a line about each fit.
    params : dict, default None
        Passed to `fit`, such as `{"sample_weight": weights}`. Scores are not weighted, unless scikit-learn's metadata
        routing is on and the scorer requests weights.
    pre_dispatch : int or str, default "2*n_jobs"
        Accepted for compatibility, but not used.
    return_train_score : bool, default False
        Whether to score the training rows, too.
    return_estimator : bool, default False
        Whether to return the model of each split.
    return_indices : bool, default False
        Whether to return the training and test rows of each split.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.

    Returns
    -------
    dict
        `test_score` (or one entry per metric, such as `test_accuracy`), `fit_time` and `score_time`, each of shape
        (n_splits,); with the options above also `train_score`, `estimator` and `indices`. Predictions are made once
        for all metrics, so `fit_time` includes them, and `score_time` is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, cross_validate
    >>> found = cross_validate(NaiveBayes(), *load_iris(return_X_y=True), scoring=["accuracy", "neg_log_loss"])
    >>> found["test_accuracy"].round(2).tolist()
    [0.93, 0.97, 0.93, 0.93, 1.0]
    """
    check_options(estimator, n_jobs, error_score, scoring)
    request = ValidationRequest.of("cross_validate", estimator, X, y, groups, cv, scoring, params)
    if request.session is None:
        options = {"n_jobs": n_jobs, "verbose": verbose, "params": params, "pre_dispatch": pre_dispatch}
        options |= {"return_estimator": return_estimator, "return_indices": return_indices}
        options |= {"return_train_score": return_train_score, "error_score": error_score}
        scorers = request.scorers if request.several else request.scorers["score"]
        found: dict[str, Any] = model_selection.cross_validate(
            estimator, X, y, groups=groups, scoring=scorers, cv=cv, **options
        )
        return found
    plan = ScoringPlan(
        request.metrics, ModelRecorder() if return_estimator else None, on_train=return_train_score, weighted=False
    )
    outcome = request.outcome(plan, n_jobs, verbose, error_score)
    results: dict[str, Any] = {"fit_time": outcome.seconds[0], "score_time": np.zeros(len(request.splits))}
    if return_estimator:
        results["estimator"] = request.models(outcome)
    if return_indices:
        rows = [[getattr(split, part) for split in request.splits] for part in ("train", "test")]
        results["indices"] = {"train": tuple(rows[0]), "test": tuple(rows[1])}
    test = with_error_score(outcome.scores, outcome.failures, outcome.unscored, error_score)
    train = with_error_score(outcome.train_scores, outcome.failures, outcome.train_unscored, error_score)
    for name, [scores] in test.items():
        results[f"test_{name}"] = scores
        if return_train_score:
            results[f"train_{name}"] = train[name][0]
    return results


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
) -> NDArray[np.float64]:
    """Score a model on the test rows of each split; scikit-learn's `cross_val_score` with shared work done once.

    Folds overlap in their training rows, so the standard deviation of these scores is not an error of their mean.
    `estimate` computes a valid interval.

    Parameters
    ----------
    estimator : estimator
        The model. Searches of this package answer all inner and outer splits from one session.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,), default None
        The target.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric; None means the `score` method of the estimator.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds.
    n_jobs : int or None, default None
        Number of parallel jobs.
    verbose : int, default 0
        If above 0, progress is printed; if above 1, a line about each fit.
    params : dict, default None
        Passed to `fit`, such as `{"sample_weight": weights}`.
    pre_dispatch : int or str, default "2*n_jobs"
        Accepted for compatibility, but not used.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.

    Returns
    -------
    ndarray of shape (n_splits,)
        The scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, cross_val_score
    >>> cross_val_score(NaiveBayes(), *load_iris(return_X_y=True), cv=3).round(2).tolist()
    [0.92, 0.94, 0.96]
    """
    check_single(scoring)
    plain = params is None and not verbose and error_score != "raise"
    if plain and runs_on_session(estimator):  # inner and outer splits share one session
        X, y = indexable(X, y)
        splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=is_classifier(estimator))
        return Procedure(estimator, X, y, scoring=scoring).on(splits).scores
    options = {"n_jobs": n_jobs, "verbose": verbose, "params": params, "error_score": error_score}
    found = cross_validate(estimator, X, y, groups=groups, scoring=scoring, cv=cv, **options)
    if "test_score" not in found:
        raise InputError("scoring must return a number, but it returned a dict.", "use cross_validate.")
    scores: NDArray[np.float64] = found["test_score"]
    return scores


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    method: str = "predict",
) -> Any:
    """Predict each row with a model that was fitted without it; scikit-learn's `cross_val_predict`.

    `cross_predict` also takes many settings at once.

    Parameters
    ----------
    estimator : estimator
        The model.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,), default None
        The target.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them.
    cv : int, splitter or iterable, default None
        Splits that test each row exactly once; None means 5 folds.
    n_jobs : int or None, default None
        Number of parallel jobs.
    verbose : int, default 0
        Accepted for compatibility.
    params : dict, default None
        Passed to `fit`, such as `{"sample_weight": weights}`.
    pre_dispatch : int or str, default "2*n_jobs"
        Accepted for compatibility, but not used.
    method : {"predict", "predict_proba", "predict_log_proba", "decision_function"}, default "predict"
        The kind of prediction.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        The predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, cross_val_predict
    >>> cross_val_predict(NaiveBayes(), *load_iris(return_X_y=True), method="predict_proba").shape
    (150, 3)
    """
    one_of("method", method, tuple(NEEDS))
    check_options(estimator, n_jobs)
    request = ValidationRequest.of("cross_val_predict", estimator, X, y, groups, cv, None, params, scored=False)
    session, splits = request.session, request.splits
    if session is not None:
        check_partition(splits, count_rows(session.X))
    if session is None or (method != "predict" and absent_classes(session, splits) is not None):
        # several targets, or folds without some class: scikit-learn's own rules and warnings
        options = {"n_jobs": n_jobs, "verbose": verbose, "params": params, "pre_dispatch": pre_dispatch}
        return model_selection.cross_val_predict(estimator, X, y, groups=groups, cv=cv, method=method, **options)
    return predict_all(session, [{}], splits, method, n_jobs)[0]  # type: ignore[arg-type]


def check_options(estimator: Any, n_jobs: Any, error_score: Any = np.nan, scoring: Any = None) -> None:
    """Raise an error for invalid arguments before anything is fitted."""
    check_model(estimator, "estimator")
    check_jobs(n_jobs)
    check_error_score(error_score)
    if isinstance(scoring, list | tuple | set | dict) and not any(map(is_ours, named(scoring).values())):
        check_scoring(estimator, scoring)  # scikit-learn's own checks of several metrics


def named(scoring: Any) -> dict[Any, Any]:
    """The entries of several metrics by name."""
    return scoring if isinstance(scoring, dict) else dict(enumerate(scoring))


def is_ours(scoring: Any) -> bool:
    """Whether a metric is not one of scikit-learn's."""
    return isinstance(scoring, Metric | CostMatrix)


@dataclass(frozen=True)
class ValidationRequest:
    """A cross-validation: the session of the model, its splits and metrics."""

    estimator: Any
    session: FoldSession | None  # None for a target that no session can have
    splits: Sequence[Split]
    metrics: dict[str, Any]
    scorers: dict[str, Any]
    several: bool

    @classmethod
    def of(
        cls,
        name: str,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any,
        cv: Any,
        scoring: Any,
        params: dict[str, Any] | None,
        scored: bool = True,
    ) -> ValidationRequest:
        metrics, scorers, several = metrics_of(scoring, estimator) if scored else ({}, {}, False)
        check_fit_params(name, estimator, params or {})
        splitter = check_cv(cv, y, classifier=is_classifier(estimator))
        routed = route_cross_validation(name, estimator, splitter, scorers, groups, params or {})
        if routed.score is not None:
            metrics = routed_metrics(metrics, routed.score)
        X, y = indexable(X, y)
        session = open_routed_session(estimator, X, y, routed)
        if session.target is None:
            return cls(estimator, None, (), metrics, scorers, several)
        return cls(estimator, session, splits_of(splitter, X, y, routed), metrics, scorers, several)

    def outcome(self, plan: ScoringPlan, n_jobs: int | None, verbose: int, error_score: Any) -> Outcome:
        """Score the model with its own parameters, and report what failed."""
        assert self.session is not None
        n_splits = len(self.splits)
        printer = FitPrinter([{}], range(n_splits), n_splits, verbose, error_score) if verbose > 1 else None
        task, progress = EvaluationTask([{}], self.splits), Progress(always=bool(verbose))
        [outcome] = evaluate(self.session, [task], plan, n_jobs=n_jobs, progress=progress, observers=[printer])

        def where(_: int, number: int) -> str:
            return f"the fit on split {number}"

        unscored = [*outcome.unscored, *outcome.train_unscored]
        report_failures(outcome, unscored, where, error_score, stacklevel=4)
        return outcome

    def models(self, outcome: Outcome) -> list[Any]:
        """Return the model of each split: the one that was scored, or one fitted now if the session fits none."""
        assert self.session is not None
        kept = {number: models[0] for _, number, models in outcome.kept if models is not None and number is not None}
        failed = {number for _, number, _ in outcome.failures}
        return [
            clone(self.estimator) if k in failed else kept[k] if k in kept else self.session.model({}, split.train)
            for k, split in enumerate(self.splits)
        ]


class ModelRecorder:
    """Keeps the fitted models of each split."""

    need = Need.MODEL

    def record(self, session: FoldSession, split: Split, answer: Answer) -> Any:
        """Return the models of a block, or None if the session fitted none."""
        return answer.models


def splits_of(splitter: Any, X: Any, y: Any, routed: RoutedParams) -> Sequence[Split]:
    """Freeze the splits; a splitter may request more than groups."""
    n_rows = count_rows(X)
    if routed.split.keys() <= {"groups"}:
        return freeze_splits(splitter, X, y, routed.groups, n_rows=n_rows)
    return freeze_splits(list(splitter.split(X, y, **routed.split)), X, y, n_rows=n_rows)
