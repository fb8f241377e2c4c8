"""Metrics vectorised over settings; confusion and cost matrices; out-of-fold predictions; curves; nested estimates."""

from foldwise.evaluation.bias_corrected import bias_corrected
from foldwise.evaluation.confusion import Confusion
from foldwise.evaluation.cost import CostMatrix, Decision
from foldwise.evaluation.cross_predict import cross_predict
from foldwise.evaluation.curves import LearningCurve, ValidationCurve, learning_curve, validation_curve
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.estimating import estimate
from foldwise.evaluation.kept import Kept
from foldwise.evaluation.leaks import Leak, Leaks, duplicate_groups, find_leaks
from foldwise.evaluation.nested import NestedResult, nested_cv

__all__ = [
    "Confusion",
    "CostMatrix",
    "Decision",
    "Estimate",
    "Kept",
    "Leak",
    "Leaks",
    "LearningCurve",
    "NestedResult",
    "ValidationCurve",
    "bias_corrected",
    "cross_predict",
    "duplicate_groups",
    "estimate",
    "find_leaks",
    "learning_curve",
    "nested_cv",
    "validation_curve",
]
