"""Every named metric in our search and in scikit-learn's: the same scores, with what sessions really answer."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn import model_selection as peer
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from foldwise import GridSearchCV, NaiveBayes
from foldwise.evaluation.metrics import SESSION_METRICS
from foldwise.folds.protocol import Labels
from tests.conftest import mixed_columns
from tests.slow import slow

LABELLED = [name for name, metric in SESSION_METRICS.items() if metric.kind is Labels]
VALUED = [name for name in SESSION_METRICS if name not in LABELLED]


def assert_same_scores(estimator, grid, X, y, names, params):
    options = {"scoring": names, "refit": names[0], "cv": 3, "error_score": "raise"}
    ours = GridSearchCV(estimator, grid, **options).fit(X, y, **params)
    theirs = peer.GridSearchCV(estimator, grid, **options).fit(X, y, **params)
    for name in names:
        for i in range(3):
            key = f"split{i}_test_{name}"
            found, expected = ours.cv_results_[key], theirs.cv_results_[key]
            np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=key)


@pytest.mark.parametrize(("weighted", "n_classes"), [(False, 2), (True, 3), *slow((True, 2), (False, 3))])
def test_classifiers(rng, weighted, n_classes):
    y = rng.integers(0, n_classes, 150)
    columns = mixed_columns(rng, 150)
    columns["size"] = (rng.normal(size=150) + y).tolist()
    only_two = {"precision", "recall", "f1", "roc_auc"}
    names = [name for name in LABELLED if n_classes == 2 or name not in only_two]
    params = {"sample_weight": rng.exponential(size=150)} if weighted else {}
    assert_same_scores(
        NaiveBayes(), {"alpha": [0.1, 1, 10], "var_floor": [1e-9, 0.3]}, pl.DataFrame(columns), y, names, params
    )
    X = np.c_[columns["size"], rng.normal(size=150)]
    assert_same_scores(GaussianNB(), {"var_smoothing": [1e-9, 0.1, 1.0]}, X, y, names, params)


@pytest.mark.parametrize("weighted", [False, True])
def test_regressors(rng, weighted):
    X = rng.normal(size=(80, 3))
    y = 20 + X[:, 0] + rng.normal(size=80)  # deviances need positive values
    params = {"sample_weight": rng.exponential(size=80)} if weighted else {}
    assert_same_scores(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, X, y, VALUED, params)
