"""Evaluation: metrics, confusion matrices and costs, out-of-fold predictions, estimates, comparisons, curves, leaks."""

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
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.cross_predict import cross_predict
from foldwise.evaluation.cross_validation import cross_val_predict, cross_val_score, cross_validate
from foldwise.evaluation.curves import learning_curve, validation_curve
from foldwise.evaluation.decision import Decision
from foldwise.evaluation.engine_nested import EngineNestedResult, nested_in_engine
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.estimating import estimate
from foldwise.evaluation.leaks import Leak, Leaks, duplicate_groups, find_leaks
from foldwise.evaluation.nested import NestedResult, nested_cv
from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.evaluation.score_curves import LearningCurve, ValidationCurve
from foldwise.evaluation.slice_scores import SliceScores
from foldwise.evaluation.slices import score_slices

__all__ = [
    "Comparison",
    "Confusion",
    "CostMatrix",
    "Decision",
    "EngineNestedResult",
    "Estimate",
    "Leak",
    "Leaks",
    "LearningCurve",
    "NestedResult",
    "OutOfFoldAnswers",
    "SliceScores",
    "TablesComparison",
    "ValidationCurve",
    "bayesian_signed_rank",
    "bias_corrected",
    "compare",
    "compare_tables",
    "corrected_t_test",
    "correlated_bayesian_t",
    "critical_difference",
    "cross_predict",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "duplicate_groups",
    "estimate",
    "find_leaks",
    "friedman_test",
    "holm",
    "learning_curve",
    "nested_cv",
    "nested_in_engine",
    "score_slices",
    "signed_rank_test",
    "validation_curve",
]
