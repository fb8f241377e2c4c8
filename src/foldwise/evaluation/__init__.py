"""Metrics vectorised over settings; nested estimates."""

from foldwise.evaluation.nested import NestedResult, nested_cv

__all__ = ["NestedResult", "nested_cv"]
