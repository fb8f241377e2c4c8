"""Where scikit-learn can speak too, the same numbers; and its conventions to the letter."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import naive_bayes as peer
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import NaiveBayes


def expected(model):
    if model.families != "best":
        return {}
    return {"check_sample_weight_equivalence_on_dense_data": "a row is dealt to one fold, however often it counts"}


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects, weights below 1
@parametrize_with_checks([NaiveBayes(), NaiveBayes(families="best")], expected_failed_checks=expected)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects, weights below 1
@parametrize_with_checks(
    [
        NaiveBayes(families="categorical"),
        NaiveBayes(families="gaussian", alpha=0, ddof=0, priors="uniform"),
        NaiveBayes(missing="category", unseen="smooth"),
        NaiveBayes(families="kde", temperature=2.0),
        NaiveBayes(families="binned", cuts="entropy", bins=5),
    ],
    expected_failed_checks=expected,
)
def test_the_checks_of_scikit_learn_on_other_settings(estimator, check):
    check(estimator)


def law(found, expected):
    """The tolerance of the fold law: 1e-10 · max(1, |log p|)."""
    bound = 1e-10 * np.maximum(1.0, np.abs(expected))
    assert (np.abs(found - expected) <= bound).all(), np.abs(found - expected).max()


def pairs(rng, n=300, d=6, k=3):
    y = rng.integers(0, k, n)
    counts = rng.poisson(1.0 + 0.5 * (y[:, None] == np.arange(d) % k))
    yield "gaussian", rng.normal(y[:, None], 1 + np.arange(d), (n, d)), y, peer.GaussianNB(var_smoothing=0)
    yield "categorical", rng.integers(0, 4, (n, d)), y, peer.CategoricalNB(min_categories=4)
    yield "bernoulli", (counts > 1).astype(int), y, peer.BernoulliNB()
    yield "multinomial", counts, y, peer.MultinomialNB()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_scikit_learn(seed, weighted):
    rng = np.random.default_rng(seed)
    for family, X, y, other in pairs(rng):
        w = rng.exponential(size=len(y)) if weighted else None
        for alpha in (0.3, 1.0, 5.0) if family != "gaussian" else (1.0,):
            if family != "gaussian":
                other = clone(other).set_params(alpha=alpha)
            other.fit(X, y, sample_weight=w)
            ours = NaiveBayes(families=family, alpha=alpha, ddof=0, var_floor=0).fit(X, y, w)
            law(ours.predict_joint_log_proba(X), other.predict_joint_log_proba(X))
            law(ours.predict_log_proba(X), other.predict_log_proba(X))
            np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), rtol=1e-9, atol=1e-12)
            assert (ours.predict(X) == other.predict(X)).all()
            np.testing.assert_allclose(ours.class_count_, other.class_count_, rtol=1e-12)


def test_equal_to_scikit_learn_with_priors_and_far_from_zero(rng):
    X, y = 1e8 + rng.normal(size=(500, 4)), rng.integers(0, 2, 500)
    priors = [0.1, 0.9]
    ours = NaiveBayes(ddof=0, var_floor=0, priors=priors).fit(X, y).predict_log_proba(X)
    theirs = peer.GaussianNB(priors=priors, var_smoothing=0).fit(X, y).predict_log_proba(X)
    # the law's other tolerance: ten times what the peer itself moves when its rows are permuted
    order = rng.permutation(500)
    moved = peer.GaussianNB(priors=priors, var_smoothing=0).fit(X[order], y[order]).predict_log_proba(X)
    assert np.abs(ours - theirs).max() <= max(1e-10 * np.abs(theirs).max(), 10 * np.abs(moved - theirs).max())
    assert NaiveBayes(priors={0: 0.1, 1: 0.9}).fit(X, y).class_log_prior_.tolist() == np.log(priors).tolist()


def test_declared_levels_make_the_denominator(rng):
    # pandas declares levels in the type, as min_categories does for scikit-learn
    codes = rng.integers(0, 3, 100)
    frame = pd.DataFrame({"a": pd.Categorical.from_codes(codes, categories=list("wxyz"))})
    y = rng.integers(0, 2, 100)
    ours = NaiveBayes().fit(frame, y).predict_log_proba(frame)
    theirs = peer.CategoricalNB(min_categories=4).fit(codes[:, None], y).predict_log_proba(codes[:, None])
    law(ours, theirs)
    enum = pl.DataFrame({"a": pl.Series(frame["a"].astype(str).to_list(), dtype=pl.Enum(list("wxyz")))})
    law(NaiveBayes().fit(enum, y).predict_log_proba(enum), theirs)


def test_pipelines_searches_and_clones():
    X, y = load_iris(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), NaiveBayes())
    assert cross_val_score(pipeline, X, y, cv=5).mean() > 0.94
    search = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1, 0.5], "priors": ["empirical", "uniform"]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.94
    model = clone(NaiveBayes(families={"petal length (cm)": "gaussian"}, alpha=0.5, priors=[0.2, 0.3, 0.5]))
    assert model.get_params()["alpha"] == 0.5
    model.fit(X, y)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X), rtol=1e-10)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.n_features_in_ == 4
    assert "NaiveBayes" in repr(model)
    assert model.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_cross_validation_on_frames_with_text(library, rng):
    X = library({"a": rng.choice(["x", "y"], 80).tolist(), "b": rng.normal(size=80).tolist()})
    y = np.where(np.array(X["a"]) == "x", "no", "yes")
    scores = cross_validate(NaiveBayes(), X, y, cv=4, return_estimator=True)
    assert scores["test_score"].mean() > 0.95
    assert scores["estimator"][0].classes_.tolist() == ["no", "yes"]


def test_metadata_routing(rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    w = np.where(np.arange(60) < 30, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), NaiveBayes().set_fit_request(sample_weight=True))
        pipeline[0].set_fit_request(sample_weight=True)
        pipeline.fit(X, y, sample_weight=w)
        expected = make_pipeline(StandardScaler(), NaiveBayes()).fit(X[30:], y[30:])
        np.testing.assert_allclose(pipeline.predict_proba(X), expected.predict_proba(X), rtol=1e-10)


def test_column_transformers_before_it(rng):
    X = pd.DataFrame({"a": rng.normal(size=50), "b": rng.choice(["u", "v"], 50)})
    y = rng.integers(0, 2, 50)
    before = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough").set_output(transform="pandas")
    model = make_pipeline(before, NaiveBayes()).fit(X, y)
    assert list(model[-1].families_.values()) == ["gaussian", "categorical"]


def test_arrays_come_out_as_scikit_learn_gives_them(rng):
    X, y = rng.normal(size=(20, 2)), np.array(["b", "a"] * 10)
    model = NaiveBayes().fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert model.classes_.tolist() == ["a", "b"]
    for answer in (model.predict_proba, model.predict_log_proba, model.predict_joint_log_proba):
        assert answer(X).shape == (20, 2)
        assert answer(X).dtype == np.float64
    for labels in (
        y.astype(object),
        pd.Series(y),
        pl.Series(y),
        pd.Categorical(y),
        list(y),
        y == "a",
        np.arange(20) % 3,
    ):
        assert (NaiveBayes().fit(X, labels).classes_ == np.unique(np.asarray(labels))).all()
