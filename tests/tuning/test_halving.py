"""Successive halving: the same rounds, scores and choices as scikit-learn's classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn import model_selection as peer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldwise
from foldwise import bias_corrected, nested_cv
from foldwise.errors import FoldwiseError, InputError

CANCER, DIABETES = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)
SCALED = make_pipeline(StandardScaler(), KNeighborsClassifier())
LOSS = {"scoring": "neg_log_loss"}

# scores that are equal but for rounding may be ordered in another way, so none of these metrics has such ties
CASES = {
    "rows": ("HalvingGridSearchCV", GaussianNB(), {"var_smoothing": np.logspace(-12, 0, 30)}, CANCER, LOSS),
    "pipeline": (
        "HalvingGridSearchCV",
        SCALED,
        {"kneighborsclassifier__n_neighbors": [*range(1, 15)]},
        CANCER,
        {"factor": 2, "min_resources": "smallest"},
    ),
    "aggressive": (
        "HalvingGridSearchCV",
        Ridge(),
        {"alpha": np.logspace(-4, 3, 40)},
        DIABETES,
        {
            "aggressive_elimination": True,
            "max_resources": 100,
            "min_resources": 20,
            "cv": KFold(3, shuffle=True, random_state=1),
        },
    ),
    "parameter": (
        "HalvingGridSearchCV",
        GradientBoostingRegressor(random_state=0),
        {"learning_rate": [0.02, 0.1, 0.5], "max_depth": [1, 2]},
        DIABETES,
        {"resource": "n_estimators", "max_resources": 18, "min_resources": 2, "cv": 3},
    ),
    "random": ("HalvingRandomSearchCV", GaussianNB(), {"var_smoothing": loguniform(1e-12, 1)}, CANCER, {"factor": 2}),
    "random, few": (
        "HalvingRandomSearchCV",
        SCALED,
        {"kneighborsclassifier__n_neighbors": randint(1, 40)},
        CANCER,
        {"n_candidates": 12, "min_resources": "exhaust", "cv": StratifiedKFold(4)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_equal_to_scikit_learn(case):
    name, estimator, space, (X, y), options = CASES[case]
    ours, theirs = (
        getattr(module, name)(estimator, space, random_state=3, **options).fit(X, y) for module in (foldwise, peer)
    )
    for attribute in ("n_resources_", "n_candidates_", "n_iterations_", "n_required_iterations_", "n_splits_"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    for attribute in ("n_possible_iterations_", "n_remaining_candidates_", "min_resources_", "max_resources_"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for key, expected in theirs.cv_results_.items():
        if key in ("iter", "n_resources"):
            assert ours.cv_results_[key].tolist() == expected.tolist()
        elif key.startswith("split"):
            np.testing.assert_allclose(ours.cv_results_[key], expected, rtol=1e-9, atol=1e-9, err_msg=key)
    assert (ours.best_index_, ours.best_params_) == (theirs.best_index_, theirs.best_params_)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_work_is_shared_between_settings():
    X, y = CANCER
    search = foldwise.HalvingGridSearchCV(GaussianNB(), {"var_smoothing": np.logspace(-12, 0, 30)}, random_state=0)
    search.fit(X, y)
    assert search.session_ == "summaries"
    assert search.models_scored_ == 5 * sum(search.n_candidates_) == 5 * (30 + 10 + 4 + 2)
    assert search.fits_done_ == 5 * search.n_iterations_


def test_nested_estimate_is_that_of_scikit_learn():
    X, y = CANCER
    grid = {"var_smoothing": np.logspace(-12, 0, 9)}
    ours = nested_cv(foldwise.HalvingGridSearchCV(GaussianNB(), grid, random_state=0), X, y, cv=3)
    theirs = cross_validate(peer.HalvingGridSearchCV(GaussianNB(), grid, random_state=0), X, y, cv=3)
    np.testing.assert_allclose(ours.scores, theirs["test_score"], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factor": 1}, "factor must be above 1"),
        ({"min_resources": "much"}, "min_resources must be 'exhaust' or 'smallest'"),
        ({"max_resources": 0}, "max_resources must be a positive integer"),
        ({"scoring": ["accuracy", "roc_auc"]}, "scoring must be a single metric"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        foldwise.HalvingGridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, **options).fit(*CANCER)


def test_rounds_on_different_rows_have_no_corrected_estimate():
    search = foldwise.HalvingGridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3, 0.1]}, random_state=0)
    search.fit(*CANCER)
    assert "different rows" in repr(search.kept_)
    with pytest.raises(FoldwiseError):
        bias_corrected(search)
