"""`bias_corrected`: bootstrap bias-corrected cross-validation (BBC-CV; Tsamardinos, Greasidou & Borboudakis 2018).

The best score of a search is optimistic, because the setting was selected by it. BBC-CV repeats the selection on
bootstrap samples of the stored out-of-fold predictions, and scores each winner on the rows that were not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.arrays import AnyInts, Floats
from foldwise.data.arguments import whole_at_least
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.estimates import DrawnSpread, Estimate, Spread, StudentSpread
from foldwise.evaluation.metrics.scorers import ScorerMetric
from foldwise.evaluation.metrics.session import SessionMetric
from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.evaluation.resampled import (
    DRAW_CELLS,
    MeanLosses,
    RecomputedScores,
    ResampledOrders,
    ResampledScores,
    draws_of,
    has_what_it_needs,
    units_of,
)
from foldwise.evaluation.skewed import SkewedSpread, mean_moments
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import TargetValues
from foldwise.folds.scoring_protocol import runs_on_session
from foldwise.folds.tolerance import first_best, ranks, tie_unit


def bias_corrected(search: Any, *, n_bootstraps: int = 500, random_state: Any = None) -> Estimate:
    """Correct the best score of a fitted search for model selection, without fitting anything again.

    Parameters
    ----------
    search : GridSearchCV, RandomizedSearchCV or SearchCV
        A fitted search of this package with stored out-of-fold predictions (any `keep` except "none").
    n_bootstraps : int, default 500
        Number of bootstrap samples. Rows of the same group are drawn together.
    random_state : int, Generator or None, default None
        Seed of the bootstrap.

    Returns
    -------
    Estimate
        The corrected score; its `search_score` is the best score of the search.

    Notes
    -----
    The interval is a jackknife over folds. For a regressor, its variance is averaged with that of independent rows: the
    jackknife knows how models differ, but only from a few folds. The interval is then adjusted for the skewness of the
    losses (Hall 1992): where a few rows have large errors, it reaches further up than down.

    A root mean squared error is the root of the squared errors of all bootstrap samples. The mean of their roots would
    be too small, because each sample is scored on a third of the rows.

    A callable `refit` is applied to each bootstrap sample, with a `cv_results_` that contains settings, mean scores and
    ranks.

    The correction is unreliable if a metric averages over classes, such as balanced accuracy, and some classes have
    fewer rows than there are folds: folds without these classes score too high, and the corrected estimate may even
    exceed the search score. Use fewer folds, merge rare classes, or select by a metric that averages over rows.

    References
    ----------
    Tsamardinos, Greasidou and Borboudakis (2018), Bootstrapping the out-of-sample predictions for efficient and
    accurate cross-validation. Hall (1992), On the removal of skewness by transformation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, KNNClassifier, bias_corrected
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(KNNClassifier(), {"n_neighbors": range(1, 31)}, cv=10).fit(X, y)
    >>> print(bias_corrected(search, random_state=0))
    0.965 (95% interval 0.936 to 0.995), search score (optimistic) 0.980
    """
    n_bootstraps = whole_at_least("n_bootstraps", n_bootstraps, 2, "500 are usually enough.")
    kept = kept_of(search)
    plan = search.plan()
    metric = plan.metrics[plan.chooser]
    check_answers(kept, metric, search)
    means = np.asarray(search.cv_results_[f"mean_test_{name_of_score(search, plan)}"], dtype=np.float64)
    usable = np.flatnonzero(np.isfinite(means) & kept.complete)  # failed settings cannot be scored again
    if not usable.size:
        raise InputError(
            "no setting has a score on every split.",
            "see the warnings of fit; use splits that contain all classes, or another metric.",
        )
    scored = kept if len(usable) == len(means) else kept.of_settings(usable)
    stored = stored_of(scored, metric, search)
    if stored.n_units < 3:
        raise InputError(f"the bootstrap needs at least 3 rows or groups, got {stored.n_units}.")

    def choose(scores: Floats) -> AnyInts:
        every = np.full((len(scores), len(means)), np.nan)
        every[:, usable] = scores
        return np.searchsorted(usable, chosen(every, search, plan, usable, tie_unit(kept.target)))

    parts = []
    at_once = max(1, DRAW_CELLS // max(stored.n_units, 2 * stored.n_blocks * stored.n_settings))
    with Progress("bootstraps") as progress:
        progress.expect(n_bootstraps)
        for counts in draws_of(stored.n_units, n_bootstraps, np.random.default_rng(random_state), at_once):
            parts.append(stored.draw(counts, choose))
            progress.advance(len(counts))
    draws = np.concatenate([part.scores for part in parts])
    if np.isfinite(draws).sum() < 2:
        raise InputError(
            "the metric is not defined on the bootstrap samples.", "select by another metric, such as 'accuracy'."
        )
    root = kept.losses is not None and metric.root
    spread, interval = spread_of(draws, [part.without for part in parts if part.without is not None], root)
    best = search.best_index_
    variance = None
    if kept.losses is not None:
        losses = kept.losses[best]
        variance = float(np.var(losses, ddof=1)) * metric.slope(float(np.mean(losses))) ** 2
        if isinstance(kept.target, TargetValues) and isinstance(spread, StudentSpread):
            spread, interval = skewed(spread, kept, best, metric), f"skewness-adjusted {interval}"
    method = f"bootstrap bias-corrected cross-validation (BBC-CV), {n_bootstraps:,} bootstraps, {interval} interval"
    return Estimate(float(mean_of(draws, root)), method, spread, float(means[best]), variance, metric.bounds)


def mean_of(scores: Floats, root: bool) -> Any:  # scores without their last axis
    """Average scores over bootstraps; those that are minus the root of a mean loss, on the scale of the loss."""
    return -np.sqrt(np.nanmean(scores**2, axis=-1)) if root else np.nanmean(scores, axis=-1)


def spread_of(draws: Floats, without: Sequence[Floats], root: bool = False) -> tuple[Spread, str]:
    """Return the uncertainty of the mean of draws, and the name of the method.

    The jackknife is used if the scores without the rows of each split are known; its coverage is right (see
    docs/estimates.md). Otherwise the percentiles of the draws are used, as in the paper. They are too wide, because
    each draw is scored on only a third of the rows.
    """
    if not without:
        return DrawnSpread(draws[np.isfinite(draws)]), "percentile"
    means = mean_of(np.concatenate(without, axis=1), root)
    n_blocks = len(means)
    error = np.sqrt((n_blocks - 1) / n_blocks * np.sum((means - means.mean()) ** 2))
    return StudentSpread(float(error), n_blocks - 1), "jackknife"


def skewed(spread: StudentSpread, kept: OutOfFoldAnswers, best: int, metric: Any) -> SkewedSpread:
    """Return the spread with the variance and skewness of the losses of a regressor, which a few large errors dominate.

    The jackknife over ten folds has nine degrees of freedom, and its own error makes intervals too short too often. The
    variance of independent rows is precise, but does not know that other rows would give another model. Their average
    covers better than each of them at the same width (see benchmarks/value_estimates.md).
    """
    assert kept.losses is not None
    losses = kept.losses[best]
    weights = np.ones(len(losses)) if kept.weights is None else kept.weights[kept.rows]
    units, slope = units_of(kept), metric.slope(float(np.average(losses, weights=weights)))
    by_unit, by_row = mean_moments(losses, weights, units), mean_moments(losses, np.ones(len(losses)))
    error = float(np.sqrt((spread.error**2 + (slope * by_unit.error) ** 2) / 2))
    per_error = by_row.skewness / (slope * by_row.error) if by_row.error > 0 else 0.0
    return SkewedSpread(error, spread.freedom, by_unit.skewness, metric.root, per_error)


def kept_of(search: Any) -> OutOfFoldAnswers:
    """Return the stored predictions of a search."""
    planned = runs_on_session(search)
    if not planned:
        package = type(search).__module__.partition(".")[0]
        of = "" if package in ("foldwise", "builtins") else f" of {package}"
        raise FoldwiseTypeError(
            "bias_corrected needs a search of Foldwise, which stores out-of-fold predictions, got "
            f"{type(search).__name__}{of}.",
            "pass a fitted search, such as foldwise.GridSearchCV.",
        )
    if not hasattr(search, "kept_"):
        raise InputError("the search is not fitted.", "call fit first.")
    if not search.refit:
        raise InputError(
            "the search did not select a setting, because refit is False.",
            "pass refit=True, or the name of the metric to select by.",
        )
    if len(search.cv_results_["params"]) < 2:
        raise InputError(
            "the search has a single setting, so there is no selection bias to correct.",
            "search at least two settings, or use `estimate`.",
        )
    kept: OutOfFoldAnswers = search.kept_
    return kept


def check_answers(kept: OutOfFoldAnswers, metric: Any, search: Any) -> None:
    """Raise an error if the stored predictions are not enough for the metric."""
    if search.keep == "none":
        raise InputError(
            "the search stored no out-of-fold predictions, because keep is 'none'.",
            "fit it with keep='losses' or keep='all'.",
        )
    if kept.losses is not None or has_what_it_needs(kept, metric):
        return
    if isinstance(metric, ScorerMetric) and metric.wants_model:
        raise InputError(
            f"{metric!r} may use the fitted model, so it cannot be computed from stored predictions.",
            "create the scorer with sklearn.metrics.make_scorer, or use nested_cv.",
        )
    hint = "fit it with keep='all', or use nested_cv."
    raise InputError(f"the search did not store the predictions that {metric!r} needs ({kept.why}).", hint)


def stored_of(kept: OutOfFoldAnswers, metric: Any, search: Any) -> ResampledScores:
    """Return the way to score stored predictions on bootstrap samples."""
    if kept.losses is not None:
        return MeanLosses(kept, metric.score_of)
    of_order = metric.metric.order_scores if isinstance(metric, SessionMetric) else None
    if of_order is not None and ResampledOrders.serve(kept):
        return ResampledOrders(kept, of_order)
    return RecomputedScores(kept, metric, search.estimator)


def chosen(
    scores: Floats, search: Any, plan: Any, usable: AnyInts, unit: float
) -> AnyInts:  # (draws, settings) -> (draws,)
    """Repeat the selection of the search on each draw, among settings that can be scored."""
    if callable(search.refit):
        found = np.array([chosen_by_callable(one, search, plan, unit) for one in scores])
        if np.isin(found, usable).all():
            return found
        raise InputError(
            f"refit must select a setting with a score, but on a bootstrap sample it selected setting "
            f"{found[~np.isin(found, usable)][0]} of {scores.shape[1]}, which failed on a split or does not exist.",
            "make refit skip settings whose mean score is NaN.",
        )
    return np.asarray(usable[first_best(scores[:, usable], unit)])


def chosen_by_callable(scores: Floats, search: Any, plan: Any, unit: float) -> int:
    """Apply a callable `refit` to the scores of one draw."""
    name = name_of_score(search, plan)
    shown = {name: part for name, part in search.cv_results_.items() if name.startswith("param")}
    try:
        return int(search.refit(shown | {f"mean_test_{name}": scores, f"rank_test_{name}": ranks(scores, unit)}))
    except KeyError as error:
        raise InputError(
            f"refit reads {error} of cv_results_, which is not available for bootstrap samples.",
            f"use 'mean_test_{name}' or 'rank_test_{name}' in refit, or use nested_cv.",
        ) from error


def name_of_score(search: Any, plan: Any) -> str:
    """Return the name of the metric that selects in `cv_results_`."""
    if f"mean_test_{plan.chooser}" not in search.cv_results_ and isinstance(search.refit, str):
        return str(search.refit)  # a scorer that returns several scores by name
    return str(plan.chooser)
