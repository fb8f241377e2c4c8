"""Scores of many settings at once: the common ones vectorised, any other scorer of scikit-learn as it is."""

from foldwise.evaluation.metrics.costs import CostMetric, cost_metric
from foldwise.evaluation.metrics.naming import VECTORISED, metrics_of, one_metric
from foldwise.evaluation.metrics.scorers import ScorerMetric

__all__ = ["VECTORISED", "CostMetric", "ScorerMetric", "cost_metric", "metrics_of", "one_metric"]
