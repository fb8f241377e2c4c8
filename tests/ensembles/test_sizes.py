"""Sizes: greedy selection against a plain loop, pruning, and training that stops by itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise import Ensemble, EnsembleRegressor
from foldwise.ensembles import (
    AdaBoost,
    EarlyStopping,
    GreedySelection,
    Pruning,
    Residuals,
    RowParts,
    TrainingData,
    bagging,
    greedy_selection,
    select_greedily,
)
from foldwise.errors import InputError
from foldwise.evaluation.metrics import find_metric

SCORES = {
    "accuracy": lambda y, p: accuracy_score(y, p.argmax(axis=1)),
    "neg_log_loss": lambda y, p: -log_loss(y, p / p.sum(axis=1, keepdims=True), labels=range(p.shape[1])),
    "neg_brier_score": lambda y, p: -np.mean(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1)),
}


def stored(rng, members=7, rows=60, classes=3):
    y = rng.integers(0, classes, rows)
    skill = rng.uniform(0, 2, (members, 1, 1))
    proba = np.exp(rng.normal(size=(members, rows, classes)) + skill * np.eye(classes)[y])
    return proba / proba.sum(axis=2, keepdims=True), y


def plainly(proba, y, score, rounds, start):
    """Caruana's loop as one would write it down."""
    taken = sorted(range(len(proba)), key=lambda m: -score(y, proba[m]))[:start]
    scores = [score(y, proba[taken[: i + 1]].mean(axis=0)) for i in range(start)]
    for _ in range(rounds):
        gains = [score(y, proba[[*taken, m]].mean(axis=0)) for m in range(len(proba))]
        taken.append(int(np.argmax(gains)))
        scores.append(max(gains))
    best = int(np.argmax(scores)) + 1
    return np.bincount(taken[:best], minlength=len(proba)) / best, scores


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", SCORES)
def test_greedy_selection_is_the_plain_loop(metric, seed):
    proba, y = stored(np.random.default_rng(seed))
    weights, scores = plainly(proba, y, SCORES[metric], 12, 2)
    found = select_greedily(proba, y, metric=metric, rounds=12, start=2, shrinkage=0.0)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-9)
    np.testing.assert_allclose(found.weights, weights)
    by_function = select_greedily(proba, y, metric=SCORES[metric], rounds=12, start=2, shrinkage=0.0)
    np.testing.assert_allclose(by_function.weights, weights)


def test_any_metric_and_values():
    rng = np.random.default_rng(0)
    proba, y = stored(rng, classes=2)
    found = select_greedily(proba, y, metric=lambda y, p: roc_auc_score(y, p[:, 1]), shrinkage=0.0)
    assert found.scores.max() >= max(roc_auc_score(y, one[:, 1]) for one in proba)
    truth = rng.normal(size=80)
    values = truth + rng.normal(0, [[0.5], [1.0], [3.0]], (3, 80))
    chosen = select_greedily(values, truth, shrinkage=0.0, start=1)
    assert chosen.weights[0] > chosen.weights[2]
    assert -chosen.scores.max() <= ((values[0] - truth) ** 2).mean()


def test_rows_that_count_twice():
    proba, y = stored(np.random.default_rng(1))
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    for metric in SCORES:
        by_weight = select_greedily(proba, y, metric=metric, sample_weight=weight, rounds=9, shrinkage=0.0)
        by_rows = select_greedily(proba[:, rows], y[rows], metric=metric, rounds=9, shrinkage=0.0)
        np.testing.assert_allclose(by_weight.scores, by_rows.scores, rtol=1e-9)


def test_few_rows_are_shrunk_to_equal_weights():
    proba, y = stored(np.random.default_rng(3), rows=200)
    free, shrunk = (select_greedily(proba, y, shrinkage=s).weights for s in (0.0, None))
    np.testing.assert_allclose(shrunk, 0.6 * free + 0.4 / 7)
    many, truth = stored(np.random.default_rng(3), rows=1000)
    assert (select_greedily(many, truth).weights == 0).any()


@pytest.mark.parametrize(
    ("predictions", "y", "options", "words"),
    [
        (np.zeros((0, 3, 2)), [0, 1, 0], {}, "members, rows, classes"),
        (np.ones((2, 3, 2)), [0, 1], {}, "y must have shape .3,."),
        (np.ones((2, 3, 2)), [0, 1, 2], {}, "from 0 to 1"),
        (np.full((2, 3, 2), np.nan), [0, 1, 0], {}, "must be finite"),
        (np.ones((2, 3, 2)), [0, 1, 0], {"metric": "f1"}, "metric='f1' is not supported"),
        (np.ones((2, 3, 2)), [0, 1, 0], {"shrinkage": 2}, "between 0 and 1"),
        (np.ones((2, 3)), [0.0, 1, 0], {"metric": "accuracy"}, "for values"),
    ],
)
def test_bad_predictions(predictions, y, options, words):
    with pytest.raises(InputError, match=words):
        select_greedily(predictions, y, **options)


def test_an_ensemble_by_greedy_selection():
    X, y = load_breast_cancer(return_X_y=True)
    members = {f"near{k}": KNeighborsClassifier(k) for k in (1, 5, 15, 50)} | {"bayes": GaussianNB()}
    model = greedy_selection(members, rounds=10).fit(X[::2], y[::2])
    assert model.weights_.sum() == pytest.approx(1)
    brier = brier_score_loss(y[1::2], model.predict_proba(X[1::2])[:, 1])
    assert brier <= 1.02 * min(
        brier_score_loss(y[1::2], one.fit(X[::2], y[::2]).predict_proba(X[1::2])[:, 1]) for one in members.values()
    )
    few = Ensemble(members, size=GreedySelection(rounds=5, start=1, shrinkage=0.0)).fit(X, y)
    assert 1 <= len(few.members_) < 5
    n_rounds = [n for n in range(1, 6) if np.allclose(few.weights_ * n, np.rint(few.weights_ * n))]
    assert n_rounds  # each round adds one member, so that weights are fractions of at most five rounds
    voters = Ensemble(members, size=GreedySelection(), combiner="vote").fit(X, y)
    assert voters.score(X, y) > 0.9
    numbers = greedy_selection([LinearRegression(), KNeighborsRegressor(7)])
    assert numbers.fit(*load_diabetes(return_X_y=True)).weights_.sum() == pytest.approx(1)


def test_pruning_by_order():
    X, y = load_wine(return_X_y=True)
    model = bagging(DecisionTreeClassifier(max_depth=1), random_state=0).set_params(size=Pruning(4, n=20)).fit(X, y)
    assert len(model.members_) == 4
    assert model.weights_.tolist() == [1.0] * 4
    best = bagging(DecisionTreeClassifier(max_depth=1), random_state=0).set_params(size=Pruning(n=20)).fit(X, y)
    assert 1 <= len(best.members_) < 20
    with pytest.raises(InputError, match="needs independent members"):
        Ensemble(DecisionTreeClassifier(), dependency=AdaBoost(), combiner="vote", size=Pruning()).fit(X, y)


def test_training_stops_when_the_out_of_bag_error_has_settled():
    X, y = make_classification(500, 10, n_informative=6, random_state=0)
    model = bagging(DecisionTreeClassifier(), random_state=0).set_params(size=EarlyStopping(400)).fit(X, y)
    n = len(model.members_)
    assert 60 <= n < 400
    assert n % 10 == 0
    history = model.fitted_members_.history
    assert history["sizes"] == list(range(10, n + 1, 10))
    votes = np.zeros((500, 2))
    for member in model.fitted_members_.members:  # the error as one would count it by hand
        out = np.setdiff1d(np.arange(500), member.spec.rows)
        votes[out] += member.model.predict_proba(X[out])
    assert history["errors"][-1] == np.mean(votes.argmax(axis=1) != y)
    again = bagging(DecisionTreeClassifier(), random_state=0, n_jobs=2).set_params(size=EarlyStopping(400)).fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-10)


def test_boosting_stops_by_validation_rows_and_goes_back():
    X, y = load_diabetes(return_X_y=True)
    model = EnsembleRegressor(
        DecisionTreeRegressor(max_depth=3),
        dependency=Residuals(0.3),
        combiner="sum",
        size=EarlyStopping(300, by="validation", patience=10),
        random_state=0,
    ).fit(X, y)
    assert len(model.members_) < 100
    two = make_classification(400, 8, flip_y=0.2, random_state=1)
    boosted = Ensemble(
        DecisionTreeClassifier(max_depth=1),
        dependency="adaboost",
        combiner="vote",
        size=EarlyStopping(300, by="validation", patience=10),
        random_state=0,
    ).fit(*two)
    assert len(boosted.members_) < 300


def test_boosting_goes_back_also_where_it_was_not_stopped():
    X, y = load_diabetes(return_X_y=True)
    model = EnsembleRegressor(
        DecisionTreeRegressor(max_depth=6),
        dependency=Residuals(0.5),
        combiner="sum",
        size=EarlyStopping(12, by="validation", patience=50),
        random_state=0,
    ).fit(X, y)
    held = np.setdiff1d(np.arange(len(y)), model.fitted_members_.members[0].spec.rows)
    said = np.cumsum([0.5 * one.predict(X[held]) for one in model.members_], axis=0)
    errors = ((said - y[held]) ** 2).mean(axis=1)
    assert len(errors) < 12  # deep trees at this rate learn the noise after a few rounds
    assert errors.argmin() == len(errors) - 1


def test_rows_of_lessons_are_those_of_the_table():
    """Beside validation rows, members are trained on some rows; what they saw is told by the table's own numbers."""
    X, y = load_wine(return_X_y=True)
    model = Ensemble(
        KNeighborsClassifier(1), diversity="pasting", size=EarlyStopping(20, by="validation"), random_state=0
    ).fit(X, y)
    for member in model.fitted_members_.members:
        np.testing.assert_array_equal(member.model._fit_X, X[member.spec.rows])
    arbiters = Ensemble(
        KNeighborsClassifier(1),
        diversity=RowParts(),
        size=EarlyStopping(4, by="validation", batch=4),
        combiner="arbiters",
        random_state=0,
    ).fit(X, y)
    rows = np.concatenate([member.spec.rows for member in arbiters.fitted_members_.members])
    np.testing.assert_array_equal(np.sort(rows), np.sort(arbiters._fitted.rule.root.rows))
    assert len(np.unique(rows)) == len(y) - int(0.2 * len(y))


def test_the_settled_error_knows_the_weights_of_rows():
    X, y = make_classification(200, 5, flip_y=0.3, random_state=0)
    weights = np.where(np.arange(200) % 4 == 0, 5.0, 1.0)
    model = bagging(DecisionTreeClassifier(), random_state=0).set_params(size=EarlyStopping(20)).fit(X, y, weights)
    votes = np.zeros((200, 2))
    for member in model.fitted_members_.members:
        out = member.spec.out_of_bag(TrainingData(X, None, None, 200, 5))
        votes[out] += member.model.predict_proba(X[out])
    asked = votes.any(axis=1)
    wrong = votes[asked].argmax(axis=1) != y[asked]
    expected = np.average(wrong, weights=weights[asked])
    assert model.fitted_members_.history["errors"][-1] == pytest.approx(expected)
    assert abs(expected - wrong.mean()) > 1e-3


def test_no_out_of_bag_rows():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InputError, match="needs independent members that are trained on samples"):
        Ensemble(GaussianNB(), size=EarlyStopping()).fit(X, y)
    with pytest.raises(InputError, match="by must be"):
        bagging(GaussianNB()).set_params(size=EarlyStopping(by="luck")).fit(X, y)


@pytest.mark.parametrize("metric", ["neg_mean_squared_error", "rmse", "mean_absolute_error", "pinball_loss_0.9", "r2"])
def test_greedy_selection_by_any_metric_of_values(rng, metric):
    """The scores are those of the averages, weighted, and no first step would have been better."""
    truth, weights = rng.normal(size=120), rng.exponential(size=120)
    stored = truth + rng.normal(size=(6, 120)) * np.linspace(0.5, 1.5, 6)[:, None]
    found = select_greedily(stored, truth, metric=metric, sample_weight=weights, start=1, rounds=6, shrinkage=0.0)
    chosen = find_metric("neg_mean_squared_error" if metric == "rmse" else metric)
    means = [stored[found.order[: n + 1]].mean(axis=0) for n in range(7)]
    np.testing.assert_allclose(found.scores, [chosen.signed(chosen(truth, one, weights)) for one in means])
    assert found.scores[0] == pytest.approx(max(chosen.signed(chosen(truth, one, weights)) for one in stored))
    with pytest.raises(InputError, match="metric='accuracy' is not supported for values"):
        select_greedily(stored, truth, metric="accuracy")
