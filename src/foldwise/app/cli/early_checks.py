"""Refuse unknown models, impossible numbers of workers and unreadable folds before any library is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan

MODELS = (
    *("adaboost", "catboost", "decision_tree", "elastic_net", "extra_trees", "gradient_boosting"),
    *("hist_gradient_boosting", "knn", "lasso", "lightgbm", "linear_regression", "linear_svm", "logistic_regression"),
    *(
        "mean",
        "median",
        "mlp",
        "naive_bayes",
        "perceptron",
        "random_forest",
        "rbf_svm",
        "ridge",
        "rule_list",
        "xgboost",
    ),
)
"""The models of the catalog; a test compares them with it."""


def check_models(names: Iterable[str] | None) -> None:
    """Raise if a name is neither in the catalog nor the import path of an estimator."""
    for name in names or ():
        if name not in MODELS and "." not in name:
            near = get_close_matches(name.lower().replace("-", "_").replace(" ", "_"), MODELS, 1, 0.5)
            start = f"did you mean {near[0]!r}? The models are" if near else "choose among"
            raise InputError(
                f"there is no model called {name!r}.",
                f"{start} {', '.join(MODELS)}, or pass the import path of an estimator, 'package.module.Class'.",
            )


def check_jobs(jobs: int | None) -> None:
    """Raise if there would be no worker."""
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs must be at least 1, got {jobs}.", "leave it out to use all cores.")


def check_folds(cv: str | None) -> None:
    """Raise if the folds cannot be read."""
    if cv is not None:
        FoldPlan.of(cv)
