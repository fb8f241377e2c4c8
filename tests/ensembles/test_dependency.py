"""AdaBoost and boosting by residuals: round by round on small tables, and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise import Ensemble, EnsembleRegressor, NaiveBayes
from foldwise.ensembles import AdaBoost, Median, MemberPredictions, Residuals, adaboost, boosted_trees

STUMP = DecisionTreeClassifier(max_depth=1)
LINE = np.arange(10.0)[:, None]
SIGNS = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])


class Recorded(ClassifierMixin, BaseEstimator):
    """A stump that remembers the weights it was given."""

    def fit(self, X, y, sample_weight=None):
        self.weights_ = sample_weight
        self._stump = DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self._stump.classes_
        return self

    def predict(self, X):
        return self._stump.predict(X)


def test_adaboost_round_by_round():
    """The worked example of Freund and Schapire's AdaBoost on ten points, with fractions found by hand.

    Round 1: the stump x < 2.5 is wrong at 6, 7, 8: E = 3/10. Right rows then weigh 1/14, wrong ones 1/6.
    Round 2: x < 8.5 is wrong at 3, 4, 5: E = 3/14. Right ones are divided by 2·11/14, wrong ones by 2·3/14.
    Round 3: x < 5.5 (the other way round) is wrong at 0, 1, 2, 9: E = 4·(1/22) = 2/11.
    """
    model = Ensemble(Recorded(), dependency="adaboost", size=3, combiner="vote").fit(LINE, SIGNS)
    first, second, third = (one.weights_ for one in model.members_)
    np.testing.assert_allclose(first, np.ones(10))  # they sum to n
    w2 = np.array([1 / 14] * 6 + [1 / 6] * 3 + [1 / 14])
    np.testing.assert_allclose(second, 10 * w2)
    w3 = np.array([1 / 22] * 3 + [1 / 6] * 3 + [7 / 66] * 3 + [1 / 22])
    np.testing.assert_allclose(third, 10 * w3)
    errors = [3 / 10, 3 / 14, 2 / 11]
    np.testing.assert_allclose(model.fitted_members_.history["errors"], errors)
    np.testing.assert_allclose(model.weights_, [0.5 * np.log((1 - e) / e) for e in errors])
    np.testing.assert_allclose(model.weights_, [0.42364893, 0.64964149, 0.75203870], atol=1e-8)
    assert model.score(LINE, SIGNS) == 1.0  # three stumps do what none can
    votes = model.weights_ @ np.array([one.predict(LINE) for one in model.members_])
    np.testing.assert_array_equal(np.sign(votes), SIGNS)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_adaboost_is_that_of_scikit_learn(load, rate):
    X, y = load(return_X_y=True)
    theirs = peer.AdaBoostClassifier(STUMP, n_estimators=30, learning_rate=rate, random_state=0).fit(X, y)
    ours = Ensemble(list(theirs.estimators_), dependency=AdaBoost(learning_rate=rate), combiner="vote").fit(X, y)
    assert len(ours.members_) == len(theirs.estimators_)
    np.testing.assert_allclose(ours.fitted_members_.history["errors"], theirs.estimator_errors_, rtol=1e-9)
    halved = 2.0 if len(np.unique(y)) == 2 else 1.0
    np.testing.assert_allclose(halved * ours.weights_, theirs.estimator_weights_, rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_perfect_member_decides_alone():
    model = adaboost(DecisionTreeClassifier(), 20, random_state=0).fit(LINE, SIGNS)
    assert len(model.members_) == 1
    assert model.fitted_members_.history["votes"] == [np.inf]
    late = Ensemble([STUMP, DecisionTreeClassifier()], dependency="adaboost", combiner="vote").fit(LINE, SIGNS)
    assert late.fitted_members_.history["errors"] == pytest.approx([0.3, 0.0])
    assert [one.get_depth() for one in late.members_] == [3]


def test_a_member_no_better_than_guessing_ends_it():
    guess = DummyClassifier(strategy="constant", constant=1)
    model = Ensemble([STUMP, guess, STUMP], dependency="adaboost", combiner="vote").fit(LINE, SIGNS)
    assert model.fitted_members_.history["errors"][1] == pytest.approx(0.5 + 0.5 * (w_of_minus() - w_of_plus()))
    first = Ensemble([DummyClassifier(strategy="constant", constant=-1)], dependency="adaboost", combiner="vote")
    with_one = first.fit(LINE, SIGNS)  # E = 6/10: kept for want of another
    assert with_one.weights_.tolist() == [1.0]
    assert with_one.predict(LINE).tolist() == [-1] * 10


def w_of_minus():
    return 4 / 14


def w_of_plus():
    return 3 / 14 + 3 / 6


def test_by_resampling_where_a_member_takes_no_weights():
    X, y = make_classification(400, 6, random_state=2)
    near = adaboost(KNeighborsClassifier(3), 10, random_state=0).fit(X, y)
    rows = [one.spec.rows for one in near.fitted_members_.members]
    assert all(len(one) == 400 and len(np.unique(one)) < 300 for one in rows)
    wrong = near.fitted_members_.members[0].predict(X, proba=False) != y
    often = np.isin(rows[1], np.flatnonzero(wrong)).mean()
    assert abs(often - 0.5) < 0.1  # half the weight of the second round lies on the mistakes of the first
    by_weights, by_rows = (
        adaboost(STUMP, 40, by=by, random_state=0).fit(X[:200], y[:200]).score(X[200:], y[200:])
        for by in ("weights", "resampling")
    )
    assert abs(by_weights - by_rows) < 0.08


def test_naive_bayes_members_stay_sound():
    """Weights that sum to 1 would put every variance on its floor; these sum to n."""
    X, y = load_breast_cancer(return_X_y=True)
    model = adaboost(NaiveBayes(), 5).fit(X, y)  # warnings are errors: none of a class whose weights sum to 1 or less
    plain = NaiveBayes().fit(X, y)
    np.testing.assert_allclose(model.members_[0].predict_log_proba(X), plain.predict_log_proba(X), rtol=1e-8)
    assert model.score(X, y) >= GaussianNB().fit(X, y).score(X, y) - 0.01


def test_residuals_round_by_round():
    """y = 0, 0, 6, 12 at 1, 2, 3, 4; one split a tree, λ = 1/2; the residuals worked out by hand.

    Tree 1 splits at 2.5: 0 and 9. Left over: 0, 0, 1.5, 7.5. Tree 2 splits at 3.5: 0.5 and 7.5. Left over: -0.25,
    -0.25, 1.25, 3.75. Tree 3 splits at 3.5 again: 0.25 and 3.75.
    """
    X, y = np.arange(1.0, 5)[:, None], np.array([0.0, 0, 6, 12])
    model = boosted_trees(3, splits=1, learning_rate=0.5).fit(X, y)
    said = np.array([tree.predict(X) for tree in model.members_])
    np.testing.assert_allclose(said, [[0, 0, 9, 9], [0.5, 0.5, 0.5, 7.5], [0.25, 0.25, 0.25, 3.75]])
    np.testing.assert_allclose(model.predict(X), [0.375, 0.375, 4.875, 10.125])
    assert model.weights_.tolist() == [0.5] * 3


@pytest.mark.parametrize("start", ["zero", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_boosted_trees_are_those_of_scikit_learn(start, weighted):
    X, y = load_diabetes(return_X_y=True)
    X = X + np.random.default_rng(0).normal(0, 1e-6, X.shape)  # no two splits tie
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    theirs = peer.GradientBoostingRegressor(
        n_estimators=40,
        learning_rate=0.2,
        max_depth=2,
        init="zero" if start == "zero" else None,
        random_state=0,
    ).fit(X, y, weight)
    tree = DecisionTreeRegressor(max_depth=2)
    ours = EnsembleRegressor(tree, dependency=Residuals(0.2, start), combiner="sum", size=40).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_adaboost_of_values_round_by_round():
    """Drucker's AdaBoost.R2, by plain loops."""
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = EnsembleRegressor([tree] * 4, dependency=AdaBoost(learning_rate=0.7), combiner="median").fit(X, y)
    w, errors, votes = np.full(len(y), 1 / len(y)), [], []
    for member in model.members_:
        peer_tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y, sample_weight=w * len(y))
        np.testing.assert_allclose(member.predict(X), peer_tree.predict(X))
        loss = np.abs(peer_tree.predict(X) - y)
        loss /= loss.max()
        errors.append(np.sum(w * loss))
        beta = errors[-1] / (1 - errors[-1])
        votes.append(0.7 * np.log(1 / beta))
        w = w * beta ** ((1 - loss) * 0.7)
        w /= w.sum()
    np.testing.assert_allclose(model.fitted_members_.history["errors"], errors)
    np.testing.assert_allclose(model.weights_, votes)


def test_weighted_medians_are_those_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    theirs = peer.AdaBoostRegressor(n_estimators=20, random_state=0).fit(X[:300], y[:300])
    stored = MemberPredictions(np.array([one.predict(X) for one in theirs.estimators_]), theirs.estimator_weights_)
    np.testing.assert_allclose(Median().combine(stored), theirs.predict(X))


@pytest.mark.parametrize("by", ["weights", "resampling"])
def test_adaboost_of_values_is_as_good_as_that_of_scikit_learn(by):
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=3)
    ours = adaboost(tree, 50, by=by, random_state=0).fit(X[:300], y[:300])
    theirs = peer.AdaBoostRegressor(tree, n_estimators=50, random_state=0).fit(X[:300], y[:300])
    assert isinstance(ours, EnsembleRegressor)
    assert ours.score(X[300:], y[300:]) > theirs.score(X[300:], y[300:]) - 0.05
