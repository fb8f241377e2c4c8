"""The bootstrap bias-corrected estimate (BBC-CV; Tsamardinos, Greasidou & Borboudakis 2018).

The best score of a search is too good: it was chosen for being the best. So the choice is repeated on bootstraps of the
rows, from stored out-of-fold answers, and each winner is scored on the rows its bootstrap did not draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    ResampledScores,
    draws_of,
    has_what_it_needs,
)
from foldwise.evaluation.resampled_areas import ResampledAreas
from foldwise.folds.progress import Progress
from foldwise.folds.scoring_protocol import PlannedSearch

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


def bias_corrected(search: Any, *, n_bootstraps: int = 500, random_state: Any = None) -> Estimate:
    """What the winner of a fitted search is worth, the luck of having been chosen taken off; nothing is fitted again.

    Rows that fit was given as one group are drawn together. The naive figure is the search's best score. With a
    callable `refit`, that choice is repeated, from a `cv_results_` with the settings, their means and their ranks.

    Parameters
    ----------
    search : a fitted search of this package, which keeps its out-of-fold answers (any `keep` but "none")
    n_bootstraps : how many bootstraps of the rows
    random_state : what they are drawn with

    Notes
    -----
    A metric that averages over classes, such as balanced accuracy, is scored on the splits of each bootstrap that keep
    the classes they test. A class of fewer rows than folds is not tested by every fold: the naive figure then averages
    folds with and without it and is too good, and the corrected one leans further to the folds without it, so that it
    can exceed the naive one. Where many classes are rare, no resampled split keeps all, with the same effect. Then
    take fewer folds, join rare classes, or choose by a score that averages over rows.

    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, KNNClassifier, bias_corrected
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(KNNClassifier(), {"n_neighbors": range(1, 31)}, cv=10).fit(X, y)
    >>> print(bias_corrected(search, random_state=0))
    0.965 (0.936 to 0.995; naive 0.980)
    """
    n_bootstraps = whole_at_least("n_bootstraps", n_bootstraps, 2, "500 are enough for most.")
    kept = kept_of(search)
    plan = search.plan()
    metric = plan.metrics[plan.chooser]
    check_answers(kept, metric, search)
    means = np.asarray(search.cv_results_[f"mean_test_{name_of_score(search, plan)}"], dtype=np.float64)
    usable = np.flatnonzero(np.isfinite(means) & kept.complete)  # a setting that failed cannot be scored again
    if not usable.size:
        raise InputError(
            "no setting has a score on every split, so nothing was chosen.",
            "see the warnings of fit; splits with all classes in each, or another metric, may help.",
        )
    scored = kept if len(usable) == len(means) else kept.of_settings(usable)
    stored = stored_of(scored, metric, search)
    if stored.n_units < 3:
        raise InputError(f"{stored.n_units} rows or groups cannot be resampled.", "a bootstrap needs at least 3.")

    def choose(scores: Floats) -> Ints:
        every = np.full((len(scores), len(means)), np.nan)
        every[:, usable] = scores
        return np.searchsorted(usable, chosen(every, search, plan, usable))

    parts = []
    at_once = max(1, DRAW_CELLS // max(stored.n_units, 2 * stored.n_blocks * stored.n_settings))
    with Progress("bootstraps") as progress:
        progress.expect(n_bootstraps)
        for counts in draws_of(stored.n_units, n_bootstraps, np.random.default_rng(random_state), at_once):
            parts.append(stored.draw(counts, choose))
            progress.advance(len(counts))
    draws = np.concatenate([part.scores for part in parts])
    if np.isfinite(draws).sum() < 2:
        raise InputError("the score is not defined on resampled rows.", "use a score of more rows, such as 'accuracy'.")
    spread, interval = spread_of(draws, [part.without for part in parts if part.without is not None])
    best = search.best_index_
    variance = float(np.var(kept.losses[best], ddof=1)) if kept.losses is not None else None
    method = f"bootstrap bias-corrected cross-validation (BBC-CV), {n_bootstraps:,} bootstraps, {interval} interval"
    return Estimate(float(np.nanmean(draws)), method, spread, float(means[best]), variance, metric.bounds)


def spread_of(draws: Floats, without: Sequence[Floats]) -> tuple[Spread, str]:
    """How far the mean of draws may be off, and what that rests on.

    A jackknife where the draws say what they would have been without the rows of each split: it covers as it should
    (see docs/estimates.md). Else the percentiles of the draws, as the method was published: too wide, as each draw is
    scored on a third of the rows only.
    """
    if not without:
        return DrawnSpread(draws[np.isfinite(draws)]), "percentile"
    means = np.nanmean(np.concatenate(without, axis=1), axis=1)
    n_blocks = len(means)
    error = np.sqrt((n_blocks - 1) / n_blocks * np.sum((means - means.mean()) ** 2))
    return StudentSpread(float(error), n_blocks - 1), "jackknife"


def kept_of(search: Any) -> OutOfFoldAnswers:
    """The stored answers of a search, or an error that says what to change."""
    planned = isinstance(search, PlannedSearch)
    if not planned:
        raise FoldwiseTypeError(
            f"bias_corrected wants a search of foldwise, which keeps its out-of-fold answers, got "
            f"{type(search).__name__}.",
            "change the import: from foldwise import GridSearchCV.",
        )
    if not hasattr(search, "kept_"):
        raise InputError("the search is not fitted.", "call fit first.")
    if not search.refit:
        raise InputError("the search chose no setting: refit is False.", "pass refit=True, or the metric that chooses.")
    if len(search.cv_results_["params"]) < 2:
        raise InputError(
            "the search tried one setting only, so nothing was chosen and there is no bias to correct.",
            "give it at least two settings, or score the model by `estimate`.",
        )
    kept: OutOfFoldAnswers = search.kept_
    return kept


def check_answers(kept: OutOfFoldAnswers, metric: Any, search: Any) -> None:
    """Refuse a search whose stored answers are not enough for its metric."""
    if search.keep == "none":
        raise InputError("the search kept no out-of-fold answers: keep='none'.", "fit it with keep='losses' or 'all'.")
    if kept.losses is not None or has_what_it_needs(kept, metric):
        return
    if isinstance(metric, ScorerMetric) and metric.wants_model:
        raise InputError(
            f"{metric!r} may look into the model, so it cannot be computed anew from stored answers.",
            "make it a scorer of predictions by sklearn.metrics.make_scorer, or estimate by nested_cv.",
        )
    hint = "fit it with keep='all', or estimate by nested_cv."
    raise InputError(f"the search did not keep what {metric!r} is computed from ({kept.why}).", hint)


def stored_of(kept: OutOfFoldAnswers, metric: Any, search: Any) -> ResampledScores:
    """The scores of stored answers."""
    if kept.losses is not None:
        return MeanLosses(kept, metric.lossless)
    if isinstance(metric, SessionMetric) and metric.name == "roc_auc" and ResampledAreas.serve(kept):
        return ResampledAreas(kept)
    return RecomputedScores(kept, metric, search.estimator)


def chosen(scores: Floats, search: Any, plan: Any, usable: Ints) -> Ints:  # (draws, settings) -> (draws,)
    """The choice of the search on each draw, among settings that can be scored."""
    if callable(search.refit):
        found = np.array([chosen_by_callable(one, search, plan) for one in scores])
        if np.isin(found, usable).all():
            return found
        raise InputError(
            f"refit chose setting {found[~np.isin(found, usable)][0]} of {scores.shape[1]} on resampled rows, which "
            "failed on some split, or is not there.",
            "let refit pass over settings whose mean score is NaN.",
        )
    best = np.argmax(np.where(np.isnan(scores[:, usable]), -np.inf, scores[:, usable]), axis=1)
    return np.asarray(usable[best])


def chosen_by_callable(scores: Floats, search: Any, plan: Any) -> int:
    """What a callable `refit` says to the scores of one draw."""
    name = name_of_score(search, plan)
    better = (scores[None, :] > scores[:, None]).sum(axis=1)
    shown = {name: part for name, part in search.cv_results_.items() if name.startswith("param")}
    try:
        return int(search.refit(shown | {f"mean_test_{name}": scores, f"rank_test_{name}": 1 + better}))
    except KeyError as error:
        raise InputError(
            f"refit reads {error} of cv_results_, which cannot be had of resampled rows.",
            f"choose by 'mean_test_{name}' or 'rank_test_{name}', or estimate by nested_cv.",
        ) from error


def name_of_score(search: Any, plan: Any) -> str:
    """The name of the choosing metric in `cv_results_`."""
    found = plan.chooser
    if f"mean_test_{found}" not in search.cv_results_ and isinstance(search.refit, str):
        return str(search.refit)  # a scorer that gives several by name
    return str(found)
