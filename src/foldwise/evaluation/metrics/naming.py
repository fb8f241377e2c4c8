"""From what a user names as `scoring` to metrics: vectorised where we have them, any scorer as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline

from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix, CostScorer
from foldwise.evaluation.metrics.base import VectorisedMetric
from foldwise.evaluation.metrics.costs import CostMetric
from foldwise.evaluation.metrics.labels import Accuracy, BalancedAccuracy, LabelRates, Matthews
from foldwise.evaluation.metrics.probabilities import NegBrierScore, NegLogLoss
from foldwise.evaluation.metrics.ranking import RocAuc, RocAucOneVsRest
from foldwise.evaluation.metrics.scorers import ScorerMetric, Scores
from foldwise.evaluation.metrics.values import R2, NegAbsoluteError, NegRootSquaredError, NegSquaredError
from foldwise.folds.protocol import Answer, Labels, Params
from foldwise.folds.splits import Split

RATES = [rate + average for rate in ("precision", "recall", "f1") for average in ("", "_macro", "_micro", "_weighted")]

_KINDS: dict[str, Callable[[str], VectorisedMetric]] = {
    "accuracy": Accuracy,
    "balanced_accuracy": BalancedAccuracy,
    "matthews_corrcoef": Matthews,
    **dict.fromkeys(RATES, LabelRates),
    "neg_log_loss": NegLogLoss,
    "neg_brier_score": NegBrierScore,
    "roc_auc": RocAuc,
    "roc_auc_ovr": RocAucOneVsRest,
    "roc_auc_ovr_weighted": RocAucOneVsRest,
    "neg_mean_squared_error": NegSquaredError,
    "neg_root_mean_squared_error": NegRootSquaredError,
    "neg_mean_absolute_error": NegAbsoluteError,
    "r2": R2,
}

VECTORISED: dict[str, VectorisedMetric] = {name: kind(name) for name, kind in _KINDS.items()}


def metrics_of(scoring: Any, estimator: Any) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Metrics and scorers by name, and whether there are several.

    `scoring` is what scikit-learn's searches take, or a `CostMatrix`, or a dict that holds some.
    """
    if scoring is None or isinstance(scoring, str | CostMatrix) or callable(scoring):
        scorer = scorer_of(scoring, estimator)
        return {"score": one_metric(scoring, scorer, estimator)}, {"score": scorer}, False
    named = scoring if isinstance(scoring, dict) else {name: name for name in scoring}
    scorers = {name: scorer_of(entry, estimator) for name, entry in named.items()}
    metrics = {name: one_metric(entry, scorers[name], estimator) for name, entry in named.items()}
    return metrics, scorers, True


def check_single(scoring: Any, what: str) -> None:
    """Refuse several metrics where there can be one only."""
    if isinstance(scoring, list | tuple | set | dict):
        raise InputError(f"{what} one metric, but scoring names several.", "pass one of them.")


def scorer_of(scoring: Any, estimator: Any) -> Any:
    """The scorer that scikit-learn would call."""
    return scoring.scorer() if isinstance(scoring, CostMatrix) else check_scoring(estimator, scoring)


def one_metric(scoring: Any, scorer: Any, estimator: Any) -> Any:
    """The vectorised metric of a name, or a wrapper of the scorer."""
    if isinstance(scorer, CostScorer):
        return CostMetric(scorer.matrix)
    # a scorer of scikit-learn asks for predictions only; anything else may look into the model
    own = type(scorer).__module__.startswith("sklearn.") and scoring is not None
    by_scorer = ScorerMetric(scorer, wants_model=not own)
    if scoring is None:
        if type(estimator) is Pipeline:
            name, last = estimator.steps[-1]
            metric = vectorised(default_score(last), estimator)
            return by_scorer if metric is None else LastStepScore(metric, by_scorer, name)
        scoring = default_score(estimator)
    return vectorised(scoring, estimator) or by_scorer


def vectorised(name: Any, estimator: Any) -> VectorisedMetric | None:
    """The metric of a name, if there is one and the estimator's target is of its kind."""
    metric = VECTORISED.get(name) if isinstance(name, str) else None
    if metric is None or not (is_classifier if metric.kind is Labels else is_regressor)(estimator):
        return None
    return metric


def default_score(estimator: Any) -> str | None:
    """The name of what `estimator.score` is, where it is that of scikit-learn's mixins."""
    kind = type(estimator)
    if kind.__module__.startswith("sklearn.neighbors.") and kind.__name__.endswith("NeighborsClassifier"):
        return "accuracy"  # its own `score` is the mixin's but for X=None
    score = getattr(kind, "score", None)
    return {ClassifierMixin.score: "accuracy", RegressorMixin.score: "r2"}.get(score)


class LastStepScore:
    """The score of a pipeline is that of its last step, unless a setting puts another one there."""

    def __init__(self, metric: VectorisedMetric, by_scorer: ScorerMetric, step: str) -> None:
        self.metric, self.by_scorer, self.step = metric, by_scorer, step
        self.need, self.bounds, self.lossless = metric.need, metric.bounds, metric.lossless
        if hasattr(metric, "losses"):
            self.losses = metric.losses

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Scores:
        replaced = any(self.step in setting or "steps" in setting for setting in settings)
        return (self.by_scorer if replaced else self.metric)(session, settings, split, answer)
