"""How scikit-learn, Weka and others call the models of the catalog, to name the one that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

NAMED_ELSEWHERE = {
    **dict.fromkeys(
        ("bayes", "bernoulli_nb", "categorical_nb", "complement_nb", "gaussian_nb", "multinomial_nb", "nb"),
        "naive_bayes",
    ),
    **dict.fromkeys(("cart", "j48", "rep_tree", "tree"), "decision_tree"),
    **dict.fromkeys(("svc", "svm", "svr", "smo"), "rbf_svm"),
    **dict.fromkeys(("linear_svc", "linear_svr"), "linear_svm"),
    **dict.fromkeys(("ibk", "k_neighbors", "nearest_neighbors"), "knn"),
    **dict.fromkeys(("forest", "rf"), "random_forest"),
    **dict.fromkeys(("hgb", "hgbt", "hist_gb", "hist_gbt"), "hist_gradient_boosting"),
    **dict.fromkeys(("logistic", "logit", "simple_logistic"), "logistic_regression"),
    **dict.fromkeys(("j_rip", "part", "ripper"), "rule_list"),
    **dict.fromkeys(("multilayer_perceptron", "neural_network"), "mlp"),
    **{"ada_boost": "adaboost", "ada_boost_m1": "adaboost", "cat_boost": "catboost", "lgbm": "lightgbm"},
    **{"light_gbm": "lightgbm", "xgb": "xgboost", "xg_boost": "xgboost", "ols": "linear_regression"},
}


def nearest_model(name: str, models: Iterable[str]) -> str | None:
    """Return the model that was probably meant, also by its name in scikit-learn or Weka.

    >>> models = ["decision_tree", "naive_bayes", "random_forest"]
    >>> [nearest_model(name, models) for name in ("RandomForestClassifier", "GaussianNB", "J48", "z")]
    ['random_forest', 'naive_bayes', 'decision_tree', None]
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(" ", "_")
    words = re.sub(r"_?(classifier|regressor)$", "", words)
    plain = {one.replace("_", ""): model for one, model in NAMED_ELSEWHERE.items()}
    known = list(models)
    meant = plain.get(words.replace("_", ""))
    return meant if meant in known else next(iter(get_close_matches(words, known, 1, 0.5)), None)
