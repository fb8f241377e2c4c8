"""Searches in the shape of scikit-learn's, answered by sessions: `SearchCV`, and two that change one import only."""

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

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.metrics import metrics_of
from foldwise.evaluation.out_of_fold import gather, recorder_for
from foldwise.folds.opening import open_session
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import Params
from foldwise.folds.rows import count_rows, refuse_routing
from foldwise.tuning.running_search import CheckedSearchPlan, RunningSearch, check_refit, run
from foldwise.tuning.strategies import Grid, Space, Strategy, Trial, strategy_of


class FoldSearch:
    """What all searches share. Mixed in before scikit-learn's class, whose predict, score and tags are kept."""

    @abstractmethod
    def _ways(self) -> tuple[Space, Strategy, Any]:
        """The space, the strategy that goes through it, and the seed of its generator."""

    def plan(self) -> CheckedSearchPlan:
        """What is asked for, checked before anything is fitted."""
        search: Any = self
        check_options(search)
        space, strategy, seed = self._ways()
        metrics, scorers, several = metrics_of(search.scoring, search.estimator)
        if several:
            check_refit(search.refit, list(scorers))
        return CheckedSearchPlan(self, space, strategy, metrics, scorers, several, seed)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Score every setting on every split, and fit the best on all rows."""
        search: Any = self
        groups = params.pop("groups", None)
        plan = self.plan()
        refuse_routing(params)
        check_rows(search.estimator, X, y, params)
        session = open_session(search.estimator, X, y, params)
        splits = plan.splits(X, y, groups, count_rows(X))
        running = plan.start(session, splits)
        if search.verbose > 0 and running.question is not None:
            n = len(running.question.settings)
            print(f"Fitting {len(splits)} folds for each of {n} candidates, totalling {n * len(splits)} fits")
        n_settings = len(running.question.settings) if running.question is not None else 0
        keeper, why = recorder_for(search.keep, session, plan.metrics, plan.chooser, n_settings, splits)
        run(running, keeper=keeper, progress=Progress(always=bool(search.verbose)))
        search.cv_results_ = running.results
        search.n_splits_, search.multimetric_ = len(splits), running.several
        search.scorer_ = plan.scorers if plan.several else plan.scorers["score"]
        search.session_ = session.shares if any(map(session.lazy, running.settings)) else "refit"
        search.models_scored_, search.fits_done_ = running.models_scored, running.fits_done
        search.kept_ = gather(running.outcomes, session, len(running.settings), splits, why, groups)
        self._choose(running)
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
    """Refuse parameters that no search can follow, before anything is fitted."""
    score, jobs, scoring = search.error_score, search.n_jobs, search.scoring
    if not (isinstance(score, int | float | np.number) or (isinstance(score, str) and score == "raise")):
        raise InputError(f"error_score must be a number or 'raise', got {score!r}.")
    if jobs is not None and not isinstance(jobs, int | np.integer):
        raise FoldwiseTypeError(f"n_jobs must be None or a whole number, got {jobs!r}.", "-1 uses all cores.")
    if isinstance(scoring, list | tuple | set | dict) and not scoring:
        raise InputError("scoring names no metric.", "name at least one, such as 'accuracy', or pass None.")


def check_rows(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> None:
    """Refuse a target or weights that do not go with the table."""
    if y is None and (is_classifier(estimator) or is_regressor(estimator)):
        raise InputError(f"{type(estimator).__name__} learns from labels, but y is None.", "pass the labels as y.")
    weights: Any = params.get("sample_weight")
    if np.ndim(weights) > 0 and len(weights) != count_rows(X):
        raise InputError(
            f"X has {count_rows(X)} rows but sample_weight has {len(weights)} entries.", "pass one weight for each row."
        )


class SearchCV(FoldSearch, model_selection.GridSearchCV):  # type: ignore[misc]
    """A search through a space of settings by a strategy, with what settings and splits share done once.

    `space` maps parameters to lists of values, or to distributions for random draws; several spaces make a list.
    `strategy` is "grid", "random" (10 draws), or an object such as `foldwise.tuning.Random(n_iter=50)` with a method
    `propose(space, trials, rng)` (see `foldwise.tuning.strategies`). `keep` says what is stored of every setting's
    out-of-fold answers in `kept_`: "losses" (labels and losses of each row, where they cost no extra prediction and
    less than 256 MB), "all" (probabilities too), "none". The other parameters and attributes are `GridSearchCV`'s.

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
        self.n_jobs, self.refit, self.cv, self.verbose, self.random_state = n_jobs, refit, cv, verbose, random_state
        self.error_score, self.return_train_score, self.audit, self.keep = error_score, return_train_score, audit, keep

    def _ways(self) -> tuple[Space, Strategy, Any]:
        return self.space, strategy_of(self.strategy), self.random_state


class GridSearchCV(FoldSearch, model_selection.GridSearchCV):  # type: ignore[misc]
    """scikit-learn's `GridSearchCV`, with what settings and splits share done once.

    The parameters, the attributes and the numbers are scikit-learn's; times in `cv_results_` are equal shares of the
    time of one piece of work. Besides: `session_` names what was shared ("refit": nothing), `models_scored_` counts
    settings × splits, `fits_done_` the pieces of work that answered them, `kept_` holds out-of-fold answers (see
    `SearchCV`). With `audit=True` one random setting and split is checked by a true refit, and a disagreement raises.

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
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.audit, self.keep = audit, keep

    def _ways(self) -> tuple[Space, Strategy, Any]:
        return self.param_grid, Grid(), None


class RandomizedSearchCV(FoldSearch, model_selection.RandomizedSearchCV):  # type: ignore[misc]
    """scikit-learn's `RandomizedSearchCV`, with what settings and splits share done once (see `GridSearchCV`)."""

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
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.audit, self.keep = audit, keep

    def _ways(self) -> tuple[Space, Strategy, Any]:
        return self.param_distributions, Draws(self.n_iter, self.random_state), None


@dataclass(frozen=True)
class Draws:
    """The draws of scikit-learn's own sampler, with its own seed."""

    n_iter: int
    random_state: Any

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        return [] if trials else list(ParameterSampler(space, self.n_iter, random_state=self.random_state))
