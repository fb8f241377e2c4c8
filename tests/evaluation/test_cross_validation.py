"""`cross_validate`, `cross_val_score` and `cross_val_predict`: scikit-learn's results, with shared work done once."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import foldwise
from foldwise import CostMatrix, GridSearchCV, KNNClassifier, NaiveBayes, cross_predict, nested_cv
from tests.slow import slow

IRIS: Any = load_iris(return_X_y=True)
SHUFFLED = StratifiedKFold(4, shuffle=True, random_state=0)
MODELS = [
    GaussianNB(),
    NaiveBayes(),
    KNNClassifier(7),
    *slow(KNeighborsClassifier(7)),
    DecisionTreeClassifier(random_state=0),
    *slow(make_pipeline(StandardScaler(), GaussianNB())),
]


@pytest.mark.parametrize("name", ["cross_validate", "cross_val_score", "cross_val_predict"])
def test_signature_is_that_of_scikit_learn(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(place, name)).parameters for place in (foldwise, model_selection))
    assert list(ours) == list(theirs)
    assert [one.kind for one in ours.values()] == [one.kind for one in theirs.values()]
    np.testing.assert_equal([one.default for one in ours.values()], [one.default for one in theirs.values()])


@pytest.mark.parametrize("model", MODELS)
def test_results_are_those_of_scikit_learn(model: Any) -> None:
    options: Any = {"cv": SHUFFLED, "scoring": ["accuracy", "neg_log_loss"], "return_train_score": True}
    ours = foldwise.cross_validate(model, *IRIS, **options, return_estimator=True, return_indices=True)
    theirs = model_selection.cross_validate(model, *IRIS, **options, return_estimator=True, return_indices=True)
    assert list(ours) == list(theirs)
    for key in theirs:
        if key.startswith(("test_", "train_")):
            np.testing.assert_allclose(ours[key], theirs[key], rtol=1e-9)
    assert [type(one) for one in ours["estimator"]] == [type(model)] * 4
    for one, two in zip(ours["estimator"], theirs["estimator"], strict=True):
        np.testing.assert_array_equal(one.predict(IRIS[0]), two.predict(IRIS[0]))
    for part in ("train", "test"):
        for one, two in zip(ours["indices"][part], theirs["indices"][part], strict=True):
            np.testing.assert_array_equal(one, two)
    scores = foldwise.cross_val_score(model, *IRIS, cv=SHUFFLED)
    np.testing.assert_allclose(scores, model_selection.cross_val_score(model, *IRIS, cv=SHUFFLED))
    for method in ("predict", "predict_proba"):
        found = foldwise.cross_val_predict(model, *IRIS, cv=SHUFFLED, method=method)
        expected = model_selection.cross_val_predict(model, *IRIS, cv=SHUFFLED, method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_leave_one_out_of_ridge_is_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_diabetes(return_X_y=True)
    expected = model_selection.cross_val_predict(Ridge(), X, y, cv=LeaveOneOut())
    squared = model_selection.cross_val_score(Ridge(), X, y, cv=LeaveOneOut(), scoring="neg_mean_squared_error")
    monkeypatch.setattr(Ridge, "fit", lambda *_, **__: pytest.fail("a model was fitted again"))
    np.testing.assert_allclose(foldwise.cross_val_predict(Ridge(), X, y, cv=LeaveOneOut()), expected, rtol=1e-9)
    np.testing.assert_allclose(cross_predict(Ridge(), X, y, cv=LeaveOneOut()), expected, rtol=1e-9)
    found = foldwise.cross_val_score(Ridge(), X, y, cv=LeaveOneOut(), scoring="neg_mean_squared_error")
    np.testing.assert_allclose(found, squared, rtol=1e-6)


def test_a_search_is_nested_on_one_session() -> None:
    search = GridSearchCV(KNNClassifier(), {"n_neighbors": [1, 5, 15]}, cv=3)
    found = foldwise.cross_val_score(search, *IRIS, cv=KFold(4, shuffle=True, random_state=0), scoring="neg_log_loss")
    theirs = model_selection.cross_val_score(
        search, *IRIS, cv=KFold(4, shuffle=True, random_state=0), scoring="neg_log_loss"
    )
    np.testing.assert_allclose(found, theirs, rtol=1e-9)
    ours = nested_cv(search, *IRIS, cv=KFold(4, shuffle=True, random_state=0), scoring="neg_log_loss")
    np.testing.assert_allclose(ours.scores, theirs, rtol=1e-9)
    assert ours.metric == "neg_log_loss"


def test_weights_reach_the_fit_but_not_the_score() -> None:
    weights = np.random.default_rng(0).random(150)
    options: Any = {"params": {"sample_weight": weights}, "cv": SHUFFLED, "scoring": "neg_log_loss"}
    found = foldwise.cross_validate(GaussianNB(), *IRIS, **options)["test_score"]
    np.testing.assert_allclose(found, model_selection.cross_validate(GaussianNB(), *IRIS, **options)["test_score"])


def test_costs_and_metrics_of_this_package_are_accepted() -> None:
    costs = CostMatrix.zero_one([0, 1, 2])
    found = foldwise.cross_validate(NaiveBayes(), *IRIS, cv=SHUFFLED, scoring={"costs": costs, "accuracy": "accuracy"})
    np.testing.assert_allclose(found["test_costs"], found["test_accuracy"] - 1.0)


def test_lines_about_fits_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    foldwise.cross_validate(GaussianNB(), *IRIS, cv=2, verbose=3)
    assert capsys.readouterr().out.count("[CV 1/2] END ") == 1


@pytest.mark.parametrize(("wrong", "message"), [({"n_jobs": 0}, "n_jobs"), ({"error_score": "no"}, "error_score")])
def test_invalid_options_are_refused_before_any_fit(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        foldwise.cross_validate(GaussianNB(), *IRIS, **wrong)


def test_a_method_that_the_model_lacks_is_an_attribute_error_as_in_scikit_learn() -> None:
    for place in (foldwise, model_selection):
        with pytest.raises(AttributeError, match="decision_function"):
            place.cross_val_predict(GaussianNB(), *IRIS, method="decision_function")
