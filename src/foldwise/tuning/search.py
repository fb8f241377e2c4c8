"""Searches with scikit-learn's interface that share work between settings and splits.

To use `GridSearchCV` and `RandomizedSearchCV` in place of scikit-learn's, change the import. `SearchCV` takes any
strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.model_selection import ParameterSampler

from foldwise.data.arguments import whole_at_least
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space
from foldwise.tuning.fold_search import FoldSearch
from foldwise.tuning.strategies import strategy_of
from foldwise.tuning.strategies.grid import Grid
from foldwise.tuning.strategies.protocol import Strategy, Trial


class SearchCV(FoldSearch, model_selection.GridSearchCV):  # type: ignore[misc]
    """Search a space of settings by any strategy; work that settings and splits share is done once.

    Parameters
    ----------
    estimator : estimator
        The model.
    space : mapping or list of mappings
        Lists of values, scipy distributions, or `Float`, `Int` and `Choice` of `foldwise.tuning`, by parameter.
    strategy : str or Strategy, default "grid"
        One of "grid", "design", "random", "bayesian", "evolutionary", "gradient", "tpe" and "cma-es", or an object with
        options of its own, such as `foldwise.tuning.Evolutionary(population=20)`. Any object with a method
        `propose(space, trials, rng)` is a strategy.
    n_trials : int, default None
        Number of settings to try. None means all settings of a grid or design, and 50 for strategies without an end
        of their own.
    timeout : float, default None
        Seconds from the call of `fit` after which no fit starts. Fits in worker processes are then stopped. Settings
        that are not scored on all splits by then are left out.
    initial_settings : list of dict, default None
        Settings to start with. All strategies except "grid" and "design" then try the defaults of the estimator, if the
        space contains them.
    reshuffle : bool, default False
        Whether each setting is scored on new splits. A search is then less likely to adapt to one division into folds,
        but scores are noisier. It cannot be combined with racing.
    store : path, str or TrialStore, default None
        Where to record proposals and scores: a file, or the URL of a database. A search that was stopped continues
        where it stopped, and several processes with the same store and name share the work. See `open_search`.
    name : str, default None
        Name of the search in the store. Searches on other training rows may have the same name.
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
        Number of models scored: settings times splits, or fewer if racing dropped some.
    fits_done_ : int
        Number of fits that were actually done.
    kept_ : OutOfFoldAnswers
        The stored out-of-fold predictions.
    default_tied_ : bool or None
        Whether the estimator's defaults are statistically tied with the best setting by the corrected resampled t-test
        at 0.05. None if they were not tried.
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

    compares_default = True

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
        store: Any = None,
        name: str | None = None,
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
        self.reshuffle, self.store, self.name, self.watch = reshuffle, store, name, watch
        self.n_jobs, self.refit, self.cv, self.verbose, self.random_state = n_jobs, refit, cv, verbose, random_state
        self.error_score, self.return_train_score, self.audit, self.keep = error_score, return_train_score, audit, keep

    def _space(self) -> tuple[Space, Strategy, Any]:
        return self.space, strategy_of(self.strategy), self.random_state


class GridSearchCV(FoldSearch, model_selection.GridSearchCV):  # type: ignore[misc]
    """Search a grid of settings; scikit-learn's `GridSearchCV` with shared work done once.

    Results are those of scikit-learn. `cv_results_` divides the time of shared work equally among the settings.

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
        draws = SklearnDraws(whole_at_least("n_iter", self.n_iter, 1), self.random_state)
        return self.param_distributions, draws, None


@dataclass(frozen=True)
class SklearnDraws:
    """The settings drawn by scikit-learn's own sampler, with its own seed."""

    n_iter: int
    random_state: Any

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        return [] if trials else list(ParameterSampler(space, self.n_iter, random_state=self.random_state))
