"""Out-of-fold predictions against scikit-learn's `cross_val_predict`."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise import NaiveBayes
from foldwise.errors import InputError
from foldwise.evaluation import cross_predict
from tests.conftest import mixed_columns

METHODS = ("predict", "predict_proba", "predict_log_proba")


def assert_same(found, expected):
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)
    else:
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("labels", ["int", "text"])
def test_naive_bayes(rng, method, labels):
    X = pl.DataFrame(mixed_columns(rng, 120))
    y = rng.integers(0, 3, 120)
    y = y if labels == "int" else np.array(list("xyz"))[y]
    settings = [{"alpha": 0.1}, {"alpha": 5.0, "var_floor": 0.2}]
    cv = KFold(4, shuffle=True, random_state=1)
    found = cross_predict(NaiveBayes(), X, y, cv=cv, setting=settings, method=method)
    for one, setting in zip(found, settings, strict=True):
        assert_same(one, cross_val_predict(NaiveBayes(**setting), X, y, cv=cv, method=method))
        assert_same(one, cross_predict(NaiveBayes(), X, y, cv=cv, setting=setting, method=method, n_jobs=2))
    plain = cross_predict(NaiveBayes(), X, y, cv=cv, method=method)
    assert_same(plain, cross_val_predict(NaiveBayes(), X, y, cv=cv, method=method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "estimator", [GaussianNB(), DecisionTreeClassifier(random_state=0), RandomForestClassifier(5, random_state=0)]
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_any_classifier(rng, method, estimator):
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 3, 90)
    X[:, 0] += 30 * y  # log-probabilities that underflow when exponentiated
    found = cross_predict(estimator, X, y, cv=3, method=method)
    assert_same(found, cross_val_predict(estimator, X, y, cv=3, method=method))


def test_regressors(rng):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    for estimator, setting in ((Ridge(), {"alpha": 3.0}), (DecisionTreeRegressor(random_state=0), {"max_depth": 2})):
        found = cross_predict(estimator, X, y, cv=4, setting=[setting])
        assert_same(found[0], cross_val_predict(estimator.set_params(**setting), X, y, cv=4))
    two = np.c_[y, -y]
    assert_same(cross_predict(LinearRegression(), X, two, cv=4), cross_val_predict(LinearRegression(), X, two, cv=4))


def test_several_labels_a_row():
    X, y = make_multilabel_classification(60, random_state=0)
    estimator = KNeighborsClassifier(3)
    assert_same(cross_predict(estimator, X, y, cv=3), cross_val_predict(estimator, X, y, cv=3))


def test_weights_and_groups(rng):
    X, y = rng.normal(size=(90, 3)), rng.integers(0, 2, 90)
    groups, weights = rng.integers(0, 9, 90), rng.exponential(size=90)
    found = cross_predict(
        GaussianNB(), X, y, cv=GroupKFold(3), groups=groups, method="predict_proba", sample_weight=weights
    )
    params = {"sample_weight": weights}
    expected = cross_val_predict(
        GaussianNB(), X, y, cv=GroupKFold(3), groups=groups, method="predict_proba", params=params
    )
    assert_same(found, expected)


@pytest.mark.parametrize("estimator", [NaiveBayes(), GaussianNB(), LogisticRegression()])
@pytest.mark.parametrize("method", METHODS)
def test_classes_absent_from_a_training_fold(rng, estimator, method):
    X, y = rng.normal(size=(30, 2)), np.repeat([1, 4, 9], 10)
    cv = KFold(3)  # each fold is a class
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cross_val_predict(estimator, X, y, cv=cv, method=method)
    if method == "predict":
        found = cross_predict(estimator, X, y, cv=cv, method=method)
    else:
        with pytest.warns(RuntimeWarning, match="Number of classes in training fold"):
            found = cross_predict(estimator, X, y, cv=cv, method=method)
        lowest = 0 if method == "predict_proba" else np.finfo(float).min
        assert (found[:10, 0] == lowest).all()
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("cv", "how"),
    [
        (RepeatedKFold(n_splits=2, n_repeats=2), "row 0 is tested 2 times"),
        (ShuffleSplit(1, test_size=5, random_state=0), "row . is never tested"),
        ([(np.arange(10, 20), np.arange(10))], "row 10 is never tested"),
    ],
)
def test_splits_must_partition_the_rows(rng, cv, how):
    with pytest.raises(InputError, match=f"tests each row exactly once.*{how}"):
        cross_predict(GaussianNB(), rng.normal(size=(20, 2)), np.arange(20) % 2, cv=cv)


def test_bad_questions(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(InputError, match="method must be 'predict', 'predict_proba' or"):
        cross_predict(GaussianNB(), X, y, method="transform")
    with pytest.raises(InputError, match="setting is an empty list"):
        cross_predict(GaussianNB(), X, y, setting=[])
    for method in METHODS[1:]:
        with pytest.raises(InputError, match=f"{method}.*LinearSVC has no such method"):
            cross_predict(LinearSVC(), X, y, method=method)
        with pytest.raises(InputError, match=f"{method}.*Ridge has no such method"):
            cross_predict(Ridge(), X, y, method=method)
    with pytest.raises(InputError, match="alpha must be") as caught:
        cross_predict(NaiveBayes(), X, y, setting={"alpha": -1})
    assert "setting {'alpha': -1} on split 0" in caught.value.__notes__[0]
