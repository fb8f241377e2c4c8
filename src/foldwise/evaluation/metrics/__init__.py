"""Metrics for stored predictions and for searches, and a wrapper for any other scikit-learn scorer."""

from foldwise.evaluation.metrics.costs import CostMetric, cost_metric
from foldwise.evaluation.metrics.metric import Metric
from foldwise.evaluation.metrics.registry import METRICS, class_metric, find_metric, is_metric, value_metric
from foldwise.evaluation.metrics.scorers import ScorerMetric
from foldwise.evaluation.metrics.scoring import SESSION_METRICS, metrics_of
from foldwise.evaluation.metrics.session import SessionMetric
from foldwise.evaluation.metrics.values import pinball_metric

__all__ = [
    "METRICS",
    "SESSION_METRICS",
    "CostMetric",
    "Metric",
    "ScorerMetric",
    "SessionMetric",
    "class_metric",
    "cost_metric",
    "find_metric",
    "is_metric",
    "metrics_of",
    "pinball_metric",
    "value_metric",
]
