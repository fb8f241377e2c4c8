"""The curve over k: the numbers of scikit-learn's search, its interval, and a picture."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn import model_selection as peer
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldwise import KNNRegressor, choose_k
from foldwise.errors import InputError
from tests.searches import first_best

mpl.use("Agg")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def curve(iris):
    return choose_k(*iris, ks=range(1, 11), cv=peer.StratifiedShuffleSplit(12, test_size=0.2, random_state=1))


def test_the_curve_is_that_of_a_search(iris, curve):
    pipe = make_pipeline(StandardScaler(), KNeighborsClassifier())
    cv = peer.StratifiedShuffleSplit(6, test_size=0.2, random_state=1)
    found = choose_k(*iris, ks=[3, 9], estimator=pipe, cv=cv, scoring="balanced_accuracy", nested=False)
    search = peer.GridSearchCV(pipe, {"kneighborsclassifier__n_neighbors": [3, 9]}, cv=cv, scoring="balanced_accuracy")
    np.testing.assert_allclose(found.means, search.fit(*iris).cv_results_["mean_test_score"], rtol=1e-10)
    assert found.metric == "balanced_accuracy"
    assert found.nested is None


def test_interval_and_frame(curve):
    assert curve.scores.shape == (10, 12)
    assert curve.best_k == int(np.argmax(curve.means)) + 1
    half = 2.200985 * np.sqrt(curve.scores.var(axis=1, ddof=1) * (1 / 12 + 30 / 120))
    np.testing.assert_allclose(curve.high - curve.means, half, rtol=1e-5)
    frame = curve.to_frame()
    assert frame.columns == ["n_neighbors", "accuracy", "low", "high"]
    assert frame.shape == (10, 4)


@pytest.mark.slow
def test_choosing_is_estimated_without_bias(iris, curve):
    cv = peer.StratifiedShuffleSplit(12, test_size=0.2, random_state=1)
    from foldwise import KNNClassifier

    search = peer.GridSearchCV(KNNClassifier(), {"n_neighbors": list(range(1, 11))}, cv=5, refit=first_best)
    np.testing.assert_allclose(curve.nested.scores, peer.cross_val_score(search, *iris, cv=cv), rtol=1e-10)


def test_it_prints_within_80_columns(curve):
    text = str(curve)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("Honest estimate (nested): accuracy 0.9")  # the unbiased figure first
    assert f"Best k: {curve.best_k}" in text
    assert curve._repr_html_().startswith("<p>Honest estimate (nested): accuracy 0.9")


def test_the_picture(curve):
    ax = curve.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Number of neighbors k", "Accuracy")
    line = ax.get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata(), curve.means)
    assert curve.plot(ax) is ax
    mpl.pyplot.close("all")


def test_a_missing_library_says_how_to_get_it(curve, no_matplotlib):
    no_matplotlib()
    with pytest.raises(ImportError, match=r"foldwise\[plots\]"):
        curve.plot()


def test_regression(rng):
    X = rng.normal(size=(80, 2))
    found = choose_k(X, X[:, 0], ks=[1, 5], estimator=KNNRegressor(), nested=False)
    assert found.metric == "r2"
    assert found.scores.shape == (2, 50)
    usual = choose_k(X, X[:, 0], ks=[1, 5], nested=False)  # the target decides
    assert usual.metric == "r2"
    np.testing.assert_array_equal(usual.scores, found.scores)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ks": []}, "at least one number of neighbors"),
        ({"ks": [0]}, "at least 1"),
        ({"ks": [500]}, "smallest training set"),
        ({"ks": [110]}, "nested=False"),
        ({"ks": 5}, "iterable"),
        ({"estimator": GaussianNB()}, "must have a parameter n_neighbors"),
        ({"scoring": ["accuracy", "f1_macro"]}, "a single metric"),
        ({"level": 2.0}, "level"),
    ],
)
def test_bad_input(iris, options, words):
    with pytest.raises((InputError, TypeError), match=words):
        choose_k(*iris, **{"ks": [1, 2], **options})


def test_the_smallest_of_the_best_and_groups(iris, rng):
    y = np.r_[np.zeros(40, int), np.ones(20, int)]
    X = y[:, None] + rng.normal(scale=0.01, size=(60, 1))
    found = choose_k(X, y, ks=[7, 5, 3, 5], nested=False, random_state=np.random.default_rng(1))
    assert found.ks == (3, 5, 7)
    assert found.best_k == 3
    groups = np.repeat(np.arange(15), 10)
    grouped = choose_k(*iris, ks=[1, 5], cv=peer.GroupKFold(3), groups=groups)
    assert grouped.nested.scores.shape == (3,)
