"""Metrics vectorised over settings; confusion and cost matrices; out-of-fold predictions; curves; nested estimates."""

from foldwise.evaluation.confusion import Confusion
from foldwise.evaluation.cost import CostMatrix, Decision
from foldwise.evaluation.cross_predict import cross_predict
from foldwise.evaluation.curves import LearningCurve, ValidationCurve, learning_curve, validation_curve
from foldwise.evaluation.nested import NestedResult, nested_cv

__all__ = [
    "Confusion",
    "CostMatrix",
    "Decision",
    "LearningCurve",
    "NestedResult",
    "ValidationCurve",
    "cross_predict",
    "learning_curve",
    "nested_cv",
    "validation_curve",
]
