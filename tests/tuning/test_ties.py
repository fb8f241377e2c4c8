"""Where mean scores of settings agree within the tolerance, the first setting is chosen, by every search."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge

from foldwise import GridSearchCV, RandomizedSearchCV, SearchCV, nested_cv
from foldwise.evaluation.bias_corrected import chosen

SCORES = {"a": 0.7, "b": 0.9 - 2e-12, "c": 0.9, "d": 0.9 + 2e-12, "e": 0.8}
X, Y = np.zeros((12, 1)), np.arange(12) % 2


class Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose score is known."""

    def __init__(self, setting="a"):
        self.setting = setting

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def score(self, X, y):
        return SCORES[self.setting]


def searches(order):
    grid = {"setting": list(order)}
    yield GridSearchCV(Scored(), grid, cv=3)
    yield SearchCV(Scored(), grid, strategy="grid", cv=3)
    yield RandomizedSearchCV(Scored(), grid, n_iter=5, cv=3, random_state=0)


@pytest.mark.parametrize("order", ["abcde", "edcba", "acdbe"])
def test_the_first_tied_setting_is_chosen(order):
    for search in searches(order):
        search.fit(X, Y)
        tried = [setting["setting"] for setting in search.cv_results_["params"]]
        first = next(one for one in tried if one in "bcd")
        assert search.best_params_ == {"setting": first}, type(search).__name__
        assert [search.cv_results_["rank_test_score"][tried.index(one)] for one in "bcdea"] == [1, 1, 1, 4, 5]


def test_it_is_also_chosen_in_nested_cross_validation():
    found = nested_cv(GridSearchCV(Scored(), {"setting": list("adcb")}, cv=2), X, Y, cv=3)
    assert [one["setting"] for one in found.best_params] == ["d"] * 3


def test_and_on_bootstrap_samples():
    search = GridSearchCV(Scored(), {"setting": ["a"]})
    usable = np.array([0, 1, 2])
    scores = np.array([[0.5, 0.5 + 1e-13, 0.4], [0.5 + 1e-13, 0.5, 0.4], [0.5, 0.6, 0.6 + 1e-13], [np.nan, 0.1, 0.1]])
    assert chosen(scores, search, None, usable, 1.0).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("scale", [1.0, 1e-7])
def test_a_small_unit_of_the_target_does_not_tie_its_errors(scale, rng):
    """With squared errors of 1e-14, an absolute tolerance would choose the first setting whatever it predicts."""
    table = rng.normal(size=(60, 3))
    y = (table @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=60)) * scale
    grid = {"alpha": [1e4, 1e2, 1e-2, 1.0]}
    search = GridSearchCV(Ridge(), grid, scoring="neg_mean_squared_error", cv=4).fit(table, y)
    assert search.best_params_ == {"alpha": 1e-2}
