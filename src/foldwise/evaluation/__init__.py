"""Metrics over many settings; confusion and cost matrices; out-of-fold predictions; estimates; comparisons."""

from foldwise.evaluation.bias_corrected import bias_corrected
from foldwise.evaluation.comparing import (
    Comparison,
    TablesComparison,
    bayesian_signed_rank,
    compare,
    compare_tables,
    corrected_t_test,
    correlated_bayesian_t,
    critical_difference,
    friedman_test,
    holm,
    signed_rank_test,
)
from foldwise.evaluation.confusion import Confusion
from foldwise.evaluation.cost import CostMatrix, Decision
from foldwise.evaluation.cross_predict import cross_predict
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.estimating import estimate
from foldwise.evaluation.kept import Kept
from foldwise.evaluation.nested import NestedResult, nested_cv

__all__ = [
    "Comparison",
    "Confusion",
    "CostMatrix",
    "Decision",
    "Estimate",
    "Kept",
    "NestedResult",
    "TablesComparison",
    "bayesian_signed_rank",
    "bias_corrected",
    "compare",
    "compare_tables",
    "corrected_t_test",
    "correlated_bayesian_t",
    "critical_difference",
    "cross_predict",
    "estimate",
    "friedman_test",
    "holm",
    "nested_cv",
    "signed_rank_test",
]
