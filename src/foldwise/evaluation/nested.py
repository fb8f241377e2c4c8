"""`nested_cv`: nested cross-validation, which scores the winner of a search on rows that the search has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring

from foldwise.data.html import html_table
from foldwise.data.number_objects import warning_once
from foldwise.errors import FoldwiseTypeError
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.metrics.protocol import SearchMetric
from foldwise.evaluation.metrics.scoring import check_single, metrics_of, score_name, scorer_of, search_score_name
from foldwise.evaluation.procedure_scores import (
    Procedure,
    ProcedureScores,
    SearchOutcome,
    check_chooses,
    scored_winners,
    searches_on,
)
from foldwise.evaluation.routing import check_fit_params, is_routed
from foldwise.evaluation.split_record import SplitsRecord
from foldwise.evaluation.tables import number
from foldwise.folds.protocol import FoldSession
from foldwise.folds.rows import count_rows, take_params, take_rows
from foldwise.folds.scoring_protocol import runs_on_session
from foldwise.folds.splits import Split, freeze_splits


@dataclass(frozen=True, repr=False)
class NestedResult:
    """The result of nested cross-validation.

    Attributes
    ----------
    scores : ndarray of shape (n_outer_splits,)
        Score of the selected setting on the test rows of each outer split.
    best_params : tuple of dict
        The setting selected in each outer split.
    inner : tuple of dict
        `cv_results_` of the search in each outer split.
    models_scored : int
        Number of models that were scored.
    estimate : Estimate
        The mean of `scores` with its interval; its `search_score` is the mean of the inner best scores. For a root mean
        squared error, the value is the root of the mean squared error over all test rows instead.
    metric : str
        Name of the metric.
    splits : SplitsRecord
        A fingerprint of the outer splits, so that only results on the same rows are compared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, NaiveBayes, nested_cv
    >>> search = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=3)
    >>> result = nested_cv(search, *load_iris(return_X_y=True), cv=3)
    >>> result.scores.round(2).tolist(), result.best_params[0]
    ([0.92, 0.94, 0.96], {'var_floor': 1e-09})
    """

    scores: NDArray[np.float64]
    best_params: tuple[dict[str, Any], ...]
    inner: tuple[dict[str, Any], ...]
    models_scored: int
    estimate: Estimate
    metric: str
    splits: SplitsRecord

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute the corrected resampled t interval of the mean outer score (Nadeau and Bengio 2003).

        Parameters
        ----------
        level : float, default 0.95
            Confidence level.

        Returns
        -------
        tuple of float
            Lower and upper limit; NaN with a single outer split.
        """
        return self.estimate.interval(level)

    def __str__(self) -> str:
        return f"{self.estimate}, nested cross-validation, {self.models_scored:,} models scored"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        settings = [", ".join(f"{name}={value!r}" for name, value in one.items()) for one in self.best_params]
        pairs = zip(map(number, self.scores), settings, strict=True)
        rows = [[str(split), score, setting] for split, (score, setting) in enumerate(pairs)]
        title, heads = f"Nested cross-validation: {self.estimate}", ["outer split", "score", "selected setting"]
        return html_table(title, heads, rows, [f"Metric: {self.metric}. {self.models_scored:,} models scored."], "lrl")


def nested_cv(
    search: Any, X: Any, y: Any, cv: Any = 5, *, scoring: Any = None, groups: Any = None, **fit_params: Any
) -> NestedResult:
    """Run a search in each outer split, and score its winner on the outer test rows.

    The scores are those of scikit-learn's `cross_validate(search, X, y, cv=cv, scoring=scoring)` on the same splits.

    Parameters
    ----------
    search : GridSearchCV, RandomizedSearchCV or SearchCV
        The search; those of scikit-learn work too, but more slowly.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,)
        The target.
    cv : int, splitter or iterable, default 5
        The outer splits.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric of the outer scores; None means that of the search. The search selects by its own metric in any case.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them, both outer and inner.
    **fit_params : dict
        Passed to `fit`, such as `sample_weight`. With scikit-learn's metadata routing, each is passed to the parts that
        request it.

    Returns
    -------
    NestedResult
        The outer scores and their estimate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, NaiveBayes, nested_cv
    >>> X, y = load_iris(return_X_y=True)
    >>> print(nested_cv(GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=3), X, y, cv=5).estimate)
    0.953 (95% interval 0.898 to 1.000), search score (optimistic) 0.948
    """
    if not hasattr(search, "estimator") or not hasattr(search, "fit"):
        raise FoldwiseTypeError(
            f"nested_cv needs a search such as GridSearchCV, got {type(search).__name__}.",
            "wrap the model in a search, or use `estimate` for a model without settings to choose.",
        )
    check_chooses(search)
    n_rows = count_rows(X)
    planned = runs_on_session(search)
    check_single(scoring)
    check_fit_params("nested_cv", search, fit_params)
    with warning_once():
        procedure = Procedure(search, X, y, scoring=scoring, groups=groups, fit_params=fit_params) if planned else None
        splits = freeze_splits(cv, X, y, groups, n_rows=n_rows, classifier=is_classifier(search.estimator))
        if procedure is not None:
            tested = procedure.on(splits)
            return gathered(tested, splits, procedure.metric, procedure.score_name, same_metric=procedure.chooses_alike)
        scorer = None if scoring is None else scorer_of(scoring, search)
        searched, scores = zip(
            *(by_fitting(search, X, y, split, groups, fit_params, scorer) for split in splits), strict=True
        )
    models = sum(one.models + 1 for one in searched)
    tested = ProcedureScores(np.array(scores), None, searched, models)
    name = search_score_name(search)
    if scoring is not None:
        name = score_name(metrics_of(scoring, search)[0]["score"], search, scoring)
    return gathered(tested, splits, None, name, same_metric=scoring is None)


def nested_on_session(search: Any, session: FoldSession, splits: Sequence[Split], groups: Any = None) -> NestedResult:
    """Run nested cross-validation on an open session."""
    plan = search.plan()
    searched = searches_on(search, plan, session, splits, groups)
    tested = scored_winners(search, session, splits, searched, plan.metrics, plan.chooser)
    return gathered(tested, splits, plan.metrics[plan.chooser], search_score_name(search, plan.metrics))


def gathered(
    tested: ProcedureScores,
    splits: Sequence[Split],
    metric: SearchMetric | None,
    name: str,
    *,
    same_metric: bool = True,
) -> NestedResult:
    """Combine the outer scores to a result."""
    assert tested.searches is not None
    return NestedResult(
        tested.scores,
        tuple(one.best_params for one in tested.searches),
        tuple(one.results for one in tested.searches),
        tested.models,
        tested.estimate(splits, metric, same_metric=same_metric),
        name,
        SplitsRecord.of(splits),
    )


def by_fitting(
    search: Any, X: Any, y: Any, split: Split, groups: Any, fit_params: dict[str, Any], scorer: Any = None
) -> tuple[SearchOutcome, float]:
    """Fit any other search on the training rows, and score it on the test rows."""
    one = clone(search)
    params = take_params(fit_params, split.train, count_rows(X))
    if groups is not None:
        params["groups"] = take_rows(groups, split.train)
    one.fit(take_rows(X, split.train), take_rows(y, split.train), **params)
    wanted: dict[str, Any] = {}
    if is_routed(fit_params):
        names = one.get_metadata_routing().consumes("score", fit_params.keys())
        wanted = take_params({name: fit_params[name] for name in names}, split.test, count_rows(X))
    scorer = check_scoring(one) if scorer is None else scorer
    score = float(scorer(one, take_rows(X, split.test), take_rows(y, split.test), **wanted))
    models = len(one.cv_results_["params"]) * one.n_splits_
    return SearchOutcome(one.best_params_, float(getattr(one, "best_score_", np.nan)), one.cv_results_, models), score
