"""`GridSearchCV` and `RandomizedSearchCV` by changing one import: scikit-learn's signatures, answered by sessions."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.metrics import metrics_of
from foldwise.folds.engine import Outcome, evaluate
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import FoldSession, Params, Rows
from foldwise.folds.rows import count_rows, take_rows
from foldwise.folds.splits import Split, freeze_splits
from foldwise.tuning.results import format_results


@dataclass(frozen=True)
class Plan:
    """The settings of a search and what scores them."""

    settings: list[Params]
    metrics: dict[str, Any]
    scorers: dict[str, Any]
    several: bool

    def chooser(self, refit: Any) -> str:
        """The name of the metric that chooses."""
        return str(refit) if self.several else "score"


@dataclass(frozen=True)
class InnerSearch:
    """What a search inside an outer fold found."""

    results: dict[str, Any]
    best_params: dict[str, Any]
    metric: Any
    models_scored: int


class FoldSearch:
    """What both searches share. Mixed in before scikit-learn's class, whose predict, score and tags are kept."""

    @abstractmethod
    def _settings(self) -> list[Params]:
        """The settings to try."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Score every setting on every split, and fit the best on all rows."""
        search: Any = self
        groups = params.pop("groups", None)
        plan = self._plan()
        session = open_session(search.estimator, X, y, params)
        splits = self._splits(X, y, groups, count_rows(X))
        search.cv_results_, search.fits_done_ = self._results(session, plan, splits)
        search.n_splits_, search.multimetric_ = len(splits), plan.several
        search.scorer_ = plan.scorers if plan.several else plan.scorers["score"]
        search.session_ = session.shares
        search.models_scored_ = len(plan.settings) * len(splits)
        refit = search.refit
        if refit is not False or not plan.several:
            search.best_index_ = best_index(refit, search.cv_results_, plan.several)
            search.best_params_ = search.cv_results_["params"][search.best_index_]
            if not callable(refit):
                search.best_score_ = search.cv_results_[f"mean_test_{plan.chooser(refit)}"][search.best_index_]
        if refit is not False:
            start = time.time()
            best = {name: clone(value, safe=False) for name, value in search.best_params_.items()}
            search.best_estimator_ = clone(search.estimator).set_params(**best)
            search.best_estimator_.fit(X, y, **params)
            search.refit_time_ = time.time() - start
            if hasattr(search.best_estimator_, "feature_names_in_"):
                search.feature_names_in_ = search.best_estimator_.feature_names_in_
        return self

    def search_rows(self, session: FoldSession, rows: Rows, groups: Any = None) -> InnerSearch:
        """The search that `fit` on these rows alone would make, on a session of the whole table. Nothing is fitted."""
        search: Any = self
        plan = self._plan()
        if search.refit is False:
            raise InputError("a nested search must choose a setting, but refit is False.", "pass refit=True.")
        y, n_rows = take_rows(session.y, rows), len(rows)
        own = type(search.cv).__module__.startswith("sklearn.") or search.cv is None or isinstance(search.cv, int)
        X = np.empty((n_rows, 0)) if own else take_rows(session.X, rows)  # scikit-learn's splitters count rows only
        inner = self._splits(X, y, None if groups is None else take_rows(groups, rows), n_rows)
        splits = [Split(rows[split.train], rows[split.test]) for split in inner]
        results, _ = self._results(session, plan, splits)
        best = results["params"][best_index(search.refit, results, plan.several)]
        metric = plan.metrics[next(iter(plan.metrics)) if callable(search.refit) else plan.chooser(search.refit)]
        return InnerSearch(results, best, metric, len(plan.settings) * len(splits))

    def _plan(self) -> Plan:
        """What is asked for, checked before anything is fitted."""
        search: Any = self
        settings = self._settings()
        if not settings:
            raise InputError("the search space holds no setting.", "give each parameter at least one value.")
        check_names(search.estimator, settings)
        metrics, scorers, several = metrics_of(search.scoring, search.estimator)
        refit = search.refit
        if several and refit is not False and not callable(refit) and refit not in scorers:
            raise InputError(
                f"with several metrics, refit must name the one that chooses; got {refit!r}.",
                f"one of {', '.join(map(repr, scorers))}, a callable, or False.",
            )
        return Plan(settings, metrics, scorers, several)

    def _splits(self, X: Any, y: Any, groups: Any, n_rows: int) -> tuple[Split, ...]:
        search: Any = self
        return freeze_splits(search.cv, X, y, groups, n_rows=n_rows, classifier=is_classifier(search.estimator))

    def _results(self, session: FoldSession, plan: Plan, splits: Sequence[Split]) -> tuple[dict[str, Any], int]:
        search: Any = self
        found = self._score(session, plan.settings, splits, plan.metrics)
        learned: dict[str, Any] = {}
        if search.return_train_score:
            on_train = [Split(split.train, split.train) for split in splits]
            learned = evaluate(session, plan.settings, on_train, plan.metrics, n_jobs=search.n_jobs).scores
        return format_results(plan.settings, found.seconds, found.scores, learned), found.fits

    def _score(
        self, session: FoldSession, settings: Sequence[Params], splits: Sequence[Split], metrics: dict[str, Any]
    ) -> Outcome:
        search: Any = self
        audit = 0 if search.audit else None
        found = evaluate(session, settings, splits, metrics, n_jobs=search.n_jobs, audit=audit)
        if found.failures:
            self._report(found, settings, len(splits))
        if found.unscored:
            i, number, name, error = found.unscored[0]
            where = f"setting {dict(settings[i])} on split {number}"
            if search.error_score == "raise":
                error.add_note(f"raised by the metric {name!r} for {where}")
                raise error
            warnings.warn(
                f"Scoring failed. The score on this train-test partition for these parameters will be set to "
                f"{search.error_score}. The first was {name!r} for {where}: {type(error).__name__}: {error}",
                UserWarning,
                stacklevel=4,
            )
        for values in found.scores.values():
            for i, number, _ in found.failures:
                values[i, number] = search.error_score
        for i, number, name, _ in found.unscored:
            found.scores[name][i, number] = search.error_score
        return found

    def _report(self, found: Outcome, settings: Sequence[Params], n_splits: int) -> None:
        """Raise, or warn, naming setting and split of the first failure."""
        search: Any = self
        i, number, error = found.failures[0]
        where = f"setting {dict(settings[i])} on split {number}"
        if search.error_score == "raise":
            error.add_note(f"raised by {where}")
            raise error
        if len(found.failures) == len(settings) * n_splits:
            raise InputError(
                f"All the {len(found.failures)} fits failed; the first was {where}: {type(error).__name__}: {error}",
                "error_score='raise' shows the whole traceback.",
            ) from error
        warnings.warn(
            f"{len(found.failures)} fits failed out of a total of {len(settings) * n_splits}; their score is "
            f"{search.error_score}. The first was {where}: {type(error).__name__}: {error}",
            FitFailedWarning,
            stacklevel=3,
        )


class GridSearchCV(FoldSearch, model_selection.GridSearchCV):  # type: ignore[misc]
    """scikit-learn's `GridSearchCV`, with what settings and splits share done once.

    The parameters, the attributes and the numbers are scikit-learn's; times in `cv_results_` are equal shares of the
    time of a block of settings. Besides: `session_` names what was shared ("refit": nothing), `models_scored_` counts
    settings × splits, `fits_done_` the passes over training rows. With `audit=True` one random setting and split is
    checked by a true refit, and a disagreement raises.

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
        self.audit = audit

    def _settings(self) -> list[Params]:
        return list(ParameterGrid(self.param_grid))


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
        self.audit = audit

    def _settings(self) -> list[Params]:
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state))


def check_names(estimator: Any, settings: Sequence[Params]) -> None:
    """Refuse a parameter that the estimator does not have, before anything is fitted."""
    if not hasattr(estimator, "get_params"):
        raise FoldwiseTypeError(f"{estimator!r} is no estimator: it has no get_params.")
    known = estimator.get_params(deep=True)
    for setting in settings:
        for name in setting:
            if name not in known and name.split("__")[0] not in known:
                raise InputError(
                    f"Invalid parameter {name!r} for estimator {type(estimator).__name__}.",
                    f"its parameters are {', '.join(sorted(estimator.get_params(deep=False)))}.",
                )


def best_index(refit: Any, results: dict[str, Any], several: bool) -> int:
    """The place of the chosen setting: the first of rank 1, or what the callable says."""
    if callable(refit):
        index = refit(results)
        if not isinstance(index, int | np.integer):
            raise TypeError("best_index_ returned is not an integer")
        if not 0 <= index < len(results["params"]):
            raise IndexError("best_index_ index out of range")
        return int(index)
    return int(results[f"rank_test_{refit if several else 'score'}"].argmin())
