"""Combiners on panels worked out by hand, and stacking against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from foldwise import Ensemble, EnsembleRegressor, KNNClassifier, NaiveBayes
from foldwise.ensembles import (
    Best,
    LogMean,
    Mean,
    Median,
    MemberPredictions,
    Stacking,
    TrainingData,
    Vote,
    Weighted,
    bagging,
    stacking,
)
from foldwise.ensembles.combiners.weighted import score_members
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels

PROBA = np.array([[[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]], [[0.1, 0.8, 0.1], [0.2, 0.4, 0.4]], [[0.4, 0.3, 0.3], [1, 0, 0]]])
MEMBERS = {"bayes": GaussianNB(), "near": KNeighborsClassifier(9), "tree": DecisionTreeClassifier(random_state=0)}


def panel(weights=(1.0, 1.0, 1.0)):
    return MemberPredictions(PROBA, np.array(weights), 3)


def test_combiners_by_hand():
    np.testing.assert_allclose(Mean().combine(panel()), [[0.4, 1.3 / 3, 0.5 / 3], [0.4, 0.3, 0.3]])
    np.testing.assert_allclose(Mean().combine(panel((2, 1, 1)))[0], [0.475, 0.375, 0.15])
    np.testing.assert_allclose(Median().combine(panel())[0], np.array([0.4, 0.3, 0.1]) / 0.8)
    product = PROBA[:, 0].prod(axis=0) ** (1 / 3)
    np.testing.assert_allclose(LogMean().combine(panel())[0], product / product.sum())
    np.testing.assert_allclose(Vote().combine(panel()), [[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0]])  # ties: the first class
    np.testing.assert_allclose(Vote().combine(panel((1, 3, 1)))[0], [0.4, 0.6, 0])


def test_a_median_of_which_nothing_is_left_is_the_mean():
    lost = MemberPredictions(np.eye(3)[:, None], np.ones(3), 3)
    np.testing.assert_allclose(Median().combine(lost), [[1 / 3] * 3])


def test_no_member_rules_a_class_out():
    proba = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    np.testing.assert_allclose(LogMean().combine(MemberPredictions(proba, np.ones(2), 2)), [[0.5, 0.5]])


def test_weights_by_performance_are_out_of_fold_accuracies():
    X, y = load_wine(return_X_y=True)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    model = Ensemble(MEMBERS, combiner=Weighted(cv=cv)).fit(X, y)
    expected = [accuracy_score(y, cross_val_predict(one, X, y, cv=cv)) for one in MEMBERS.values()]
    np.testing.assert_allclose(model._fitted.rule.weights, expected)
    theirs = peer.VotingClassifier(list(MEMBERS.items()), weights=expected).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    odds = Ensemble(MEMBERS, combiner=Weighted("odds", cv=cv)).fit(X, y)
    np.testing.assert_allclose(odds._fitted.rule.weights, np.log(np.array(expected) / (1 - np.array(expected))))


def test_the_best_single_member():
    X, y = load_wine(return_X_y=True)
    model = Ensemble(MEMBERS, combiner="best").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), rtol=1e-10)
    losses = [-log_loss(y, cross_val_predict(one, X, y, method="predict_proba")) for one in MEMBERS.values()]
    by_loss = Ensemble(MEMBERS, combiner=Best("neg_log_loss")).fit(X, y)
    assert by_loss._fitted.rule.member == int(np.argmax(losses))
    by_function = Ensemble(MEMBERS, combiner=Best(lambda y, p: -log_loss(y, p))).fit(X, y)
    assert by_function._fitted.rule.member == int(np.argmax(losses))
    svm = Ensemble([LinearSVC(), GaussianNB()], combiner="best").fit(X, y)
    assert svm.score(X, y) > 0.9


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_stacking_is_that_of_scikit_learn(load, passthrough):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    final = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000)
    theirs = peer.StackingClassifier(list(MEMBERS.items()), final, cv=cv, passthrough=passthrough).fit(X, y)
    ours = stacking(MEMBERS, final, cv=cv, passthrough=passthrough).fit(X, y)
    np.testing.assert_allclose(ours._fitted.rule.model.coef_, theirs.final_estimator_.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_stacking_of_regressors_is_that_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    members = {"line": LinearRegression(), "near": KNeighborsRegressor()}
    theirs = peer.StackingRegressor(list(members.items()), Ridge(), cv=KFold(4)).fit(X, y)
    ours = stacking(members, Ridge(), cv=KFold(4)).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert EnsembleRegressor(members, combiner="stacking").fit(X, y).score(X, y) > 0.4


def test_stacking_of_labels_and_by_any_learner():
    X, y = load_wine(return_X_y=True)
    model = Ensemble([LinearSVC(), GaussianNB()], combiner=Stacking(DecisionTreeClassifier(max_depth=3), use="labels"))
    labels = np.hstack([np.eye(3)[cross_val_predict(one, X, y)] for one in (LinearSVC(), GaussianNB())])
    final = DecisionTreeClassifier(max_depth=3, random_state=0).fit(labels, y)
    model.fit(X, y)
    np.testing.assert_array_equal(model._fitted.rule.model.predict(labels), final.predict(labels))
    no_proba = Ensemble(MEMBERS, combiner=Stacking(LinearSVC())).fit(X, y)
    assert set(np.unique(no_proba.predict_proba(X))) == {0.0, 1.0}


def test_members_that_are_drawn_learn_their_combination_from_crews_of_each_fold():
    X, y = load_wine(return_X_y=True)
    model = bagging(DecisionTreeClassifier(max_depth=2), 5, combiner=Weighted(), random_state=0).fit(X, y)
    weights = model._fitted.rule.weights
    assert len(weights) == 5
    assert weights.max() < 0.97  # out of fold, where the trees themselves are right more often


def test_out_of_fold_answers_of_our_own_members_share_their_sessions():
    X, y = load_wine(return_X_y=True)
    members = {"near": KNNClassifier(5), "far": KNNClassifier(19), "bayes": NaiveBayes()}
    model = Ensemble(members, combiner="weighted").fit(X, y)
    expected = [accuracy_score(y, cross_val_predict(one, X, y)) for one in members.values()]
    np.testing.assert_allclose(model._fitted.rule.weights, expected)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_members_are_scored_by_the_metrics_of_evaluation(load):
    X, y = load(return_X_y=True)
    proba = GaussianNB().fit(X, y).predict_proba(X)
    data = TrainingData(X, Labels(np.unique(y), y), None, *X.shape)
    predictions = MemberPredictions(proba[None], np.ones(1), proba.shape[1])
    brier = ((proba - np.eye(proba.shape[1])[y]) ** 2).sum(axis=1).mean() / (2 if proba.shape[1] == 2 else 1)
    for name in ("brier_score", "neg_brier_score"):
        assert score_members(name, predictions, data)[0] == pytest.approx(-brier, rel=1e-10)
    assert score_members("f1_macro", predictions, data)[0] == pytest.approx(
        f1_score(y, proba.argmax(axis=1), average="macro"), rel=1e-10
    )
    with pytest.raises(InputError, match="mean squared error is a regression metric, but the task is classification"):
        score_members("mean_squared_error", predictions, data)
