"""Keywords that neither a function nor `fit` of the model accepts are refused before anything is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from foldwise import (
    GridSearchCV,
    NaiveBayes,
    compare,
    cross_predict,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    estimate,
    learning_curve,
    nested_cv,
    validation_curve,
)
from foldwise.evaluation.routing import check_fit_params, fit_arguments

X, y = load_iris(return_X_y=True)
SEARCH = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=2)
CALLS: dict[str, Any] = {
    "estimate": lambda **given: estimate(NaiveBayes(), X, y, cv=2, **given),
    "nested_cv": lambda **given: nested_cv(SEARCH, X, y, 2, **given),
    "compare": lambda **given: compare({"a": NaiveBayes(), "b": GaussianNB()}, X, y, cv=2, **given),
    "cross_predict": lambda **given: cross_predict(NaiveBayes(), X, y, cv=2, **given),
    "learning_curve": lambda **given: learning_curve(NaiveBayes(), X, y, cv=2, shuffle=True, random_state=0, **given),
    "validation_curve": lambda **given: validation_curve(NaiveBayes(), X, y, "var_floor", [0.1], cv=2, **given),
    "cross_validate": lambda **given: cross_validate(NaiveBayes(), X, y, cv=2, params=given),
    "cross_val_predict": lambda **given: cross_val_predict(NaiveBayes(), X, y, cv=2, params=given),
    "GridSearchCV.fit": lambda **given: SEARCH.fit(X, y, **given),
}


@pytest.mark.parametrize("function", CALLS)
def test_unknown_keywords_are_refused(function: str) -> None:
    with pytest.raises(
        TypeError, match=f"{function} got an unexpected keyword argument 'sampel_weight'.*sample_weight"
    ):
        CALLS[function](sampel_weight=np.ones(150))
    CALLS[function](sample_weight=np.ones(150))


def test_an_unknown_metric_is_refused_with_the_nearest_names() -> None:
    for call in (cross_val_score, estimate):
        with pytest.raises(ValueError, match=r"scoring must name a metric of scikit-learn, got 'acuracy'.*'accuracy'"):
            call(NaiveBayes(), X, y, scoring="acuracy")


def test_arguments_of_the_steps_of_a_pipeline_are_known() -> None:
    model = make_pipeline(GaussianNB())
    assert estimate(model, X, y, cv=2, gaussiannb__sample_weight=np.ones(150)).value > 0.9
    with pytest.raises(TypeError, match="fit accepts 'gaussiannb__sample_weight'"):
        estimate(model, X, y, cv=2, sample_weight=np.ones(150))


def test_arguments_of_a_wrapper_itself_are_known() -> None:
    class Wrapper(NaiveBayes):
        """A model whose `fit` has an argument of its own, and passes the others on."""

        estimator = GaussianNB()

        def fit(self, X: Any, y: Any, own: Any = None, **others: Any) -> Any:
            return super().fit(X, y)

    assert fit_arguments(Wrapper()) == {"own", "sample_weight"}
    check_fit_params("estimate", Wrapper(), {"own": 1, "sample_weight": np.ones(150)})


@pytest.mark.parametrize("search", [SEARCH, "scikit-learn's"])
def test_nested_cv_scores_by_another_metric_than_the_search(search: Any) -> None:
    from sklearn import model_selection

    theirs = model_selection.GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, cv=2)
    search = theirs if isinstance(search, str) else search
    found = nested_cv(search, X, y, 3, scoring="roc_auc_ovr")
    expected = model_selection.cross_val_score(search, X, y, cv=3, scoring="roc_auc_ovr")
    np.testing.assert_allclose(found.scores, expected)
    assert found.metric == "roc_auc_ovr"
    assert found.estimate.search_score is None


def test_a_parameter_of_the_search_is_pointed_out() -> None:
    with pytest.raises(TypeError, match=r"'n_jobs'.*Hint: pass it to GridSearchCV. fit accepts 'sample_weight'"):
        nested_cv(SEARCH, X, y, 2, n_jobs=2)
