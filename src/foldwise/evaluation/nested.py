"""Nested cross-validation: the score of the whole procedure, search included, on rows that no search has seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring

from foldwise.errors import FoldwiseTypeError
from foldwise.evaluation.intervals import corrected_half_width
from foldwise.folds.engine import Outcome, Question, Work, evaluate
from foldwise.folds.opening import open_session
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession
from foldwise.folds.rows import count_rows, refuse_routing, take_params, take_rows
from foldwise.folds.splits import Split, freeze_splits


@dataclass(frozen=True, repr=False)
class NestedResult:
    """Outer scores, the setting chosen in each outer fold, and the inner results."""

    scores: NDArray[np.float64]
    best_params: tuple[dict[str, Any], ...]
    inner: tuple[dict[str, Any], ...]
    models_scored: int
    n_train: int
    n_test: int

    @property
    def estimate(self) -> float:
        """The mean outer score: what the procedure is worth on new rows."""
        return float(np.mean(self.scores))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The corrected resampled t interval of Nadeau and Bengio: outer scores share training rows.

        It knows no bounds of a score, so that of a few high scores may pass 1. Of one outer fold it is NaN.
        """
        half = float(corrected_half_width(self.scores, self.n_test / self.n_train, level))
        return self.estimate - half, self.estimate + half

    def __str__(self) -> str:
        low, high = self.interval()
        between = "" if np.isnan(low) else f"95 %: {low:.3f} to {high:.3f}; "
        return f"{self.estimate:.3f} ({between}nested, {self.models_scored:,} models scored)"

    __repr__ = __str__


def nested_cv(search: Any, X: Any, y: Any, cv: Any = 5, *, groups: Any = None, **fit_params: Any) -> NestedResult:
    """Run a search inside each outer fold and score its winner on the rows left out.

    The numbers are those of scikit-learn's `cross_validate(search, X, y, cv=cv)` on the same splits.

    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, NaiveBayes, nested_cv
    >>> X, y = load_iris(return_X_y=True)
    >>> result = nested_cv(GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=3), X, y, cv=5)
    >>> result.models_scored, round(result.estimate, 2)
    (35, 0.95)
    """
    if not hasattr(search, "estimator") or not hasattr(search, "fit"):
        raise FoldwiseTypeError(
            f"nested_cv wants a search such as GridSearchCV, got {type(search).__name__}.",
            "put the model into a search; a model without settings is scored by cross_val_score.",
        )
    n_rows = count_rows(X)
    session = open_session(search.estimator, X, y, fit_params) if hasattr(search, "plan") else None
    splits = freeze_splits(cv, X, y, groups, n_rows=n_rows, classifier=is_classifier(search.estimator))
    if session is not None:
        refuse_routing(fit_params)
        return nested_on_session(search, session, splits, groups)
    return gathered([by_fitting(search, X, y, split, groups, fit_params) for split in splits], splits)


def nested_on_session(search: Any, session: FoldSession, splits: Sequence[Split], groups: Any = None) -> NestedResult:
    """The same on a session that is open already."""
    return gathered(on_one_session(search, session, splits, groups), splits)


def gathered(outer: Sequence[OuterFold], splits: Sequence[Split]) -> NestedResult:
    return NestedResult(
        np.array([one.score for one in outer]),
        tuple(one.best_params for one in outer),
        tuple(one.inner for one in outer),
        sum(one.models for one in outer),
        len(splits[0].train),
        len(splits[0].test),
    )


@dataclass(frozen=True)
class OuterFold:
    """What came of one outer fold."""

    score: float
    best_params: dict[str, Any]
    inner: dict[str, Any]
    models: int


def on_one_session(search: Any, session: FoldSession, splits: Sequence[Split], groups: Any) -> list[OuterFold]:
    """A search that works on a session: inner folds and winners are answered from the same work.

    The searches of all outer folds go in step, so that one pool of threads does the work of all.
    """
    plan = search.plan()
    searches = [plan.start_on(session, split.train, groups) for split in splits]
    options = {"n_jobs": search.n_jobs, "audit": search.audit}
    with Progress() as progress:
        while going := [one for one in searches if one.question is not None]:
            questions = [one.question for one in going]
            outcomes = evaluate(session, questions, plan.work, progress=progress, **options)
            for one, outcome in zip(going, outcomes, strict=True):
                one.tell(outcome)
    inner = [one.results for one in searches]
    best = [results["params"][one.best_index(results)] for one, results in zip(searches, inner, strict=True)]
    winners = [Question([setting], [split]) for setting, split in zip(best, splits, strict=True)]
    # a search scores without weights, whatever it was fitted with
    outer = Work(plan.metrics, weighted=False)
    outcomes = evaluate(session, winners, outer, n_jobs=search.n_jobs)
    scores = [outer_score(outcome, plan.chooser, search.refit) for outcome in outcomes]
    models = [one.models_scored + 1 for one in searches]
    return [OuterFold(*fold) for fold in zip(scores, best, inner, models, strict=True)]


def outer_score(outcome: Outcome, chooser: str, refit: Any) -> float:
    """The score of a winner; where its fit or its score fails, NaN, as in `cross_validate`."""
    for error in [*(one[-1] for one in outcome.failures), *(one[-1] for one in outcome.unscored)]:
        warnings.warn(f"an outer fold failed, and its score is nan: {error!r}", UserWarning, stacklevel=4)
        return float("nan")
    found = outcome.scores[chooser][0, 0]
    return float(found[refit] if isinstance(found, dict) else found)


def by_fitting(search: Any, X: Any, y: Any, split: Split, groups: Any, fit_params: dict[str, Any]) -> OuterFold:
    """Any other search: fitted on the training rows."""
    one = clone(search)
    params = take_params(fit_params, split.train, count_rows(X))
    if groups is not None:
        params["groups"] = take_rows(groups, split.train)
    one.fit(take_rows(X, split.train), take_rows(y, split.train), **params)
    score = float(check_scoring(one)(one, take_rows(X, split.test), take_rows(y, split.test)))
    models = len(one.cv_results_["params"]) * one.n_splits_ + 1
    return OuterFold(score, one.best_params_, one.cv_results_, models)
