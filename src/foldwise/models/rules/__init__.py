"""Rule lists: the estimator, the cells that conditions look at, and the learning (RIPPER)."""

from foldwise.models.rules.estimator import RuleList

__all__ = ["RuleList"]
