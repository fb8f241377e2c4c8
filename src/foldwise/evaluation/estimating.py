"""`estimate`: what a model, or a whole search, is worth on new rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from foldwise.data.arguments import check_jobs, one_of, whole_at_least
from foldwise.errors import InputError
from foldwise.evaluation.estimates import Estimate, StudentSpread
from foldwise.evaluation.nested_interval import combined, double_splits, one_repeat
from foldwise.evaluation.procedure_scores import Procedure
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
    """The cross-validated score of a model, or of a whole search, with an interval that tells the truth.

    Parameters
    ----------
    model : an estimator, or a search of this package; a search is run anew on the training rows of every split
    X, y : the table and its target
    cv : splits as scikit-learn takes them; for "bates" the number of folds
    scoring : the metric; by default the search's own, or the model's `score`
    interval : "corrected" for the corrected resampled t interval (Nadeau & Bengio 2003), of any metric; "bates" for the
        nested interval of Bates, Hastie & Tibshirani (2023), of metrics that average over rows. It fits K(K+1)/2 models
        a repeat, and corrects the figure for the rows that models of K folds lack
    repeats : of "bates", how many random divisions into folds
    groups : rows that belong together, for splitters that want them
    random_state : of the divisions of "bates"

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, estimate
    >>> X, y = load_iris(return_X_y=True)
    >>> estimate(NaiveBayes(), X, y, cv=10)
    0.953 (0.907 to 1.000), cross-validation, 10 splits, corrected resampled t interval
    >>> print(estimate(NaiveBayes(), X, y, interval="bates", random_state=0))
    0.955 (0.907 to 1.000; naive 0.955)
    """
    one_of("interval", interval, ("corrected", "bates"))
    check_jobs(n_jobs)
    procedure = Procedure(model, X, y, scoring=scoring, groups=groups, fit_params=fit_params)
    if interval == "bates":
        return by_bates(procedure, count_rows(X), cv, repeats, groups, n_jobs, random_state)
    splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=is_classifier(model))
    tested = procedure.on(splits, n_jobs=n_jobs)
    if not np.isfinite(tested.scores).all():
        place = int(np.flatnonzero(~np.isfinite(tested.scores))[0])
        raise InputError(
            f"the score on split {place} is {tested.scores[place]}, so there is no estimate.",
            "choose splits on which the metric is defined, with all classes in each, or another metric.",
        )
    return tested.estimate(splits, procedure.metric.bounds, with_naive=procedure.chooses_alike)


def by_bates(
    procedure: Procedure, n_rows: int, cv: Any, repeats: int, groups: Any, n_jobs: int | None, random_state: Any
) -> Estimate:
    """The estimate with the nested interval."""
    metric = procedure.metric
    if not metric.averages_rows:
        raise InputError(
            f"the interval 'bates' is for scores that average over rows, and {metric!r} does not.",
            "pass interval='corrected', or a scoring such as 'accuracy', 'neg_log_loss' or 'neg_mean_squared_error'.",
        )
    if n_rows < 6:
        raise InputError(
            f"the interval 'bates' needs at least 6 rows, three folds of two, but there are {n_rows}.",
            "pass interval='corrected'.",
        )
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or not 3 <= cv <= n_rows // 2:
        raise InputError(
            f"the interval 'bates' divides the rows by itself: cv must be a number of folds from 3 to {n_rows // 2}, "
            f"got {cv!r}.",
            "pass cv=10, or interval='corrected' for splits of your own.",
        )
    if groups is not None:
        raise InputError(
            "the interval 'bates' is for rows that are independent of each other, but groups were given.",
            "pass interval='corrected' with a splitter by groups, such as GroupKFold.",
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
                raise InputError("on a split the model gave no losses, so there is no interval.", "see the warnings.")
            found.append(one_repeat(folds, tested.losses))
            progress.advance(1)
    result = combined(found)
    return Estimate(
        metric.lossless - result.error,
        f"cross-validation, {repeats} x {cv} folds, nested interval of Bates, Hastie and Tibshirani",
        StudentSpread(result.standard_error),
        metric.lossless - result.naive,
        result.row_variance,
        metric.bounds,
    )


def drawn_folds(procedure: Procedure, n_rows: int, n_folds: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """A random division of the rows; of classes, each as evenly spread as it goes."""
    order = rng.permutation(n_rows)
    codes = getattr(procedure.session.target, "codes", None)
    if codes is not None:
        order = order[np.argsort(codes[order], kind="stable")]
    return [np.sort(order[k::n_folds]).astype(np.intp) for k in range(n_folds)]
