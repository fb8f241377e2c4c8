"""Successive halving: all settings are scored with few resources, and the best of them again with more.

The schedule is that of scikit-learn's classes, whose code is inherited: a drop-in must draw the same rows and keep the
same settings. The rounds run on the machinery of all searches (`ScheduledSearch` is a `RunningSearch`), so the session
of the estimator shares work between settings. `Racing(rule="halving", resource="rows")` has the same idea for any
strategy, with a schedule of its own.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn import model_selection
from sklearn.experimental import enable_halving_search_cv  # noqa: F401

from foldwise.data.arguments import one_of
from foldwise.errors import InputError
from foldwise.evaluation.metrics.scoring import check_single
from foldwise.folds.rows import count_rows
from foldwise.tuning.dimensions import Space
from foldwise.tuning.fold_search import FoldSearch
from foldwise.tuning.running_search import CheckedSearchPlan
from foldwise.tuning.strategies.grid import Grid
from foldwise.tuning.strategies.protocol import Strategy


class HalvingSearch(FoldSearch):
    """What both searches share; mixed in before scikit-learn's class, whose schedule is kept."""

    plan: ClassVar[Any] = None  # the schedule cannot be run on a session of a larger table

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Score the settings in rounds, and fit the best one of the last round on all rows.

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
        self : HalvingSearch
            The fitted search.
        """
        self._n_samples_orig = count_rows(X)  # read by scikit-learn's schedule
        return super().fit(X, y, **params)

    def _checked(self) -> CheckedSearchPlan:
        search: Any = self
        check_single(search.scoring)
        if not search.factor > 1:
            raise InputError(f"factor must be above 1, got {search.factor!r}.", "3 keeps the best third of a round.")
        check_amount("min_resources", search.min_resources, ("exhaust", "smallest"))
        check_amount("max_resources", search.max_resources, ("auto",))
        return super()._checked()


def check_amount(name: str, value: Any, words: tuple[str, ...]) -> None:
    """Raise an error if an amount of resources is neither a positive integer nor one of the allowed words."""
    if isinstance(value, str):
        one_of(name, value, words)
    elif not (isinstance(value, int | np.integer) and value > 0):
        raise InputError(f"{name} must be a positive integer or one of {', '.join(words)}, got {value!r}.")


class HalvingGridSearchCV(HalvingSearch, model_selection.HalvingGridSearchCV):  # type: ignore[misc]
    """Search a grid by successive halving; scikit-learn's `HalvingGridSearchCV` with shared work done once.

    Results are those of scikit-learn with the same seed. The import of `enable_halving_search_cv` is not needed.

    Parameters
    ----------
    estimator : estimator
        The model.
    param_grid : mapping or list of mappings
        Lists of values by parameter.
    factor : int or float, default 3
        From round to round, the settings are divided by this number, and the resources multiplied by it.
    resource : str, default "n_samples"
        What grows from round to round: the number of rows, or a parameter of the estimator such as "n_estimators".
    max_resources : int or "auto", default "auto"
        The most that a round may use. "auto" means all rows; it is allowed only if the resource is rows.
    min_resources : int, "exhaust" or "smallest", default "exhaust"
        What the first round uses. If the resource is rows, "smallest" means 2 × folds rows for regression and
        2 × folds × classes rows for classification. For any other resource it means 1. "exhaust" chooses the amount
        with which the last round uses as much of `max_resources` as possible.
    aggressive_elimination : bool, default False
        Whether the first round is repeated with fewer settings if there are too few resources to end with at most
        `factor` settings.
    cv : int, splitter or iterable, default 5
        Splits as in scikit-learn. All rounds must have the same ones, so a splitter that shuffles needs a seed.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric; None means the `score` method of the estimator.
    refit : bool, default True
        Whether to fit the best setting on all rows.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.
    return_train_score : bool, default True
        Whether to add training scores to `cv_results_`.
    random_state : int, RandomState or None, default None
        Seed of the subsets of rows.
    n_jobs : int or None, default None
        Number of parallel jobs.
    verbose : int, default 0
        If above 0, progress is printed.
    audit : bool, default True
        Whether to check one random setting and split of each round by a refit; a disagreement is an error.

    Attributes
    ----------
    cv_results_ : dict
        All scores, with the round ("iter") and its resources ("n_resources"). The best setting is that of the last
        round.
    n_resources_, n_candidates_ : list of int
        The resources and the number of settings of each round.
    session_ : str
        What was shared between settings; "refit" means nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import HalvingGridSearchCV, KNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = HalvingGridSearchCV(KNNClassifier(), {"n_neighbors": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, random_state=0)
    >>> search.fit(X, y).n_candidates_, search.n_resources_
    ([9, 3], [30, 90])
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        factor: float = 3,
        resource: str = "n_samples",
        max_resources: Any = "auto",
        min_resources: Any = "exhaust",
        aggressive_elimination: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        audit: bool = True,
    ) -> None:
        self.estimator, self.param_grid, self.factor, self.resource = estimator, param_grid, factor, resource
        self.max_resources, self.min_resources = max_resources, min_resources
        self.aggressive_elimination, self.cv, self.scoring, self.refit = aggressive_elimination, cv, scoring, refit
        self.error_score, self.return_train_score, self.random_state = error_score, return_train_score, random_state
        self.n_jobs, self.verbose, self.audit = n_jobs, verbose, audit

    def _space(self) -> tuple[Space, Strategy, Any]:
        return self.param_grid, Grid(), None


class HalvingRandomSearchCV(HalvingSearch, model_selection.HalvingRandomSearchCV):  # type: ignore[misc]
    """Search random settings by successive halving, like scikit-learn's class but with shared work done once.

    Results are those of scikit-learn's `HalvingRandomSearchCV` with the same seed.

    Parameters
    ----------
    estimator : estimator
        The model.
    param_distributions : mapping or list of mappings
        Lists of values, or distributions with a method `rvs`, by parameter.
    n_candidates : int or "exhaust", default "exhaust"
        Number of settings of the first round. "exhaust" chooses the number with which the last round
        uses as much of `max_resources` as possible.
    factor : int or float, default 3
        From round to round, the settings are divided by this number, and the resources multiplied by it.
    resource : str, default "n_samples"
        What grows from round to round: the number of rows, or a parameter of the estimator such as "n_estimators".
    max_resources : int or "auto", default "auto"
        The most that a round may use. "auto" means all rows; it is allowed only if the resource is rows.
    min_resources : int, "exhaust" or "smallest", default "smallest"
        What the first round uses; see `HalvingGridSearchCV`.
    aggressive_elimination : bool, default False
        Whether the first round is repeated with fewer settings; see `HalvingGridSearchCV`.
    cv : int, splitter or iterable, default 5
        Splits as in scikit-learn. All rounds must have the same ones, so a splitter that shuffles needs a seed.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric; None means the `score` method of the estimator.
    refit : bool, default True
        Whether to fit the best setting on all rows.
    error_score : float or "raise", default NaN
        The score if a fit fails, with a warning; "raise" raises the error.
    return_train_score : bool, default True
        Whether to add training scores to `cv_results_`.
    random_state : int, RandomState or None, default None
        Seed of the settings and of the subsets of rows.
    n_jobs : int or None, default None
        Number of parallel jobs.
    verbose : int, default 0
        If above 0, progress is printed.
    audit : bool, default True
        Whether to check one random setting and split of each round by a refit; a disagreement is an error.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import HalvingRandomSearchCV, NaiveBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> search = HalvingRandomSearchCV(NaiveBayes(), {"var_floor": loguniform(1e-9, 1)}, factor=2, random_state=0)
    >>> search.fit(X, y).n_candidates_, search.n_resources_
    ([5, 3, 2], [30, 60, 120])
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_candidates: Any = "exhaust",
        factor: float = 3,
        resource: str = "n_samples",
        max_resources: Any = "auto",
        min_resources: Any = "smallest",
        aggressive_elimination: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        audit: bool = True,
    ) -> None:
        self.estimator, self.param_distributions, self.n_candidates = estimator, param_distributions, n_candidates
        self.factor, self.resource = factor, resource
        self.max_resources, self.min_resources = max_resources, min_resources
        self.aggressive_elimination, self.cv, self.scoring, self.refit = aggressive_elimination, cv, scoring, refit
        self.error_score, self.return_train_score, self.random_state = error_score, return_train_score, random_state
        self.n_jobs, self.verbose, self.audit = n_jobs, verbose, audit

    def _space(self) -> tuple[Space, Strategy, Any]:
        return self.param_distributions, Grid(), None
