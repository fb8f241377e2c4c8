"""Rule lists: the estimator, the cells that conditions look at, and the learning (RIPPER)."""

from foldwise.rules.estimator import RuleList

__all__ = ["RuleList"]
