"""Comparison of models: on the same splits of one table, over several tables, and statistical tests on given scores."""

from foldwise.evaluation.comparing.compare import compare
from foldwise.evaluation.comparing.comparison import Comparison
from foldwise.evaluation.comparing.over_tables import TablesComparison, compare_tables
from foldwise.evaluation.comparing.paired import Posterior, TTest, corrected_t_test, correlated_bayesian_t, holm
from foldwise.evaluation.comparing.ranked import (
    FriedmanTest,
    RankedPosterior,
    bayesian_signed_rank,
    critical_difference,
    friedman_test,
    nemenyi_p,
    ranks_of,
    signed_rank_test,
)

__all__ = [
    "Comparison",
    "FriedmanTest",
    "Posterior",
    "RankedPosterior",
    "TTest",
    "TablesComparison",
    "bayesian_signed_rank",
    "compare",
    "compare_tables",
    "corrected_t_test",
    "correlated_bayesian_t",
    "critical_difference",
    "friedman_test",
    "holm",
    "nemenyi_p",
    "ranks_of",
    "signed_rank_test",
]
