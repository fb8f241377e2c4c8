"""Scores of many settings at once: the common ones vectorised, any other scorer of scikit-learn as it is.

A `sample_weight` given to fit weighs the test rows too, as in scikit-learn's searches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring, get_scorer

from foldwise.folds.protocol import Answer, Need, Params
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split

Scores = NDArray[np.float64]


class Accuracy:
    """The share of right labels."""

    need = Need.LABELS

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Scores:
        assert answer.labels is not None
        right = answer.labels == session.target.codes[split.test]
        return average(right, test_weights(session, split))


class BalancedAccuracy:
    """The mean over the classes of the test rows of the share that is found."""

    need = Need.LABELS

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Scores:
        assert answer.labels is not None
        truth, w = session.target.codes[split.test], test_weights(session, split)
        right = answer.labels == truth
        counted = np.unique(truth if w is None else truth[w > 0])
        shares = [average(right[:, truth == c], None if w is None else w[truth == c]) for c in counted]
        return np.asarray(np.mean(shares, axis=0))


class NegLogLoss:
    """Minus the mean of -log p of the true class, p cut at eps as scikit-learn does."""

    need = Need.PROBA

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Scores:
        proba = answer.probabilities()
        assert proba is not None
        truth = session.target.codes[split.test]
        n_classes = len(session.target.classes)
        if len(np.unique(truth)) < n_classes or len(np.unique(session.target.codes[split.train])) < n_classes:
            return FALLBACK_LOG_LOSS(session, settings, split, answer)  # scikit-learn decides about absent classes
        eps = np.finfo(np.float64).eps
        return average(
            np.log(np.clip(proba[:, np.arange(len(truth)), truth], eps, 1 - eps)), test_weights(session, split)
        )


def test_weights(session: Any, split: Split) -> NDArray[np.float64] | None:
    """The weights of the test rows, if fit was given any."""
    weights = session.fit_params.get("sample_weight")
    return None if weights is None else np.asarray(weights, dtype=np.float64)[split.test]


def average(values: NDArray[Any], weights: NDArray[np.float64] | None) -> Scores:
    """The mean of each row, summed as `np.average` sums one row: ranks must tie as scikit-learn's do."""
    if weights is None and values.dtype == bool:
        return np.asarray(np.count_nonzero(values, axis=1) / values.shape[1])  # a sum of ones has no order
    return np.array([np.average(row, weights=weights) for row in values], dtype=np.float64)


class ScorerMetric:
    """Any scorer: called with the fitted model, or with a stand-in that holds the answers a session gave."""

    need = Need.MODEL

    def __init__(self, scorer: Callable[..., Any], wants_model: bool = False) -> None:
        self.scorer = scorer
        self.wants_model = wants_model  # whether it may ask a model for more than its answers
        known = signature(scorer).parameters
        self.takes_weight = "sample_weight" in known or any(p.kind is p.VAR_KEYWORD for p in known.values())

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Scores:
        X, y = take_rows(session.X, split.test), take_rows(session.y, split.test)
        if answer.models is not None:
            models: Sequence[Any] = answer.models
        elif self.wants_model:
            models = [session.model(setting, split.train) for setting in settings]
        else:
            models = [Answered(session, answer, i, split) for i in range(len(settings))]
        w = test_weights(session, split) if self.takes_weight else None
        weighted = {} if w is None else {"sample_weight": w}
        return np.array([self.scorer(model, X, y, **weighted) for model in models], dtype=np.float64)


class Answered(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier that knows one answer: to the test rows it was asked about."""

    def __init__(self, session: Any, answer: Answer, i: int, split: Split) -> None:
        self.session, self.answer, self.i, self.split = session, answer, i, split
        self._present = np.unique(session.target.codes[split.train])
        self.classes_ = session.target.classes[self._present]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        assert self.answer.labels is not None
        return self.session.target.classes[self.answer.labels[self.i]]

    def predict_log_proba(self, X: Any) -> Any:
        log_proba = self.answer.log_probabilities()
        assert log_proba is not None
        return log_proba[self.i][:, self._present]

    def predict_proba(self, X: Any) -> Any:
        proba = self.answer.probabilities()
        assert proba is not None
        return proba[self.i][:, self._present]


FALLBACK_LOG_LOSS = ScorerMetric(get_scorer("neg_log_loss"))

VECTORISED: dict[str, Any] = {
    "accuracy": Accuracy(),
    "balanced_accuracy": BalancedAccuracy(),
    "neg_log_loss": NegLogLoss(),
}


def metrics_of(scoring: Any, estimator: Any) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Metrics and scorers by name, and whether there are several. `scoring` as in scikit-learn's searches."""
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        scorer = check_scoring(estimator, scoring)
        return {"score": one_metric(scoring, scorer, estimator)}, {"score": scorer}, False
    named = scoring if isinstance(scoring, dict) else {name: name for name in scoring}
    scorers = {name: check_scoring(estimator, entry) for name, entry in named.items()}
    metrics = {name: one_metric(entry, scorers[name], estimator) for name, entry in named.items()}
    return metrics, scorers, True


def one_metric(scoring: Any, scorer: Any, estimator: Any) -> Any:
    """The vectorised metric of a name, or a wrapper of the scorer."""
    if scoring is None and getattr(type(estimator), "score", None) is ClassifierMixin.score:
        scoring = "accuracy"  # what the mixin's score is
    if isinstance(scoring, str) and scoring in VECTORISED:
        return VECTORISED[scoring]
    # a scorer of scikit-learn asks for predictions only; anything else may look into the model
    return ScorerMetric(scorer, wants_model=scoring is None or not type(scorer).__module__.startswith("sklearn."))
