"""The searches against scikit-learn's own, key for key; and what they say when something is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import loguniform
from sklearn import model_selection as peer
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, StratifiedGroupKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from foldwise import GridSearchCV, NaiveBayes, RandomizedSearchCV, nested_cv
from foldwise.errors import InputError
from tests.conftest import mixed_columns
from tests.searches import assert_same_choice, assert_same_ranks, first_best
from tests.slow import slow

GRID = {"alpha": [0.1, 1, 10], "var_floor": [1e-9, 0.5], "priors": ["empirical", "uniform"]}


@pytest.fixture
def table(rng):
    return pl.DataFrame(mixed_columns(rng, 240)), rng.integers(0, 3, 240)


def assert_same_results(ours, theirs):
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        found = ours.cv_results_[key]
        if key == "params":
            assert found == expected
        elif key.startswith("param_"):
            assert found.tolist() == expected.tolist()
            assert found.dtype == expected.dtype
        elif key.startswith("rank"):
            assert_same_ranks(ours.cv_results_, theirs.cv_results_, key.removeprefix("rank_test_"))
        elif "time" not in key:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=key)


@pytest.mark.parametrize(
    "scoring",
    [None, ["accuracy", "neg_log_loss", "f1_macro", "roc_auc_ovr"], *slow("accuracy", "balanced_accuracy")],
)
def test_equal_to_scikit_learn(table, scoring):
    X, y = table
    several = isinstance(scoring, list)
    options = {"scoring": scoring, "cv": 4, "refit": "accuracy" if several else True, "return_train_score": True}
    ours = GridSearchCV(NaiveBayes(), GRID, **options).fit(X, y)
    theirs = peer.GridSearchCV(NaiveBayes(), GRID, **options).fit(X, y)
    assert_same_results(ours, theirs)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-10)
    if assert_same_choice(ours, theirs, "accuracy" if several else "score"):
        assert ours.best_params_ == theirs.best_params_
        assert (ours.predict(X) == theirs.predict(X)).all()
        assert ours.score(X, y) == theirs.score(X, y)
    assert (ours.session_, ours.models_scored_, ours.fits_done_) == ("summaries", 48, 4)
    assert ours.classes_.tolist() == [0, 1, 2]
    assert isinstance(ours, peer.GridSearchCV)


@pytest.mark.parametrize(
    ("estimator", "grid", "shares", "fits"),
    [
        (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, "pruning", 6),
        (DecisionTreeClassifier(splitter="best"), {"max_depth": [1, 2], "random_state": [0]}, "pruning", 6),
        (LogisticRegression(), {"C": [0.1, 1.0]}, "refit", 6),
        (GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, "summaries", 3),
    ],
)
def test_any_estimator(rng, estimator, grid, shares, fits):
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 2, 90)
    for n_jobs in (1, 2):
        ours = GridSearchCV(estimator, grid, cv=3, n_jobs=n_jobs, scoring=["accuracy", "roc_auc"], refit="roc_auc").fit(
            X, y
        )
        theirs = peer.GridSearchCV(estimator, grid, cv=3, scoring=["accuracy", "roc_auc"], refit="roc_auc").fit(X, y)
        assert_same_results(ours, theirs)
        assert (ours.session_, ours.fits_done_) == (shares, fits)


def test_regressors_and_pipelines(rng):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    ours = GridSearchCV(Ridge(), {"alpha": [0.1, 10]}, cv=3).fit(X, y)
    theirs = peer.GridSearchCV(Ridge(), {"alpha": [0.1, 10]}, cv=3).fit(X, y)
    assert_same_results(ours, theirs)
    pipeline = make_pipeline(StandardScaler(), NaiveBayes())
    grid = {"naivebayes__var_floor": [1e-9, 0.2]}
    ours = GridSearchCV(pipeline, grid, cv=3).fit(X, y > 0)
    assert_same_results(ours, peer.GridSearchCV(pipeline, grid, cv=3).fit(X, y > 0))


def test_random_search_draws_what_scikit_learn_draws(table):
    X, y = table
    space = {"alpha": loguniform(1e-3, 10), "ddof": [0, 1]}
    options = {"n_iter": 6, "random_state": 3, "cv": 3}
    ours = RandomizedSearchCV(NaiveBayes(), space, **options).fit(X, y)
    theirs = peer.RandomizedSearchCV(NaiveBayes(), space, **options).fit(X, y)
    assert_same_results(ours, theirs)


def test_splitters_groups_and_weights(table, rng):
    X, y = table
    groups = rng.integers(0, 12, len(y))
    weights = rng.exponential(size=len(y))
    for cv, params in (
        (RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), {}),
        (StratifiedGroupKFold(3), {"groups": groups}),
        (KFold(3), {"sample_weight": weights}),
        ([(np.arange(160), np.arange(160, 240))], {}),
    ):
        ours = GridSearchCV(NaiveBayes(), {"alpha": [0.1, 1]}, cv=cv).fit(X, y, **params)
        theirs = peer.GridSearchCV(NaiveBayes(), {"alpha": [0.1, 1]}, cv=cv).fit(X, y, **params)
        assert_same_results(ours, theirs)


def test_refit_choices(table):
    X, y = table
    search = GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}, refit=False).fit(X, y)
    assert not hasattr(search, "best_estimator_")
    search = GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}, refit=lambda results: 1).fit(X, y)
    assert search.best_params_ == {"alpha": 2}
    with pytest.raises(TypeError):
        GridSearchCV(NaiveBayes(), {"alpha": [1]}, refit=lambda results: "a").fit(X, y)
    with pytest.raises(IndexError):
        GridSearchCV(NaiveBayes(), {"alpha": [1]}, refit=lambda results: 7).fit(X, y)
    with pytest.raises(InputError, match="must name the metric to select by"):
        GridSearchCV(NaiveBayes(), {"alpha": [1]}, scoring=["accuracy", "f1_macro"]).fit(X, y)


def test_settings_that_fail_leave_the_others_alone(table):
    X, y = table
    grid = {"alpha": [1.0, -1.0, 2.0]}
    with (
        pytest.warns(FitFailedWarning, match=r"5 fits failed out of a total of 15.*'alpha': -1.0.*split 0"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search = GridSearchCV(NaiveBayes(), grid).fit(X, y)
    fine = GridSearchCV(NaiveBayes(), {"alpha": [1.0, 2.0]}).fit(X, y)
    assert search.cv_results_["mean_test_score"][[0, 2]].tolist() == fine.cv_results_["mean_test_score"].tolist()
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert search.cv_results_["rank_test_score"][1] == 3
    with pytest.warns(FitFailedWarning):
        assert GridSearchCV(NaiveBayes(), grid, error_score=0.0).fit(X, y).cv_results_["mean_test_score"][1] == 0
    with pytest.raises(InputError, match="alpha must be"):
        GridSearchCV(NaiveBayes(), grid, error_score="raise").fit(X, y)
    with pytest.raises(InputError, match=r"All the 5 fits failed.*'alpha': -1.0") as failed:
        GridSearchCV(NaiveBayes(), {"alpha": [-1.0]}).fit(X, y)
    assert str(failed.value).count("Hint:") == 1


def test_bad_searches(table):
    X, y = table
    with pytest.raises(InputError, match=r"'alhpa'.*NaiveBayes.*alpha"):
        GridSearchCV(NaiveBayes(), {"alhpa": [1]}).fit(X, y)
    with pytest.raises(InputError, match="no setting"):
        GridSearchCV(NaiveBayes(), []).fit(X, y)
    with pytest.raises(InputError, match="in both train and test"):
        GridSearchCV(NaiveBayes(), {"alpha": [1]}, cv=[([0, 1], [1, 2])]).fit(X, y)


def test_nested_scores_are_those_of_scikit_learn(table):
    X, y = table
    inner, outer = KFold(4, shuffle=True, random_state=1), KFold(5, shuffle=True, random_state=0)
    result = nested_cv(GridSearchCV(NaiveBayes(), GRID, cv=inner), X, y, cv=outer)
    search = peer.GridSearchCV(NaiveBayes(), GRID, cv=inner, refit=first_best)
    theirs = cross_validate(search, X, y, cv=outer, return_estimator=True)
    np.testing.assert_allclose(result.scores, theirs["test_score"], rtol=1e-10)
    assert list(result.best_params) == [search.best_params_ for search in theirs["estimator"]]
    for ours, search in zip(result.inner, theirs["estimator"], strict=True):
        np.testing.assert_allclose(ours["mean_test_score"], search.cv_results_["mean_test_score"], rtol=1e-10)
    assert result.models_scored == 5 * (4 * 12 + 1)
    low, high = result.interval()
    assert low < result.estimate.value < high
    assert result.interval(0.5)[1] < high
    assert "245 models" in str(result)


@pytest.mark.parametrize("seed", [*range(3), *slow(*range(3, 20))])
def test_the_same_choice_on_random_problems(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(mixed_columns(rng, 80))
    y = rng.integers(0, 2, 80)
    grid = {"alpha": [0.01, 0.5, 1, 5], "var_floor": [1e-9, 0.1]}
    ours = GridSearchCV(NaiveBayes(), grid, cv=4).fit(X, y)
    theirs = peer.GridSearchCV(NaiveBayes(), grid, cv=4).fit(X, y)
    assert_same_choice(ours, theirs)
    assert_same_ranks(ours.cv_results_, theirs.cv_results_)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_metric_that_fails_leaves_the_others_alone():
    X, y = np.arange(12.0)[:, None], np.array(list("aabbabababcc"))
    cv = [(np.arange(4, 12), np.arange(4)), (np.r_[0:6, 11], np.r_[6:11])]
    options = {"scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy", "cv": cv}
    grid = {"var_floor": [1e-9, 1.0]}
    with pytest.warns(UserWarning, match="Scoring failed"):
        ours = GridSearchCV(NaiveBayes(), grid, **options).fit(X, y)
    with pytest.warns(UserWarning, match="Scoring failed"):
        theirs = peer.GridSearchCV(NaiveBayes(), grid, **options).fit(X, y)
    assert_same_choice(ours, theirs, "accuracy")
    np.testing.assert_allclose(ours.cv_results_["mean_test_accuracy"], theirs.cv_results_["mean_test_accuracy"])
    np.testing.assert_allclose(
        np.isnan(ours.cv_results_["mean_test_neg_log_loss"]), np.isnan(theirs.cv_results_["mean_test_neg_log_loss"])
    )


def test_a_test_class_of_no_weight_is_dropped_as_in_scikit_learn():
    X, y, w = np.arange(8.0)[:, None], np.array([0, 1] * 4), np.array([1, 0, 1, 0, 1, 1, 1, 1.0])
    options = {"scoring": "balanced_accuracy", "cv": [(np.arange(4, 8), np.arange(4))], "error_score": "raise"}
    ours = GridSearchCV(NaiveBayes(), {"ddof": [0, 1]}, **options).fit(X, y, sample_weight=w)
    assert ours.cv_results_["mean_test_score"].tolist() == [1.0, 1.0]


def test_scorers_that_look_into_the_model(table):
    X, y = table

    def weight_of_first_class(model, X, y):
        return float(model.class_count_[0])

    ours, theirs = (
        kind(NaiveBayes(), {"alpha": [1, 2]}, scoring=weight_of_first_class, cv=3)
        for kind in (GridSearchCV, peer.GridSearchCV)
    )
    theirs.fit(X, y)
    assert_same_results(ours.fit(X, y), theirs)
    with pytest.warns(UserWarning, match="does not support sample_weight"):  # scikit-learn's search warns, too
        ours.fit(X, y, sample_weight=np.ones(len(y)))
    assert_same_results(ours, theirs)
