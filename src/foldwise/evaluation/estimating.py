"""`estimate`: the expected score of a model, or of a whole search, on new data."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from foldwise.data.arguments import check_jobs, one_of, whole_at_least
from foldwise.errors import InputError
from foldwise.evaluation.estimates import Estimate, StudentSpread
from foldwise.evaluation.nested_interval import combined, double_splits, one_repeat
from foldwise.evaluation.procedure_scores import Procedure, check_model
from foldwise.evaluation.routing import check_fit_params
from foldwise.evaluation.tables import number
from foldwise.folds.progress import Progress
from foldwise.folds.rows import count_rows
from foldwise.folds.splits import freeze_splits

Interval = Literal["corrected", "bates"]


def estimate(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    scoring: Any = None,
    interval: Interval = "corrected",
    repeats: int = 20,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **fit_params: Any,
) -> Estimate:
    """Cross-validate a model, or a whole search, and compute a valid confidence interval.

    Parameters
    ----------
    model : estimator
        An estimator, or a search of this package. A search is run again on the training rows of each split.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,)
        The target.
    cv : int, splitter or iterable, default 10
        Splits as in scikit-learn. With `interval="bates"`, the number of folds.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric. None means the metric of the search, or the `score` method of the model.
    interval : {"corrected", "bates"}, default "corrected"
        "corrected" is the corrected resampled t interval; it works for any metric. "bates" is the nested
        cross-validation interval, for means over rows and their roots. It fits K(K+1)/2 models per repeat, and
        corrects the estimate for the smaller training sets of K folds.
    repeats : int, default 20
        With "bates", the number of random divisions into folds.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them.
    n_jobs : int or None, default None
        Number of parallel jobs.
    random_state : int, Generator or None, default None
        With "bates", the seed of the divisions.
    **fit_params : dict
        Passed to `fit`, such as `sample_weight`. With scikit-learn's metadata routing, each is passed to the parts that
        request it.

    Returns
    -------
    Estimate
        The score with its interval.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error. Bates, Hastie and Tibshirani (2023),
    Cross-validation: what does it estimate and how well does it do it?

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, estimate
    >>> X, y = load_iris(return_X_y=True)
    >>> estimate(NaiveBayes(), X, y, cv=10)
    0.953 (95% interval 0.907 to 1.000), cross-validation, 10 splits, corrected resampled t interval
    >>> print(estimate(NaiveBayes(), X, y, cv=5, interval="bates", random_state=0))
    0.955 (95% interval 0.921 to 0.988)
    """
    one_of("interval", interval, ("corrected", "bates"))
    check_jobs(n_jobs)
    check_model(model, "model")
    check_fit_params("estimate", model, fit_params)
    procedure = Procedure(model, X, y, scoring=scoring, groups=groups, fit_params=fit_params)
    if interval == "bates":
        return by_bates(procedure, count_rows(X), cv, repeats, groups, n_jobs, random_state)
    splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=is_classifier(model))
    tested = procedure.on(splits, n_jobs=n_jobs)
    if not np.isfinite(tested.scores).all():
        split = int(np.flatnonzero(~np.isfinite(tested.scores))[0])
        raise InputError(
            f"scores must be finite to be averaged, but the score on split {split} is {tested.scores[split]}.",
            "use splits that contain all classes, or another metric.",
        )
    return tested.estimate(splits, procedure.metric, same_metric=procedure.chooses_alike)


def by_bates(
    procedure: Procedure, n_rows: int, cv: Any, repeats: int, groups: Any, n_jobs: int | None, random_state: Any
) -> Estimate:
    """Compute the estimate with the nested interval."""
    metric = procedure.metric
    if not metric.has_losses:
        raise InputError(
            f"interval='bates' needs a metric that is computed from a mean over rows, and {metric!r} is not.",
            "pass interval='corrected', or a metric such as 'accuracy', 'neg_log_loss' or 'neg_mean_squared_error'.",
        )
    if n_rows < 6:
        raise InputError(
            f"interval='bates' needs at least 6 rows (three folds of two), got {n_rows}.", "pass interval='corrected'."
        )
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or not 3 <= cv <= n_rows // 2:
        raise InputError(
            f"with interval='bates', cv must be a number of folds from 3 to {n_rows // 2}, got {cv!r}.",
            "pass cv=10, or interval='corrected' to use your own splits.",
        )
    if groups is not None:
        raise InputError(
            "interval='bates' assumes independent rows, but groups were passed.",
            "pass interval='corrected' with a group splitter such as GroupKFold.",
        )
    whole_at_least("repeats", repeats, 1)
    rng = np.random.default_rng(random_state)
    found = []
    with Progress("repeats") as progress:
        progress.expect(int(repeats))
        for _ in range(repeats):
            folds = drawn_folds(procedure, n_rows, int(cv), rng)
            tested = procedure.on(list(double_splits(folds)), n_jobs=n_jobs)
            if tested.losses is None:
                raise InputError(
                    "interval='bates' needs the loss of each test row, but the metric failed on a split.",
                    "see the warnings above.",
                )
            found.append(one_repeat(folds, tested.losses))
            progress.advance(1)
    result = combined(found)
    slope = metric.slope(result.error)
    return Estimate(
        float(metric.score_of(result.error)),
        f"cross-validation, {repeats} x {cv} folds, nested interval of Bates, Hastie and Tibshirani; without bias "
        f"correction {number(metric.score_of(result.uncorrected))}",
        StudentSpread(result.standard_error * slope),
        row_variance=result.row_variance * slope**2,
        bounds=metric.bounds,
    )


def drawn_folds(procedure: Procedure, n_rows: int, n_folds: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Divide the rows randomly into folds, stratified by class."""
    order = rng.permutation(n_rows)
    codes = getattr(procedure.session.target, "codes", None)
    if codes is not None:
        order = order[np.argsort(codes[order], kind="stable")]
    return [np.sort(order[k::n_folds]).astype(np.intp) for k in range(n_folds)]
