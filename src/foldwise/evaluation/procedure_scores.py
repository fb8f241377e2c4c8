"""Scores of a procedure (a model or a search) that is fitted on the training rows of splits, on their test rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.intervals import corrected_spread
from foldwise.evaluation.metrics.protocol import RowMetric, SearchMetric, as_row_metric
from foldwise.evaluation.metrics.scoring import check_single, metrics_of, score_name, search_score_name
from foldwise.evaluation.out_of_fold import OutOfFoldRecorder
from foldwise.evaluation.routing import (
    RoutedParams,
    is_routed,
    open_routed_session,
    route_search,
    route_validation,
    routed_metrics,
)
from foldwise.folds.engine import EvaluationTask, Outcome, ScoringPlan, evaluate
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession, Need
from foldwise.folds.scoring_protocol import runs_on_session
from foldwise.folds.splits import Split


@dataclass(frozen=True)
class ProcedureScores:
    """The scores of a procedure on some splits."""

    scores: Floats  # one per split
    losses: tuple[Floats, ...] | None  # of each test row of each split, if the score is a mean over rows
    searches: tuple[SearchOutcome, ...] | None = None  # result of the search on each split's training rows
    models: int = 0  # number of models scored

    @property
    def search_score(self) -> float | None:
        """The mean best score of the searches, which is optimistic."""
        return None if self.searches is None else float(np.mean([one.best_score for one in self.searches]))

    def row_variance(self, splits: Sequence[Split], metric: RowMetric | None) -> float | None:
        """Compute the variance of one row's contribution: from losses, or else from the scores of splits."""
        if self.losses is not None and metric is not None:
            losses = np.concatenate(self.losses)
            return float(np.var(losses, ddof=1)) * metric.slope(losses.mean()) ** 2 if len(losses) > 1 else None
        if len(self.scores) < 2:
            return None
        return float(np.var(self.scores, ddof=1) * np.mean([len(split.test) for split in splits]))

    def value(self, metric: RowMetric | None) -> float:
        """Return the mean score. Of a root, it is the root of the mean loss of all test rows.

        The mean of the roots of a few rows each is too small: by 1 / (4 · rows) of it for normal errors.
        """
        mean = float(np.mean(self.scores))
        if metric is None or self.losses is None or metric.slope(1.0) == 1.0 or not np.isfinite(mean):
            return mean
        return float(metric.score_of(np.concatenate(self.losses).mean()))

    def estimate(self, splits: Sequence[Split], metric: SearchMetric | None, *, same_metric: bool = True) -> Estimate:
        """Return the mean score with its interval, and the search score if it is of the same metric."""
        nested = "nested " if self.searches is not None else ""
        by_row = as_row_metric(metric)
        return Estimate(
            self.value(by_row),
            f"{nested}cross-validation, {len(splits)} splits, corrected resampled t interval",
            corrected_spread(self.scores, splits),
            self.search_score if same_metric else None,
            self.row_variance(splits, by_row),
            (-np.inf, np.inf) if metric is None else metric.bounds,
        )


@dataclass(frozen=True)
class SearchOutcome:
    """The result of a search on some rows."""

    best_params: dict[str, Any]
    best_score: float
    results: dict[str, Any]  # its `cv_results_`
    models: int


class Procedure:
    """A model or a search on a table; work that settings and splits share is done once.

    Searches of this package have a method `plan`. Any other estimator, including scikit-learn's searches, is a model.
    """

    def __init__(
        self, model: Any, X: Any, y: Any, *, scoring: Any = None, groups: Any = None, fit_params: Mapping[str, Any] = {}
    ) -> None:
        check_model(model, "model")
        check_single(scoring)
        planned = runs_on_session(model)
        self.plan: Any = model.plan() if planned else None
        if self.plan is not None:
            check_chooses(model)
        self.model, self.groups, self.scoring = model, groups, scoring
        estimator = model if self.plan is None else model.estimator
        if scoring is None and self.plan is not None:
            plan: Any = self.plan
            self.named_metrics, scorers, self.chooser = plan.metrics, plan.scorers, plan.chooser
        else:
            (self.named_metrics, scorers, _), self.chooser = metrics_of(scoring, estimator), "score"
        self.metrics, self._search_metrics = self.named_metrics, None if self.plan is None else self.plan.metrics
        routed = RoutedParams(dict(fit_params), {})
        if is_routed(fit_params):
            routed = route_validation(model, scorers, fit_params)
            self.metrics = routed_metrics(self.metrics, routed.score or {})
            if self.plan is not None:
                self.plan, routed = route_search(model, self.plan, routed.fit)
                self.groups = groups if groups is not None else routed.groups
        self.session: FoldSession = open_routed_session(estimator, X, y, routed)

    @property
    def metric(self) -> Any:
        """The metric of the estimate."""
        return self.metrics[self.chooser]

    @property
    def score_name(self) -> str:
        """The name of that metric; procedures with equal names are scored alike."""
        if self.scoring is None and self.plan is not None:
            return search_score_name(self.model, self.named_metrics)
        return score_name(self.named_metrics[self.chooser], self.model, self.scoring)

    @property
    def chooses_alike(self) -> bool:
        """Whether a search selects by the metric of the estimate."""
        return self.plan is not None and search_score_name(self.model, self._search_metrics) == self.score_name

    def on(self, splits: Sequence[Split], *, n_jobs: int | None = None) -> ProcedureScores:
        """Score the procedure on splits."""
        if self.plan is None:
            return scored_model(self.session, splits, self.metrics, self.chooser, n_jobs=n_jobs)
        searched = searches_on(self.model, self.plan, self.session, splits, self.groups)
        return scored_winners(self.model, self.session, splits, searched, self.metrics, self.chooser)


def check_model(model: Any, what: str, hint: str = "pass an estimator such as NaiveBayes().") -> None:
    """Raise an error if `model` is not an estimator."""
    if isinstance(model, type):
        raise FoldwiseTypeError(
            f"{what} must be an estimator, but {model.__name__} is a class.", f"pass an instance: {model.__name__}()."
        )
    if not hasattr(model, "fit"):
        raise FoldwiseTypeError(f"{what} must be an estimator, got {type(model).__name__}.", hint)


def check_chooses(search: Any) -> None:
    """Raise an error for a search that does not select a setting."""
    if not search.refit:
        raise InputError("the search must select a setting, but refit is False.", "pass refit=True.")


def searches_on(
    search: Any, plan: Any, session: FoldSession, splits: Sequence[Split], groups: Any = None
) -> list[SearchOutcome]:
    """Run a search on the training rows of each split, all from one session.

    The searches advance together, so that one pool of threads does the work of all.
    """
    with closing(plan), Progress() as progress:
        searches = [plan.start_on(session, split.train, groups) for split in splits]
        while going := [one for one in searches if one.question is not None]:
            outcomes = plan.evaluate(going, progress=progress, deadline=common_deadline(going))
            for one, outcome in zip(going, outcomes, strict=True):
                one.tell(outcome)
    found = []
    for one in searches:
        results = one.results
        best = one.best_index(results)
        name = search.refit if one.several and not callable(search.refit) else plan.chooser
        score = results.get(f"mean_test_{name}", np.full(best + 1, np.nan))[best]
        found.append(SearchOutcome(results["params"][best], float(score), results, one.models_scored))
    return found


def common_deadline(searches: Sequence[Any]) -> float | None:
    """The time at which the last of some searches ends. None if one of them has no timeout, or its own store."""
    ends = [one.deadline for one in searches if one.study is None and one.deadline is not None]
    return max(ends) if ends and len(ends) == len(searches) else None


def scored_winners(
    search: Any,
    session: FoldSession,
    splits: Sequence[Split],
    searched: Sequence[SearchOutcome],
    metrics: dict[str, Any],
    chooser: str,
) -> ProcedureScores:
    """Score the winner of each search on the test rows of its split."""
    winners = [EvaluationTask([one.best_params], [split]) for one, split in zip(searched, splits, strict=True)]
    outcomes = evaluate(session, winners, work_of(metrics, chooser), n_jobs=search.n_jobs)
    check_some_scored(outcomes)
    scores = [outer_score(outcome, chooser, search.refit) for outcome in outcomes]
    losses = [losses_of(outcome, 1) for outcome in outcomes]
    complete = tuple(part[0] for part in losses if part is not None)
    models = sum(one.models + 1 for one in searched)
    return ProcedureScores(
        np.array(scores), complete if len(complete) == len(splits) else None, tuple(searched), models
    )


def scored_model(
    session: FoldSession, splits: Sequence[Split], metrics: dict[str, Any], chooser: str, *, n_jobs: int | None = None
) -> ProcedureScores:
    """Score the model with its own parameters."""
    [outcome] = evaluate(session, [EvaluationTask([{}], splits)], work_of(metrics, chooser), n_jobs=n_jobs)
    for error in [*(one[-1] for one in outcome.failures), *(one[-1] for one in outcome.unscored)]:
        error.add_note(f"raised by {type(session.estimator).__name__} in cross-validation")
        raise error
    if outcome.scores[chooser].dtype == object:
        raise InputError(
            f"scoring must return one number, but {metrics[chooser]!r} returns several.", "pass a single metric."
        )
    return ProcedureScores(outcome.scores[chooser][0], losses_of(outcome, len(splits)), models=len(splits))


def work_of(metrics: dict[str, Any], chooser: str) -> ScoringPlan:
    """Plan scores without sample weights, as scikit-learn's `cross_validate` computes them, and keep the losses."""
    return ScoringPlan(metrics, recorder=OutOfFoldRecorder(metrics[chooser], Need(0), Need(0)), weighted=False)


def losses_of(outcome: Outcome, n_splits: int) -> tuple[Floats, ...] | None:
    """Return the recorded losses of one setting by split; None if any are missing."""
    found: dict[int, Floats] = {}
    for _, number, part in outcome.kept:
        if "losses" not in part:
            continue
        [losses] = part["losses"]
        found |= dict(enumerate(losses[:, None])) if number is None else {number: losses}  # None: each row left out
    return tuple(found[number] for number in range(n_splits)) if len(found) == n_splits else None


def check_some_scored(outcomes: Sequence[Outcome]) -> None:
    """Raise if the winner of every search failed on its outer test rows."""
    errors = [[one[-1] for one in (*outcome.failures, *outcome.unscored)] for outcome in outcomes]
    if not errors or not all(errors):
        return
    first: Any = errors[0][0]
    hint = "pass error_score='raise' to see the traceback."
    if "multi_class" in str(first):
        hint = "with more than two classes, pass scoring='roc_auc_ovr'."
    which = f"all {len(errors)} outer folds failed, the first" if len(errors) > 1 else "the only outer fold failed,"
    raise InputError(f"{which} with {first!r}.", hint) from first


def outer_score(outcome: Outcome, chooser: str, refit: Any) -> float:
    """Return the score of a winner; if its fit or its score fails, NaN, as in `cross_validate`."""
    for error in [*(one[-1] for one in outcome.failures), *(one[-1] for one in outcome.unscored)]:
        warnings.warn(f"an outer fold failed, so its score is nan: {error!r}", UserWarning, stacklevel=4)
        return float("nan")
    found = outcome.scores[chooser][0, 0]
    return float(found[refit] if isinstance(found, dict) else found)
