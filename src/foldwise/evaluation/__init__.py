"""Metrics vectorised over settings; confusion and cost matrices; out-of-fold predictions; nested estimates."""

from foldwise.evaluation.confusion import Confusion
from foldwise.evaluation.cost import CostMatrix, Decision
from foldwise.evaluation.cross_predict import cross_predict
from foldwise.evaluation.nested import NestedResult, nested_cv

__all__ = ["Confusion", "CostMatrix", "Decision", "NestedResult", "cross_predict", "nested_cv"]
