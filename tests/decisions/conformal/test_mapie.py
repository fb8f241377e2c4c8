"""`Conformal` against MAPIE: the same model, folds and seed give the same intervals and sets to 1e-8."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import AbsoluteQuantileRegressionScore, ResidualNormalisedScore
from mapie.regression import (
    ConformalizedQuantileRegressor,
    CrossConformalizedQuantileRegressor,
    CrossConformalRegressor,
    SplitConformalRegressor,
)
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor, Ridge
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from foldwise import Conformal, KNNRegressor, NaiveBayes
from tests.slow import slow

FOLDS = KFold(5, shuffle=True, random_state=1)
COVERAGES = (0.8, 0.9, 0.95)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:300], y[:300], X[300:]


def halves(n_rows):
    order = np.random.default_rng(0).permutation(n_rows)
    return order[: n_rows // 2], order[n_rows // 2 :]


@pytest.mark.parametrize(
    "inner",
    [Ridge(alpha=0.1), KNNRegressor(7), *slow(make_pipeline(StandardScaler(), LinearRegression()))],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("method", ["cross", "cv+", "jackknife+"])
def test_cross_conformal_intervals(method, inner):
    X, y, new = diabetes()
    cv = LeaveOneOut() if method == "jackknife+" else FOLDS
    ours = Conformal(inner, method, cv=cv).fit(X, y)
    peer = CrossConformalRegressor(inner, COVERAGES, method="base" if method == "cross" else "plus", cv=cv)
    expected = peer.fit_conformalize(X, y).predict_interval(new)[1]
    for i, coverage in enumerate(COVERAGES):
        np.testing.assert_allclose(ours.predict_interval(new, coverage), expected[:, :, i], rtol=0, atol=1e-8)


def test_split_conformal_intervals():
    X, y, new = diabetes()
    train, test = halves(len(X))
    ours = Conformal(DecisionTreeRegressor(max_depth=3), "split", cv=[(train, test)]).fit(X, y)
    peer = SplitConformalRegressor(DecisionTreeRegressor(max_depth=3), COVERAGES, prefit=False)
    expected = peer.fit(X[train], y[train]).conformalize(X[test], y[test]).predict_interval(new)[1]
    for i, coverage in enumerate(COVERAGES):
        np.testing.assert_allclose(ours.predict_interval(new, coverage), expected[:, :, i], rtol=0, atol=1e-8)


class Spread(RegressorMixin, BaseEstimator):
    """The second model of `Conformal`, as MAPIE wants it: it predicts residuals, not their logarithms."""

    def __init__(self, model, limits):
        self.model = model
        self.limits = limits
        self.fitted_ = True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.exp(np.clip(self.model.predict(X), *self.limits))


def test_normalized_intervals():
    X, y, new = diabetes()
    train, test = halves(len(X))
    ours = Conformal(Ridge(alpha=0.1), "split", conformity="normalized", cv=[(train, test)]).fit(X, y)
    spread = Spread(ours.interval_estimators_[0], (ours.conformity_.lowest, ours.conformity_.highest))
    score = ResidualNormalisedScore(residual_estimator=spread, prefit=True)
    peer = SplitConformalRegressor(Ridge(alpha=0.1), COVERAGES, conformity_score=score, prefit=False)
    expected = peer.fit(X[train], y[train]).conformalize(X[test], y[test]).predict_interval(new)[1]
    for i, coverage in enumerate(COVERAGES):
        np.testing.assert_allclose(ours.predict_interval(new, coverage), expected[:, :, i], rtol=0, atol=1e-8)
    assert np.ptp(np.diff(ours.predict_interval(new))) > 1  # widths differ


@pytest.mark.parametrize(
    "inner",
    [
        QuantileRegressor(alpha=0, solver="highs"),
        *slow(GradientBoostingRegressor(loss="quantile", n_estimators=20, random_state=0)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_conformalized_quantile_regression(inner):
    X, y, new = diabetes()
    train, test = halves(len(X))
    ours = Conformal(inner, "split", conformity="quantile", cv=[(train, test)]).fit(X, y)
    peer = ConformalizedQuantileRegressor(inner, 0.9).fit(X[train], y[train]).conformalize(X[test], y[test])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of crossed quantiles
        expected = peer.predict_interval(new, symmetric_correction=True)[1][:, :, 0]
    np.testing.assert_allclose(ours.predict_interval(new), expected, rtol=0, atol=1e-8)


def test_conformalized_quantile_regression_out_of_fold():
    X, y, new = diabetes()
    inner = QuantileRegressor(alpha=0, solver="highs")
    ours = Conformal(inner, conformity="quantile", cv=FOLDS).fit(X, y)
    peer = CrossConformalizedQuantileRegressor(
        inner, 0.9, conformity_score=AbsoluteQuantileRegressionScore(), method="base", cv=FOLDS
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = peer.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]
    np.testing.assert_allclose(ours.predict_interval(new), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("conformity", ["lac", "aps"])
@pytest.mark.parametrize("inner", [NaiveBayes(), *slow(LogisticRegression(C=0.01, max_iter=5000))], ids=str)
def test_sets(inner, conformity):
    X, y = load_wine(return_X_y=True)
    X, y, new = X[::2, :4], y[::2], X[1::2, :4]
    train, test = halves(len(X))
    ours = Conformal(inner, "split", conformity=conformity, cv=[(train, test)], random_state=3).fit(X, y)
    model = inner.fit(X[train], y[train])
    peer = SplitConformalClassifier(model, COVERAGES, conformity_score=conformity, random_state=3)
    how = {"include_last_label": "randomized"} if conformity == "aps" else None
    expected = peer.conformalize(X[test], y[test]).predict_set(new, conformity_score_params=how)[1]
    for i, coverage in enumerate(COVERAGES):
        np.testing.assert_array_equal(ours.predict_set(new, coverage), expected[:, :, i])


def test_sets_by_class():
    X, y = load_wine(return_X_y=True)
    X, y, new = X[::2, :4], y[::2], X[1::2, :4]
    train, test = halves(len(X))
    ours = Conformal(NaiveBayes(), "split", 0.8, by_class=True, cv=[(train, test)]).fit(X, y).predict_set(new)
    model = NaiveBayes().fit(X[train], y[train])
    for k in range(3):  # MAPIE calibrated on the rows of one class alone gives the threshold of this class
        rows = test[y[test] == k]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the classes that are left out
            peer = SplitConformalClassifier(model, 0.8).conformalize(X[rows], y[rows])
        np.testing.assert_array_equal(ours[:, k], peer.predict_set(new)[1][:, k, 0])
