"""By what a procedure is scored, told so that two of them can be seen to be scored alike."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from foldwise.evaluation.metrics.base import VectorisedMetric
from foldwise.evaluation.metrics.costs import CostMetric
from foldwise.evaluation.metrics.naming import LastStepScore, metrics_of


def measure_of(metric: Any, model: Any, scoring: Any = None) -> str:
    """The name of a metric; metrics with the same name give the same score to the same predictions."""
    if isinstance(metric, LastStepScore):
        metric = metric.metric
    if isinstance(metric, CostMetric):
        return f"minus the mean cost by {metric.matrix!r}"
    if isinstance(metric, VectorisedMetric):
        return metric.name
    if scoring is None and all(hasattr(model, name) for name in ("estimator", "scoring", "refit")):
        return measure_of_search(model)
    if scoring is None:
        if type(model).__module__ == "sklearn.dummy":  # a score of their own, but for X=None the usual one
            return "accuracy" if is_classifier(model) else "r2"
        return f"{type(model).__name__}.score"
    return scoring if isinstance(scoring, str) else repr(metric.scorer)


def measure_of_search(search: Any, metrics: dict[str, Any] | None = None) -> str:
    """The name of what a search, ours or scikit-learn's, scores its winner by."""
    scoring, refit = getattr(search, "scoring", None), getattr(search, "refit", True)
    if metrics is None:
        metrics = metrics_of(scoring, search.estimator)[0]
    name = refit if isinstance(refit, str) and refit in metrics else next(iter(metrics))
    several = isinstance(scoring, list | tuple | set | dict)
    asked = scoring[name] if isinstance(scoring, dict) else name if several else scoring
    return measure_of(metrics[name], search.estimator, asked)


def short(measure: str) -> str:
    """The name as a title shows it."""
    return measure if len(measure) <= 40 else "minus the mean cost" if measure.startswith("minus") else "score"
