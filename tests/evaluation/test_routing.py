"""Scikit-learn's metadata routing in estimates and curves: the scores are those of its own functions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context, model_selection
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV as PeerGrid
from sklearn.model_selection import KFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldwise import GridSearchCV, estimate, learning_curve, nested_cv, validation_curve

X, Y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(0, 1, X.shape)
WEIGHT = np.random.default_rng(1).integers(1, 6, len(Y)).astype(float)
OUTER = KFold(4, shuffle=True, random_state=0)
INNER = KFold(3, shuffle=True, random_state=1)
GRID = {"var_smoothing": [1e-9, 0.5]}


@pytest.fixture(autouse=True)
def _routing():
    with config_context(enable_metadata_routing=True):
        yield


def scorer(weighted):
    return make_scorer(accuracy_score).set_score_request(sample_weight=weighted)


def bayes(weighted):
    model = GaussianNB().set_fit_request(sample_weight=weighted)
    return model.set_partial_fit_request(sample_weight=weighted)  # which scikit-learn's learning_curve asks for


def scaled_bayes(weighted):
    return make_pipeline(StandardScaler().set_fit_request(sample_weight=weighted), bayes(weighted))


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("scored", [True, False])
def test_estimate(fitted, scored):
    model, scoring, params = bayes(fitted), scorer(scored), {"sample_weight": WEIGHT}
    if not (fitted or scored):
        with pytest.raises(TypeError):
            estimate(model, X, Y, cv=OUTER, scoring=scoring, **params)
        return
    expected = cross_validate(model, X, Y, cv=OUTER, scoring=scoring, params=params)["test_score"].mean()
    assert estimate(model, X, Y, cv=OUTER, scoring=scoring, **params).value == pytest.approx(expected, abs=1e-12)


def test_a_pipeline_routes_on():
    model = scaled_bayes(True)
    params = {"sample_weight": WEIGHT}
    expected = cross_validate(model, X, Y, cv=OUTER, scoring=scorer(True), params=params)["test_score"].mean()
    assert estimate(model, X, Y, cv=OUTER, scoring=scorer(True), **params).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("model", [bayes, scaled_bayes])
@pytest.mark.parametrize(("fitted", "scored"), [(True, True), (True, False), (False, True)])
def test_curves(model, fitted, scored):
    options = {"cv": OUTER, "scoring": scorer(scored)}
    sizes, params = [0.3, 1.0], {"sample_weight": WEIGHT}
    curve = learning_curve(model(fitted), X, Y, train_sizes=sizes, **options, **params)
    peer = model_selection.learning_curve(model(fitted), X, Y, train_sizes=sizes, params=params, **options)
    np.testing.assert_allclose(curve.train_scores, peer[1], atol=1e-12)
    np.testing.assert_allclose(curve.test_scores, peer[2], atol=1e-12)
    name = next(one for one in model(fitted).get_params() if one.endswith("var_smoothing"))
    ranged = (name, [1e-9, 0.1, 0.5])
    found = validation_curve(model(fitted), X, Y, *ranged, **options, **params)
    expected = model_selection.validation_curve(
        model(fitted), X, Y, param_name=name, param_range=ranged[1], params=params, **options
    )
    np.testing.assert_allclose(found.train_scores, expected[0], atol=1e-12)
    np.testing.assert_allclose(found.test_scores, expected[1], atol=1e-12)


def test_what_nobody_requests_is_an_error_in_curves():
    for weighted in (False, None):  # refused, and not decided
        with pytest.raises(TypeError if weighted is False else UnsetMetadataPassedError):
            learning_curve(bayes(weighted), X, Y, cv=OUTER, scoring=scorer(weighted), sample_weight=WEIGHT)


@pytest.mark.parametrize("kind", [GridSearchCV, PeerGrid])
@pytest.mark.parametrize(("fitted", "scored"), [(True, True), (True, False), (False, True)])
def test_nested_cross_validation(kind, fitted, scored):
    params = {"sample_weight": WEIGHT}
    search, peer = (one(bayes(fitted), GRID, cv=INNER, scoring=scorer(scored)) for one in (kind, PeerGrid))
    expected = cross_validate(peer, X, Y, cv=OUTER, params=params, return_estimator=True)
    found = nested_cv(search, X, Y, cv=OUTER, **params)
    np.testing.assert_allclose(found.scores, expected["test_score"], atol=1e-12)
    assert list(found.best_params) == [one.best_params_ for one in expected["estimator"]]


def test_a_search_in_estimate_is_scored_by_another_metric():
    params = {"sample_weight": WEIGHT}
    search, peer = (one(bayes(True), GRID, cv=INNER, scoring=scorer(False)) for one in (GridSearchCV, PeerGrid))
    expected = cross_validate(peer, X, Y, cv=OUTER, scoring=scorer(True), params=params)["test_score"].mean()
    assert estimate(search, X, Y, cv=OUTER, scoring=scorer(True), **params).value == pytest.approx(expected, abs=1e-12)


def test_what_nobody_has_decided_is_an_error():
    with pytest.raises(UnsetMetadataPassedError):
        estimate(LogisticRegression(), X, Y, sample_weight=WEIGHT)
