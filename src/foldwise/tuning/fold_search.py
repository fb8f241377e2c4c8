"""The base of all searches: checks, the rounds of a search, the choice of a setting and its fit on all rows."""

from __future__ import annotations

import time
from abc import abstractmethod
from contextlib import closing
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.callback import with_callbacks

from foldwise.data.arguments import check_jobs
from foldwise.data.number_objects import warning_once
from foldwise.errors import InputError
from foldwise.evaluation.failures import check_error_score
from foldwise.evaluation.metrics import metrics_of
from foldwise.evaluation.out_of_fold import gather, recorder_for
from foldwise.evaluation.routing import (
    RoutedParams,
    check_fit_params,
    open_routed_session,
    requests_of,
    route,
    routed_metrics,
)
from foldwise.folds.abilities import work_shared
from foldwise.folds.engine import Outcome
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession
from foldwise.folds.rows import count_rows
from foldwise.tuning.callbacks import ObservedSession, SearchTasks, has_callbacks
from foldwise.tuning.default_setting import default_is_tied, default_setting
from foldwise.tuning.dimensions import Space
from foldwise.tuning.racing import Racing
from foldwise.tuning.running_search import CheckedSearchPlan, RunningSearch, check_refit, run
from foldwise.tuning.scheduled import ScheduledSearch, SplitInput, announce, check_schedule, schedules_itself
from foldwise.tuning.search_views import SearchViews
from foldwise.tuning.strategies.protocol import BatchStrategy, Strategy, as_running, is_tried


class FoldSearch(SearchViews):
    """The base of all searches, mixed in before scikit-learn's class, whose predict, score and tags are kept."""

    @abstractmethod
    def _space(self) -> tuple[Space, Strategy, Any]:
        """Return the space, the strategy and the seed of its generator."""

    compares_default = False  # whether the defaults of the estimator are compared with the best setting

    # options that only some searches have as parameters
    n_trials: int | None = None
    timeout: float | None = None
    initial_settings: Any = None
    reshuffle: bool = False
    store: Any = None
    keep: str = "none"
    watch: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_run_search" in vars(cls):  # a schedule of its own cannot be run on a session of a larger table
            cls.plan = None  # type: ignore[assignment, method-assign]

    def plan(self) -> CheckedSearchPlan:
        """Check the parameters of the search before anything is fitted.

        Returns
        -------
        CheckedSearchPlan
            The space, strategy and metrics.
        """
        return self._checked()

    def _checked(self) -> CheckedSearchPlan:
        search: Any = self
        check_options(search)
        space, strategy, seed = self._space()
        metrics, scorers, several = metrics_of(search.scoring, search.estimator)
        if several:
            check_refit(search.refit, list(scorers))
        limits = (self.n_trials, self.timeout)
        initial = tuple(self.initial_settings or ())
        default = default_setting(search.estimator, space) if isinstance(strategy, BatchStrategy) else None
        if default is not None and not is_tried(default, [as_running(one) for one in initial]):
            initial = (*initial, default)
        reshuffle = bool(self.reshuffle)
        if reshuffle and isinstance(strategy, Racing):
            raise InputError(
                "reshuffle=True cannot be combined with racing, which compares settings on the same folds.",
                "use one of them.",
            )
        options = (*limits, initial, reshuffle)
        return CheckedSearchPlan(self, space, strategy, metrics, scorers, several, seed, *options)

    def get_metadata_routing(self) -> Any:
        """Return what the estimator, the scorers and the splitter request by scikit-learn's metadata routing.

        Returns
        -------
        MetadataRouter
            Their requests.
        """
        search: Any = self
        return requests_of(search, metrics_of(search.scoring, search.estimator)[1])

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Score every setting on every split, and fit the best one on all rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The table.
        y : array-like of shape (n_rows,), default None
            The target.
        **params : dict
            Passed to `fit` of the estimator, such as `sample_weight`; `groups` is passed to the splitter. With
            scikit-learn's metadata routing, each is passed to the parts that request it.

        Returns
        -------
        self : FoldSearch
            The fitted search.
        """
        search: Any = self
        began = time.monotonic()
        plan = replace(self._checked(), began=began)
        routed = route(search, plan.scorers, params)
        check_fit_params(f"{type(self).__name__}.fit", search.estimator, routed.fit)
        if routed.score is not None:
            plan = replace(plan, metrics=routed_metrics(plan.metrics, routed.score))
        check_rows(search.estimator, X, y, routed.fit)
        with warning_once():
            tasks = SearchTasks(search, X, y, routed.fit)
            running, why = (run_schedule if schedules_itself(search) else run_strategy)(plan, X, y, routed, tasks)
            search.cv_results_ = running.results
            search.n_splits_, search.multimetric_ = len(running.splits), running.several
            search.strategy_ = running.plan.strategy
            search.scorer_ = plan.scorers if plan.several else plan.scorers["score"]
            session = running.session
            any_shared = any(map(session.lazy, running.settings))
            search.session_ = work_shared(session, running.settings) if any_shared else "refit"
            search.models_scored_, search.fits_done_ = running.models_scored, running.fits_done
            search.kept_ = gather(running.outcomes, session, len(running.settings), running.splits, why, routed.groups)
            self._choose(running)
            if self.compares_default and not callable(search.refit) and hasattr(search, "best_index_"):
                search.default_tied_ = default_is_tied(search, running)
            if search.refit:
                self._refit(X, y, routed.fit, tasks)
        tasks.end()
        return self

    def _choose(self, running: RunningSearch) -> None:
        search: Any = self
        if not search.refit and running.several:
            return
        search.best_index_ = running.best_index(search.cv_results_)
        search.best_params_ = search.cv_results_["params"][search.best_index_]
        if not callable(search.refit) or "iter" in search.cv_results_:  # halving ignores a callable
            name = search.refit if running.several else "score"
            search.best_score_ = search.cv_results_[f"mean_test_{name}"][search.best_index_]

    def _refit(self, X: Any, y: Any, params: dict[str, Any], tasks: SearchTasks) -> None:
        search: Any = self
        start = time.time()
        best = {name: clone(value, safe=False) for name, value in search.best_params_.items()}
        search.best_estimator_ = clone(search.estimator).set_params(**best)
        with tasks.final_fit(search):
            search.best_estimator_.fit(X, **params) if y is None else search.best_estimator_.fit(X, y, **params)
        search.refit_time_ = time.time() - start
        if hasattr(search.best_estimator_, "feature_names_in_"):
            search.feature_names_in_ = search.best_estimator_.feature_names_in_


def run_strategy(
    plan: CheckedSearchPlan, X: Any, y: Any, routed: RoutedParams, tasks: SearchTasks
) -> tuple[RunningSearch, str]:
    """Run the rounds of a strategy; return also why not all predictions are kept."""
    search, n_rows = plan.search, count_rows(X)
    session = session_of(search, X, y, routed)
    if routed.split.keys() <= {"groups"}:
        splits = plan.splits(X, y, routed.groups, n_rows)
    else:
        splits = SplitInput(X, y, routed.split).splits(search.cv)
    with closing(plan):
        study = plan.study(session, splits, routed.groups)
        running = plan.start(session, splits, lambda number: plan.splits(X, y, routed.groups, n_rows, number), study)
        n = len(running.question.settings) if running.question is not None else 0
        announce(search, n, len(splits))
        on_same_splits = not (plan.reshuffle or isinstance(plan.strategy, Racing))
        keep = kept_of(search, routed) if on_same_splits else "none"
        keeper, why = recorder_for(keep, session, plan.metrics, plan.chooser, n, splits)
        run(running, keeper=keeper, progress=Progress(always=bool(search.verbose)))
    if study is not None and keeper is not None and any(lacks_predictions(one) for one in running.outcomes):
        running.outcomes = [replace(one, kept=()) for one in running.outcomes]
        why = (
            "the store has only the scores of some trials, because nested cross-validation or keep='none' computed them"
        )
    return running, why


def lacks_predictions(outcome: Outcome) -> bool:
    """Whether an outcome has scores, but none of the predictions, because a store has only the scores."""
    return not outcome.kept and any(np.isfinite(values).any() for values in outcome.scores.values())


def run_schedule(
    plan: CheckedSearchPlan, X: Any, y: Any, routed: RoutedParams, tasks: SearchTasks
) -> tuple[RunningSearch, str]:
    """Run the rounds that `_run_search` or callbacks ask for; return also why not all predictions are kept."""
    search = plan.search
    if search.store is not None:
        raise InputError("callbacks cannot be combined with a store.", "remove the callbacks.")
    if plan.reshuffle or isinstance(plan.strategy, Racing):
        raise InputError("callbacks cannot be combined with racing or reshuffle=True.", "remove the callbacks.")
    source = SplitInput(X, y, routed.split)
    check_schedule(search, source)
    running = ScheduledSearch(plan, session_of(search, X, y, routed), source, kept_of(search, routed))
    running.run(tasks.root)
    return running, running.why


def kept_of(search: Any, routed: RoutedParams) -> str:
    """Return what to store of the predictions: with routing nothing, as scores may be weighted unlike fits."""
    return str(search.keep) if routed.score is None else "none"


def session_of(search: Any, X: Any, y: Any, routed: RoutedParams) -> FoldSession:
    """Open the session of a search; with callbacks, and where arguments of `fit` are routed on, it refits."""
    if has_callbacks(search):
        return ObservedSession(search, X, y, routed.fit)
    return open_routed_session(search.estimator, X, y, routed)


def check_options(search: Any) -> None:
    """Raise an error for invalid parameters before anything is fitted."""
    check_jobs(search.n_jobs)
    for name, kind in (("n_trials", int | np.integer), ("timeout", int | float)):
        value = getattr(search, name)
        if value is not None and not (isinstance(value, kind) and value > 0):
            raise InputError(f"{name} must be a positive number or None, got {value!r}.")
    check_error_score(search.error_score)
    scoring = search.scoring
    if isinstance(scoring, list | tuple | set | dict) and not scoring:
        raise InputError(f"scoring must name at least one metric, got {scoring!r}.", "pass 'accuracy', or None.")


def check_rows(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> None:
    """Raise an error if the target is missing, or weights do not match the rows."""
    if y is None and (is_classifier(estimator) or is_regressor(estimator)):
        raise InputError(f"{type(estimator).__name__} needs a target, but y is None.", "pass the target as y.")
    weights: Any = params.get("sample_weight")
    if np.ndim(weights) > 0 and len(weights) != count_rows(X):
        raise InputError(
            f"sample_weight must have one value per row of X ({count_rows(X)}), got {len(weights)}.",
            "pass one weight per row.",
        )
