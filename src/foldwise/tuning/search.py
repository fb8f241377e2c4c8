"""Searches with scikit-learn's interface that share work between settings and splits.

`GridSearchCV` and `RandomizedSearchCV` replace scikit-learn's by changing the import; `SearchCV` takes any strategy.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterSampler

from foldwise.data.arguments import check_jobs
from foldwise.errors import InputError
from foldwise.evaluation.metrics import metrics_of
from foldwise.evaluation.out_of_fold import gather, recorder_for
from foldwise.folds.opening import open_session
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import Params
from foldwise.folds.rows import count_rows, refuse_routing
from foldwise.tuning.default_setting import default_is_tied, default_setting
from foldwise.tuning.racing import Racing
from foldwise.tuning.running_search import CheckedSearchPlan, RunningSearch, as_running, check_refit, run
from foldwise.tuning.search_views import SearchViews
from foldwise.tuning.space import Space
from foldwise.tuning.strategies import strategy_of
from foldwise.tuning.strategies.grid import Grid
from foldwise.tuning.strategies.protocol import Strategy, Trial, is_tried


class FoldSearch(SearchViews):
    """The base of all searches, mixed in before scikit-learn's class, whose predict, score and tags are kept."""

    @abstractmethod
    def _space(self) -> tuple[Space, Strategy, Any]:
        """Return the space, the strategy and the seed of its generator."""

    def plan(self) -> CheckedSearchPlan:
        """Check the parameters of the search before anything is fitted.

        Returns
        -------
        CheckedSearchPlan
            The space, strategy and metrics.
        """
        search: Any = self
        check_options(search)
        space, strategy, seed = self._space()
        metrics, scorers, several = metrics_of(search.scoring, search.estimator)
        if several:
            check_refit(search.refit, list(scorers))
        limits = (getattr(search, "n_trials", None), getattr(search, "timeout", None))
        initial = tuple(getattr(search, "initial_settings", None) or ())
        default = default_setting(search.estimator, space) if hasattr(strategy, "batch") else None
        if default is not None and not is_tried(default, [as_running(one) for one in initial]):
            initial = (*initial, default)
        reshuffle = bool(getattr(search, "reshuffle", False))
        if reshuffle and isinstance(strategy, Racing):
            raise InputError(
                "reshuffle=True cannot be combined with racing, which compares settings on the same folds.",
                "use one of them.",
            )
        options = (*limits, initial, reshuffle)
        return CheckedSearchPlan(self, space, strategy, metrics, scorers, several, seed, *options)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Score every setting on every split, and fit the best one on all rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The table.
        y : array-like of shape (n_rows,), default None
            The target.
        **params : dict
            Passed to `fit` of the estimator, such as `sample_weight`; `groups` is passed to the splitter.

        Returns
        -------
        self : FoldSearch
            The fitted search.
        """
        search: Any = self
        groups = params.pop("groups", None)
        plan = self.plan()
        refuse_routing(params)
        check_rows(search.estimator, X, y, params)
        session = open_session(search.estimator, X, y, params)
        n_rows = count_rows(X)
        splits = plan.splits(X, y, groups, n_rows)
        running = plan.start(session, splits, lambda number: plan.splits(X, y, groups, n_rows, number))
        n = len(running.question.settings) if running.question is not None else 0
        if search.verbose > 0:
            print(f"Fitting {len(splits)} folds for each of {n} candidates, totalling {n * len(splits)} fits")
        keep = "none" if plan.reshuffle or isinstance(plan.strategy, Racing) else search.keep  # not on the same splits
        keeper, why = recorder_for(keep, session, plan.metrics, plan.chooser, n, splits)
        run(running, keeper=keeper, progress=Progress(always=bool(search.verbose)))
        search.cv_results_ = running.results
        search.n_splits_, search.multimetric_ = len(splits), running.several
        search.strategy_ = running.plan.strategy
        search.scorer_ = plan.scorers if plan.several else plan.scorers["score"]
        search.session_ = session.shares if any(map(session.lazy, running.settings)) else "refit"
        search.models_scored_, search.fits_done_ = running.models_scored, running.fits_done
        search.kept_ = gather(running.outcomes, session, len(running.settings), splits, why, groups)
        self._choose(running)
        if isinstance(self, SearchCV) and not callable(search.refit) and hasattr(search, "best_index_"):
            search.default_tied_ = default_is_tied(search, running)
        if search.refit:
            self._refit(X, y, params)
        return self

    def _choose(self, running: RunningSearch) -> None:
        search: Any = self
        if not search.refit and running.several:
            return
        search.best_index_ = running.best_index(search.cv_results_)
        search.best_params_ = search.cv_results_["params"][search.best_index_]
        if not callable(search.refit):
            name = search.refit if running.several else "score"
            search.best_score_ = search.cv_results_[f"mean_test_{name}"][search.best_index_]

    def _refit(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        search: Any = self
        start = time.time()
        best = {name: clone(value, safe=False) for name, value in search.best_params_.items()}
        search.best_estimator_ = clone(search.estimator).set_params(**best)
        search.best_estimator_.fit(X, **params) if y is None else search.best_estimator_.fit(X, y, **params)
        search.refit_time_ = time.time() - start
        if hasattr(search.best_estimator_, "feature_names_in_"):
            search.feature_names_in_ = search.best_estimator_.feature_names_in_


def check_options(search: Any) -> None:
    """Raise an error for invalid parameters before anything is fitted."""
    check_jobs(search.n_jobs)
    for name, kind in (("n_trials", int | np.integer), ("timeout", int | float)):
        value = getattr(search, name, None)
        if value is not None and not (isinstance(value, kind) and value > 0):
            raise InputError(f"{name} must be a positive number or None, got {value!r}.")
    score, scoring = search.error_score, search.scoring
    if not (isinstance(score, int | float | np.number) or (isinstance(score, str) and score == "raise")):
        raise InputError(f"error_score must be a number or 'raise', got {score!r}.")
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


class SearchCV(FoldSearch, model_selection.GridSearchCV):  # type: ignore[misc]
    """Search a space of settings by any strategy; work that settings and splits share is done once.

    Parameters
    ----------
    estimator : estimator
        The model.
    space : mapping or list of mappings
        Lists of values, scipy distributions, or `Float`, `Int` and `Choice` of `foldwise.tuning`, by parameter.
    strategy : {"grid", "design", "random", "bayesian", "evolutionary", "gradient"} or Strategy, default "grid"
        A name, or an object with options of its own, such as `foldwise.tuning.Evolutionary(population=20)`. Any object
        with a method `propose(space, trials, rng)` is a strategy.
    n_trials : int, default None
        Number of settings to try. None means all of a grid, and 50 for strategies that could go on.
    timeout : float, default None
        Seconds after which no fit starts. Settings that are not scored on all splits by then are left out.
    initial_settings : list of dict, default None
        Settings that are tried first. Strategies that propose settings one after the other also try the defaults of the
        estimator first, if the space contains them.
    reshuffle : bool, default False
        Whether each setting is scored on new splits. A search is then less likely to adapt to one division into folds,
        but scores are noisier. It cannot be combined with racing.
    watch : callable, default None
        Called with the list of trials after each round, for example a `foldwise.tuning.LivePlot`.
    scoring : str, callable, Metric, CostMatrix, list or dict, default None
        The metric or metrics; None means the `score` method of the estimator.
    n_jobs : int or None, default None
        Number of parallel jobs.
    refit : bool, str or callable, default True
        Whether to fit the best setting on all rows. With several metrics, the one to select by. A callable takes
        `cv_results_` and returns the index of the setting.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds.
    verbose : int, default 0
        If above 0, progress is printed.
    random_state : int, Generator, RandomState or None, default None
        Seed of the strategy.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.
    return_train_score : bool, default False
        Whether to add training scores to `cv_results_`.
    audit : bool, default True
        Whether to check one random setting and split by a refit; a disagreement is an error.
    keep : {"losses", "all", "none"}, default "losses"
        What to store of the out-of-fold predictions in `kept_`, for `bias_corrected`. "losses" stores labels and losses
        if they cost no extra prediction and less than 256 MB; "all" stores probabilities, too.

    Attributes
    ----------
    cv_results_ : dict
        All scores. `best_estimator_`, `best_params_`, `best_score_` and `best_index_` are those of scikit-learn, too.
    session_ : str
        What was shared between settings; "refit" means nothing.
    models_scored_ : int
        Number of settings times number of splits.
    fits_done_ : int
        Number of units of work that this took.
    kept_ : OutOfFoldAnswers
        The stored out-of-fold predictions.
    default_tied_ : bool or None
        Whether the estimator's defaults are statistically tied with the best setting by the corrected paired t-test at
        0.05. None if they were not tried.
    strategy_ : Strategy
        The strategy as it was used. That of a gradient search has the `paths` of its descents.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, SearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1, 0.5]}, strategy="grid", cv=5).fit(X, y)
    >>> search.best_params_, search.kept_.labels.shape
    ({'var_floor': 1e-09}, (3, 150))
    """

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        strategy: Any = "grid",
        n_trials: int | None = None,
        timeout: float | None = None,
        initial_settings: Any = None,
        reshuffle: bool = False,
        watch: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        audit: bool = True,
        keep: str = "losses",
    ) -> None:
        self.estimator, self.space, self.strategy, self.scoring = estimator, space, strategy, scoring
        self.n_trials, self.timeout, self.initial_settings = n_trials, timeout, initial_settings
        self.reshuffle, self.watch = reshuffle, watch
        self.n_jobs, self.refit, self.cv, self.verbose, self.random_state = n_jobs, refit, cv, verbose, random_state
        self.error_score, self.return_train_score, self.audit, self.keep = error_score, return_train_score, audit, keep

    def _space(self) -> tuple[Space, Strategy, Any]:
        return self.space, strategy_of(self.strategy), self.random_state


class GridSearchCV(FoldSearch, model_selection.GridSearchCV):  # type: ignore[misc]
    """Search a grid of settings; scikit-learn's `GridSearchCV` with shared work done once.

    Results are those of scikit-learn. Times in `cv_results_` are equal parts of the time of shared work.

    Parameters
    ----------
    estimator : estimator
        The model.
    param_grid : mapping or list of mappings
        Lists of values by parameter.
    scoring : str, callable, Metric, CostMatrix, list or dict, default None
        The metric or metrics; None means the `score` method of the estimator.
    n_jobs : int or None, default None
        Number of parallel jobs.
    refit : bool, str or callable, default True
        As in scikit-learn.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds.
    verbose : int, default 0
        If above 0, progress is printed.
    pre_dispatch : int or str, default "2*n_jobs"
        Accepted for compatibility, but not used.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.
    return_train_score : bool, default False
        Whether to add training scores to `cv_results_`.
    audit : bool, default True
        Whether to check one random setting and split by a refit; a disagreement is an error.
    keep : {"losses", "all", "none"}, default "losses"
        What to store of the out-of-fold predictions in `kept_`; see `SearchCV`.

    Attributes
    ----------
    cv_results_ : dict
        All scores. `best_estimator_`, `best_params_`, `best_score_` and `best_index_` are those of scikit-learn, too.
    session_ : str
        What was shared between settings; "refit" means nothing. `models_scored_`, `fits_done_` and `kept_` are those of
        `SearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, NaiveBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1, 0.5]}, cv=5).fit(X, y)
    >>> search.session_, search.models_scored_, search.fits_done_
    ('summaries', 15, 5)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        audit: bool = True,
        keep: str = "losses",
    ) -> None:
        self.estimator, self.param_grid, self.scoring, self.n_jobs = estimator, param_grid, scoring, n_jobs
        self.refit, self.cv, self.verbose, self.pre_dispatch = refit, cv, verbose, pre_dispatch
        self.error_score, self.return_train_score, self.audit, self.keep = error_score, return_train_score, audit, keep

    def _space(self) -> tuple[Space, Strategy, Any]:
        return self.param_grid, Grid(), None


class RandomizedSearchCV(FoldSearch, model_selection.RandomizedSearchCV):  # type: ignore[misc]
    """Search random settings; scikit-learn's `RandomizedSearchCV` with shared work done once.

    Results are those of scikit-learn with the same seed.

    Parameters
    ----------
    estimator : estimator
        The model.
    param_distributions : mapping or list of mappings
        Lists of values, or distributions with a method `rvs`, by parameter.
    n_iter : int, default 10
        Number of settings to draw.
    scoring : str, callable, Metric, CostMatrix, list or dict, default None
        The metric or metrics; None means the `score` method of the estimator.
    n_jobs : int or None, default None
        Number of parallel jobs.
    refit : bool, str or callable, default True
        As in scikit-learn.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds.
    verbose : int, default 0
        If above 0, progress is printed.
    pre_dispatch : int or str, default "2*n_jobs"
        Accepted for compatibility, but not used.
    random_state : int, RandomState or None, default None
        Seed of the draws.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.
    return_train_score : bool, default False
        Whether to add training scores to `cv_results_`.
    audit : bool, default True
        Whether to check one random setting and split by a refit; a disagreement is an error.
    keep : {"losses", "all", "none"}, default "losses"
        What to store of the out-of-fold predictions in `kept_`; see `SearchCV`.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, RandomizedSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RandomizedSearchCV(NaiveBayes(), {"var_floor": loguniform(1e-9, 1)}, n_iter=20, random_state=0)
    >>> search.fit(X, y).models_scored_
    100
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        audit: bool = True,
        keep: str = "losses",
    ) -> None:
        self.estimator, self.param_distributions, self.n_iter = estimator, param_distributions, n_iter
        self.scoring, self.n_jobs, self.refit, self.cv, self.verbose = scoring, n_jobs, refit, cv, verbose
        self.pre_dispatch, self.random_state, self.error_score = pre_dispatch, random_state, error_score
        self.return_train_score, self.audit, self.keep = return_train_score, audit, keep

    def _space(self) -> tuple[Space, Strategy, Any]:
        return self.param_distributions, Draws(self.n_iter, self.random_state), None


@dataclass(frozen=True)
class Draws:
    """The settings drawn by scikit-learn's own sampler, with its own seed."""

    n_iter: int
    random_state: Any

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        return [] if trials else list(ParameterSampler(space, self.n_iter, random_state=self.random_state))
