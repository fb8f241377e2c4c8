"""Refuse unknown models, impossible numbers of workers and unreadable folds before any library is loaded."""

from __future__ import annotations

import os
import re
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


NAMED_ELSEWHERE = {
    **dict.fromkeys(
        ("bernoulli_nb", "categorical_nb", "complement_nb", "gaussian_nb", "multinomial_nb"), "naive_bayes"
    ),
    **dict.fromkeys(("cart", "j48", "rep_tree", "tree"), "decision_tree"),
    **dict.fromkeys(("svc", "svm", "svr", "smo"), "rbf_svm"),
    **dict.fromkeys(("linear_svc", "linear_svr"), "linear_svm"),
    **dict.fromkeys(("ibk", "k_neighbors", "nearest_neighbors"), "knn"),
    **dict.fromkeys(("forest", "rf"), "random_forest"),
    **dict.fromkeys(("logistic", "logit", "simple_logistic"), "logistic_regression"),
    **dict.fromkeys(("j_rip", "part", "ripper"), "rule_list"),
    **dict.fromkeys(("multilayer_perceptron", "neural_network"), "mlp"),
    **{"ada_boost": "adaboost", "ada_boost_m1": "adaboost", "cat_boost": "catboost", "lgbm": "lightgbm"},
    **{"light_gbm": "lightgbm", "xgb": "xgboost", "xg_boost": "xgboost", "ols": "linear_regression"},
}
"""How scikit-learn, Weka and others call the models of the catalog."""

MOST_JOBS_PER_CORE = 16


def nearest_model(name: str) -> str | None:
    """Return the model that was probably meant, also by its name in scikit-learn or Weka.

    >>> nearest_model("RandomForestClassifier"), nearest_model("GaussianNB"), nearest_model("J48"), nearest_model("z")
    ('random_forest', 'naive_bayes', 'decision_tree', None)
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(" ", "_")
    words = re.sub(r"_?(classifier|regressor)$", "", words)
    plain = {one.replace("_", ""): model for one, model in NAMED_ELSEWHERE.items()}
    if words.replace("_", "") in plain:
        return plain[words.replace("_", "")]
    return next(iter(get_close_matches(words, MODELS, 1, 0.5)), None)


def check_models(names: Iterable[str] | None) -> None:
    """Raise if a name is neither in the catalog nor the import path of an estimator, or if there are no names."""
    if names is None:
        return
    names = list(names)
    if not names:
        raise InputError("--models must name at least one model.", "pass --models knn,naive_bayes, for example.")
    for name in names:
        if name not in MODELS and "." not in name:
            near = nearest_model(name)
            start = f"did you mean {near!r}? The models are" if near else "choose among"
            raise InputError(
                f"there is no model called {name!r}.",
                f"{start} {', '.join(MODELS)}, or pass the import path of an estimator, 'package.module.Class'.",
            )


def check_jobs(jobs: int | None) -> None:
    """Raise if there would be no worker, or far more than the machine can run."""
    cores = os.cpu_count() or 1
    if jobs is not None and jobs > MOST_JOBS_PER_CORE * cores:
        raise InputError(
            f"--jobs must be at most {MOST_JOBS_PER_CORE * cores} on this machine, which has {cores} "
            f"{'core' if cores == 1 else 'cores'}, got {jobs}.",
            "leave it out to use all cores.",
        )
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs must be at least 1, got {jobs}.", "leave it out to use all cores.")


def check_folds(cv: str | None) -> None:
    """Raise if the folds cannot be read."""
    if cv is not None:
        FoldPlan.of(cv)
