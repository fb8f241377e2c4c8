"""Rule lists: the estimator, its conditions, and the learning algorithm (RIPPER)."""

from foldwise.rules.estimator import RuleList

__all__ = ["RuleList"]
