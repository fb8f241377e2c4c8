"""Nested cross-validation: the score of the whole procedure, search included, on rows that no search has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring

from foldwise.errors import FoldwiseTypeError
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.metrics.scoring import search_score_name
from foldwise.evaluation.procedure_scores import (
    ProcedureScores,
    SearchOutcome,
    check_chooses,
    scored_winners,
    searches_on,
)
from foldwise.evaluation.split_record import SplitsRecord
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import FoldSession
from foldwise.folds.rows import count_rows, refuse_routing, take_params, take_rows
from foldwise.folds.scoring_protocol import PlannedSearch
from foldwise.folds.splits import Split, freeze_splits


@dataclass(frozen=True, repr=False)
class NestedResult:
    """Outer scores, the setting chosen in each outer fold, and the inner results."""

    scores: NDArray[np.float64]
    best_params: tuple[dict[str, Any], ...]
    inner: tuple[dict[str, Any], ...]
    models_scored: int
    estimate: Estimate  # what the procedure is worth on new rows
    metric: str  # by what the outer scores are
    splits: SplitsRecord  # which rows they are of

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The corrected resampled t interval of Nadeau and Bengio: outer scores share training rows.

        Of one outer fold it is NaN.
        """
        return self.estimate.interval(level)

    def __str__(self) -> str:
        return f"{self.estimate}, nested, {self.models_scored:,} models scored"

    __repr__ = __str__


def nested_cv(search: Any, X: Any, y: Any, cv: Any = 5, *, groups: Any = None, **fit_params: Any) -> NestedResult:
    """Run a search inside each outer fold and score its winner on the rows left out.

    The numbers are those of scikit-learn's `cross_validate(search, X, y, cv=cv)` on the same splits. The estimate's
    naive figure is what the searches said of their winners themselves.

    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, NaiveBayes, nested_cv
    >>> X, y = load_iris(return_X_y=True)
    >>> result = nested_cv(GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=3), X, y, cv=5)
    >>> result.models_scored
    35
    >>> print(result.estimate)
    0.953 (0.898 to 1.000; naive 0.948)
    """
    if not hasattr(search, "estimator") or not hasattr(search, "fit"):
        raise FoldwiseTypeError(
            f"nested_cv wants a search such as GridSearchCV, got {type(search).__name__}.",
            "put the model into a search; a model without settings is scored by `estimate`.",
        )
    check_chooses(search)
    n_rows = count_rows(X)
    planned = isinstance(search, PlannedSearch)
    session = open_session(search.estimator, X, y, fit_params) if planned else None
    splits = freeze_splits(cv, X, y, groups, n_rows=n_rows, classifier=is_classifier(search.estimator))
    if session is not None:
        refuse_routing(fit_params)
        return nested_on_session(search, session, splits, groups)
    searched, scores = zip(*(by_fitting(search, X, y, split, groups, fit_params) for split in splits), strict=True)
    models = sum(one.models + 1 for one in searched)
    tested = ProcedureScores(np.array(scores), None, searched, models)
    return gathered(tested, splits, (-np.inf, np.inf), search_score_name(search))


def nested_on_session(search: Any, session: FoldSession, splits: Sequence[Split], groups: Any = None) -> NestedResult:
    """The same on a session that is open already."""
    plan = search.plan()
    searched = searches_on(search, plan, session, splits, groups)
    # a search scores without weights, whatever it was fitted with
    tested = scored_winners(search, session, splits, searched, plan.metrics, plan.chooser)
    return gathered(tested, splits, plan.metrics[plan.chooser].bounds, search_score_name(search, plan.metrics))


def gathered(
    tested: ProcedureScores, splits: Sequence[Split], bounds: tuple[float, float], metric: str
) -> NestedResult:
    """The outer scores as an estimate."""
    assert tested.searches is not None
    return NestedResult(
        tested.scores,
        tuple(one.best_params for one in tested.searches),
        tuple(one.results for one in tested.searches),
        tested.models,
        tested.estimate(splits, bounds),
        metric,
        SplitsRecord.of(splits),
    )


def by_fitting(
    search: Any, X: Any, y: Any, split: Split, groups: Any, fit_params: dict[str, Any]
) -> tuple[SearchOutcome, float]:
    """Any other search: fitted on the training rows, and its score on the test rows."""
    one = clone(search)
    params = take_params(fit_params, split.train, count_rows(X))
    if groups is not None:
        params["groups"] = take_rows(groups, split.train)
    one.fit(take_rows(X, split.train), take_rows(y, split.train), **params)
    score = float(check_scoring(one)(one, take_rows(X, split.test), take_rows(y, split.test)))
    models = len(one.cv_results_["params"]) * one.n_splits_
    return SearchOutcome(one.best_params_, float(getattr(one, "best_score_", np.nan)), one.cv_results_, models), score
