"""Ensembles of scikit-learn as oracles, and its conventions to the letter."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import ensemble as peer
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import Ensemble, EnsembleRegressor, NaiveBayes
from foldwise.ensembles import (
    Bootstrap,
    Diversity,
    Grading,
    GreedySelection,
    OutputCodes,
    Residuals,
    Stacking,
    Subspaces,
    VariedParameters,
    Weighted,
    adaboost,
    arbiter_tree,
    bagging,
    boosted_trees,
    decorate,
    ecoc,
    grading,
    majority_vote,
    pasting,
    random_forest,
    random_subspaces,
    weighted_vote,
)

SEVERAL = {"knn": KNeighborsClassifier(7), "bayes": GaussianNB(), "tree": DecisionTreeClassifier(random_state=3)}
WEIGHT_CHECKS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]


def expected(estimator):
    if not (estimator.diversity is None or isinstance(estimator.diversity, OutputCodes)):
        return dict.fromkeys(WEIGHT_CHECKS, "rows are drawn, so a row twice is not a row of weight 2")
    if estimator.dependency != "independent" and "Tree" in type(estimator.members).__name__:
        return dict.fromkeys(WEIGHT_CHECKS, "of splits that tie, trees choose by their last bits; so do scikit-learn's")
    if isinstance(estimator.combiner, Stacking | Weighted | Grading):
        return {WEIGHT_CHECKS[0]: "folds are dealt to rows, whatever they weigh"}
    return {}


@parametrize_with_checks(
    [
        Ensemble([GaussianNB(), DecisionTreeClassifier(max_depth=3)], combiner="vote"),
        Ensemble(DecisionTreeClassifier(), diversity="bootstrap", size=5),
        EnsembleRegressor([LinearRegression(), DecisionTreeRegressor(max_depth=3)]),
        Ensemble([GaussianNB(), DecisionTreeClassifier()], combiner=Stacking(cv=2)),
    ],
    expected_failed_checks=expected,
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        Ensemble(GaussianNB()),
        Ensemble({"a": GaussianNB(), "b": LogisticRegression()}, combiner="log_mean"),
        Ensemble([GaussianNB(), LogisticRegression(), DecisionTreeClassifier()], combiner="median"),
        Ensemble(GaussianNB(), diversity=["poisson", Subspaces(1.0)], size=5, combiner="vote", random_state=0),
        Ensemble(DecisionTreeClassifier(), diversity="row_parts", size=2),
        random_forest(5),
        adaboost(size=5),
        adaboost(GaussianNB(), size=5),
        boosted_trees(10),
        ecoc(LogisticRegression(), "pairs"),
        EnsembleRegressor(DecisionTreeRegressor(), diversity="pasting", size=4, combiner="median"),
        Ensemble([GaussianNB(), DecisionTreeClassifier()], combiner=Weighted(cv=2), size=GreedySelection(cv=2)),
        decorate(DecisionTreeClassifier(), 3, trials=4),
        grading([GaussianNB(), DecisionTreeClassifier()], GaussianNB(), cv=2),
        arbiter_tree(DecisionTreeClassifier(max_depth=4), 2),
        EnsembleRegressor(LinearRegression(), dependency=Residuals(0.5), combiner="sum", size=4),
    ],
    expected_failed_checks=expected,
)
def test_the_checks_of_scikit_learn_on_other_ensembles(estimator, check):
    check(estimator)


@dataclass(repr=False, eq=False)
class Given(Diversity):
    """Samples and columns that somebody else drew: a diversity of one's own in ten lines."""

    rows: Any = ()
    columns: Any = ()

    def vary(self, specs, task):
        own = zip(specs, self.rows, self.columns, strict=True)
        return [replace(one, rows=np.asarray(rows), columns=np.asarray(columns)) for one, rows, columns in own]


@pytest.mark.parametrize("member", [DecisionTreeClassifier(max_depth=4), KNeighborsClassifier(3)])
@pytest.mark.parametrize("options", [{}, {"max_samples": 0.5, "bootstrap": False}, {"max_features": 0.4}])
def test_bagging_with_the_same_samples(member, options):
    X, y = load_wine(return_X_y=True)
    theirs = peer.BaggingClassifier(member, 12, random_state=0, **options).fit(X, y)
    same = Given(theirs.estimators_samples_, theirs.estimators_features_)
    ours = Ensemble([clone(one) for one in theirs.estimators_], diversity=same).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_bagging_of_regressors_with_the_same_samples():
    X, y = load_diabetes(return_X_y=True)
    theirs = peer.BaggingRegressor(KNeighborsRegressor(4), 8, random_state=0, max_features=0.5).fit(X, y)
    same = Given(theirs.estimators_samples_, theirs.estimators_features_)
    ours = EnsembleRegressor([clone(one) for one in theirs.estimators_], diversity=same).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [bagging, pasting, random_subspaces])
def test_recipes_do_as_well_as_bagging_of_scikit_learn(recipe):
    """The draws are our own, so accuracies of repeated halves are compared."""
    options = {
        bagging: {},
        pasting: {"max_samples": 0.5, "bootstrap": False},
        random_subspaces: {"max_features": 0.5, "bootstrap": False},
    }[recipe]
    X, y = load_wine(return_X_y=True)
    gaps = []
    for seed in range(40):
        half = np.random.default_rng(seed).permutation(len(y))
        train, test = half[:89], half[89:]
        theirs = peer.BaggingClassifier(DecisionTreeClassifier(), 10, random_state=seed, **options)
        ours = recipe(DecisionTreeClassifier(), 10, random_state=1000 + seed)
        scores = [one.fit(X[train], y[train]).score(X[test], y[test]) for one in (ours, theirs)]
        gaps.append(scores[0] - scores[1])
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps)) + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_random_forest_is_that_of_scikit_learn(seed):
    X, y = load_wine(return_X_y=True)
    theirs = peer.RandomForestClassifier(20, random_state=seed).fit(X, y)
    ours = random_forest(20, random_state=seed).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-13)
    for mine, other in zip(ours.members_, theirs.estimators_, strict=True):
        np.testing.assert_allclose(mine.tree_.threshold, other.tree_.threshold, rtol=1e-10)
    for member, rows in zip(ours.fitted_members_.members, theirs.estimators_samples_, strict=True):
        np.testing.assert_array_equal(member.spec.weights, np.bincount(rows, minlength=len(y)))


def test_random_forest_of_a_regression_is_that_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    theirs = peer.RandomForestRegressor(20, max_features=1 / 3, random_state=5).fit(X, y)
    ours = random_forest(20, regression=True, random_state=5).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_votes_are_those_of_scikit_learn(voting, weights):
    X, y = load_wine(return_X_y=True)
    X, new = X[::2, :3], X[1::2, :3]
    labels = np.array(["a", "b", "c"])[y[::2]]
    theirs = peer.VotingClassifier(list(SEVERAL.items()), voting=voting, weights=weights).fit(X, labels)
    over = "vote" if voting == "hard" else "mean"
    ours = Ensemble(SEVERAL, combiner=over if weights is None else Weighted(weights, over=over)).fit(X, labels)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    if voting == "soft":
        np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-14)


def test_the_mean_of_regressors_is_that_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    members = {"line": LinearRegression(), "near": KNeighborsRegressor()}
    for weights in (None, [1.0, 3.0]):
        theirs = peer.VotingRegressor(list(members.items()), weights=weights).fit(X, y)
        ours = EnsembleRegressor(members, combiner="mean" if weights is None else Weighted(weights)).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-13)


def test_recipes_of_votes():
    X, y = load_iris(return_X_y=True)
    vote = majority_vote(list(SEVERAL.values())).fit(X, y)
    np.testing.assert_array_equal(vote.predict(X), peer.VotingClassifier(list(SEVERAL.items())).fit(X, y).predict(X))
    assert weighted_vote(SEVERAL).fit(X, y).score(X, y) > 0.95


def test_parameters_of_members_by_name():
    model = Ensemble(SEVERAL)
    assert model.get_params()["knn__n_neighbors"] == 7
    other = clone(model).set_params(knn__n_neighbors=3, bayes=NaiveBayes(), bayes__var_floor=0.5)
    assert (other.members["knn"].n_neighbors, SEVERAL["knn"].n_neighbors) == (3, 7)
    assert other.members["bayes"].var_floor == 0.5
    listed = Ensemble([GaussianNB(), GaussianNB()]).set_params(**{"gaussiannb-2__var_smoothing": 0.1})
    assert [one.var_smoothing for one in listed.members] == [1e-9, 0.1]
    assert Ensemble(GaussianNB()).set_params(members__var_smoothing=0.5).members.var_smoothing == 0.5
    assert Ensemble(GaussianNB(), combiner=Weighted()).set_params(combiner__cv=3).combiner.cv == 3


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_frames_stay_frames(make):
    X, y = load_iris(return_X_y=True)
    frame = make(dict(zip("abcd", X.T, strict=True)))
    model = Ensemble(NaiveBayes(), diversity=["bootstrap", "subspaces"], size=6, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert all(len(one.feature_names_in_) == 2 for one in model.members_)
    plain = Ensemble(NaiveBayes(), diversity=["bootstrap", "subspaces"], size=6, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X), atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(frame), model.predict_proba(frame), rtol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        random_forest(8, random_state=1),
        bagging(GaussianNB(), 6, random_state=1),
        Ensemble(SEVERAL, diversity=["poisson", "subspaces"], size=7, random_state=1),
        Ensemble(KNeighborsClassifier(), diversity=VariedParameters({"n_neighbors": [1, 5, 9]})),
        adaboost(size=6, random_state=1),
    ],
    ids=lambda model: type(model.diversity).__name__,
)
def test_the_same_at_any_number_of_workers(model):
    X, y = load_wine(return_X_y=True)
    alone, together = (clone(model).set_params(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
    np.testing.assert_allclose(alone, together, rtol=1e-10)


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = load_wine(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    seen = weights > 0
    members = {"a": make_pipeline(StandardScaler(), GaussianNB()), "b": make_pipeline(StandardScaler(), tree(3))}
    ours = Ensemble(members).fit(X, y, weights)
    name = {"a": "gaussiannb__sample_weight", "b": "decisiontreeclassifier__sample_weight"}
    theirs = [clone(one).fit(X[seen], y[seen], **{name[key]: weights[seen]}) for key, one in members.items()]
    np.testing.assert_allclose(ours.predict_proba(X), np.mean([one.predict_proba(X) for one in theirs], axis=0))
    stacked = Ensemble(members, combiner=Stacking(cv=3)).fit(X, y, weights)
    assert stacked.score(X, y) > 0.9
    boosted = adaboost(members["b"], 5, random_state=0).fit(X, y)
    assert all(one.spec.rows is None for one in boosted.fitted_members_.members)  # by weights, not by resampling


@pytest.mark.parametrize("diversity", [Bootstrap(by="weights"), "poisson"])
def test_steps_before_the_last_see_only_rows_that_were_drawn(diversity):
    X, y = load_wine(return_X_y=True)
    member = make_pipeline(StandardScaler(), GaussianNB())
    model = Ensemble(member, diversity=diversity, size=3, random_state=0).fit(X, y)
    for one in model.fitted_members_.members:
        times = one.spec.weights.astype(int)
        np.testing.assert_allclose(one.model[0].mean_, np.repeat(X, times, axis=0).mean(axis=0))


def tree(depth):
    return DecisionTreeClassifier(max_depth=depth, random_state=0)
