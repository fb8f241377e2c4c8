"""Titles of models by the class of an estimator, for sentences about models that were opened from a file."""

from __future__ import annotations

from typing import Any

TITLES = {  # by the name of a class without "Classifier" or "Regressor", or by the library of a booster
    "AdaBoost": "AdaBoost of small trees",
    "CatBoost": "CatBoost",
    "DecisionTree": "decision tree",
    "Dummy": "baseline",
    "ElasticNet": "elastic net",
    "ExtraTrees": "extremely randomized trees",
    "GradientBoosting": "gradient boosting",
    "HistGradientBoosting": "histogram gradient boosting",
    "KNN": "nearest neighbors",
    "LGBM": "LightGBM",
    "Lasso": "lasso",
    "LinearRegression": "linear regression",
    "LinearSVC": "linear SVM",
    "LinearSVR": "linear SVM",
    "LogisticRegression": "logistic regression",
    "MLP": "neural network",
    "NaiveBayes": "naive Bayes",
    "Perceptron": "perceptron",
    "RandomForest": "random forest",
    "Ridge": "ridge regression",
    "RuleList": "rule list",
    "SVC": "SVM with a radial kernel",
    "SVR": "SVM with a radial kernel",
    "XGB": "XGBoost",
    "catboost": "CatBoost",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
}


def title_of(model: Any) -> str:
    """Return the title of an estimator in the catalog, or the name of its class if it is not there.

    Parameters
    ----------
    model : estimator
        An estimator, or a booster that was opened from a model file.

    Returns
    -------
    str
        The title.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> title_of(LogisticRegression())
    'logistic regression'
    """
    name = type(model).__name__
    short = getattr(model, "library", name).removesuffix("Classifier").removesuffix("Regressor")
    return TITLES.get(short, name)
