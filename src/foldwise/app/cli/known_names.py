"""Names of models, metrics and strategies, for checks before any library is loaded. Tests keep them up to date."""

from __future__ import annotations

BOTH_TASKS = (
    *("catboost", "decision_tree", "extra_trees", "hist_gradient_boosting", "knn", "lightgbm", "mlp"),
    *("random_forest", "rbf_svm", "xgboost"),
)
ONLY_CLASSES = ("adaboost", "linear_svm", "logistic_regression", "naive_bayes", "perceptron", "rule_list")
ONLY_VALUES = ("elastic_net", "gradient_boosting", "lasso", "linear_regression", "mean", "median", "ridge")
CLASS_MODELS, VALUE_MODELS = sorted(BOTH_TASKS + ONLY_CLASSES), sorted(BOTH_TASKS + ONLY_VALUES)
MODELS = sorted(BOTH_TASKS + ONLY_CLASSES + ONLY_VALUES)
"""The models of the catalog; a test compares them with it."""

CLASS_METRICS = (
    *("log_loss", "brier_score", "accuracy", "balanced_accuracy", "roc_auc", "roc_auc_ovr", "roc_auc_ovr_weighted"),
    *("f1", "f1_macro", "f1_micro", "f1_weighted", "precision", "precision_macro", "precision_micro"),
    *("precision_weighted", "recall", "recall_macro", "recall_micro", "recall_weighted", "matthews_corrcoef"),
)
VALUE_METRICS = (
    *("root_mean_squared_error", "mean_squared_error", "mean_absolute_error", "median_absolute_error", "r2"),
    *("mean_poisson_deviance", "mean_gamma_deviance", "mean_absolute_percentage_error"),
)
METRIC_ALIASES = ("auc", "brier", "brier_score_loss", "mae", "mape", "mse", "rmse")
PLAIN_NAMES = {
    "auc": "roc_auc",
    **dict.fromkeys(("brier", "brier_score_loss"), "brier_score"),
    **{"mae": "mean_absolute_error", "mape": "mean_absolute_percentage_error", "mse": "mean_squared_error"},
    "rmse": "root_mean_squared_error",
}
"""The metric behind each alias."""
PINBALL = "pinball_loss_"  # followed by a quantile

SCORERS = (
    *("adjusted_mutual_info_score", "adjusted_rand_score", "average_precision", "completeness_score"),
    *("d2_absolute_error_score", "d2_brier_score", "d2_log_loss_score", "explained_variance", "f1_samples"),
    *("fowlkes_mallows_score", "homogeneity_score", "jaccard", "jaccard_macro", "jaccard_micro", "jaccard_samples"),
    *("jaccard_weighted", "mutual_info_score", "neg_brier_score", "neg_log_loss", "neg_max_error"),
    *("neg_mean_absolute_error", "neg_mean_absolute_percentage_error", "neg_mean_gamma_deviance"),
    *("neg_mean_poisson_deviance", "neg_mean_squared_error", "neg_mean_squared_log_error"),
    *("neg_median_absolute_error", "neg_negative_likelihood_ratio", "neg_root_mean_squared_error"),
    *("neg_root_mean_squared_log_error", "normalized_mutual_info_score", "positive_likelihood_ratio"),
    *("precision_samples", "rand_score", "recall_samples", "roc_auc_ovo", "roc_auc_ovo_weighted", "top_k_accuracy"),
    "v_measure_score",
)
"""The scorers of scikit-learn, besides those that have the name of a metric."""

STRATEGIES = ("grid", "design", "random", "evolutionary", "bayesian", "gradient", "tpe", "cma-es")
TASKS = ("classification", "regression")
