"""The smooth losses of scikit-learn's estimators, by exact type; their modules are loaded when they are needed."""

from __future__ import annotations

from importlib import import_module

from foldwise.adapters.support import SKLEARN, Support
from foldwise.tuning.smooth_losses import SmoothEstimator

MODULES = {
    "LogisticRegression": "smooth_logistic",
    "Ridge": "smooth_ridge",
    "RidgeClassifier": "smooth_ridge",
    "KernelRidge": "smooth_kernel_ridge",
    "Pipeline": "smooth_pipelines",
}
SUPPORT = Support(SKLEARN, otherwise="strategy='gradient' does not support its estimators.")
CATALOG = (  # for messages; NaiveBayes has methods of its own
    "LogisticRegression (C), Ridge and RidgeClassifier (alpha), KernelRidge (alpha; gamma with the kernels 'rbf' and "
    "'laplacian'), NaiveBayes (alpha, var_floor, temperature, column_weights__COLUMN, priors__CLASS), pipelines that "
    "end in one of them, TransformedTarget of one of them without a transformation, and the factors of PenaltyFactors "
    "before it"
)


def smooth_estimator_of(kind: type) -> SmoothEstimator | None:
    """What is known about estimators of exactly this type; subclasses may be fitted differently."""
    name = MODULES.get(kind.__qualname__) if kind.__module__.split(".")[0] == "sklearn" else None
    if name is None or not SUPPORT.is_given(kind):
        return None
    module = import_module(f"foldwise.adapters.{name}")
    return SmoothEstimator(module.smooth_names, module.open_smooth_loss)
