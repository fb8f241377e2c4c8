"""Rule lists: the estimator `RuleList`, its conditions, and the RIPPER algorithm that learns them."""

from foldwise.rules.estimator import RuleList

__all__ = ["RuleList"]
