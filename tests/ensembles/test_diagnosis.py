"""The diagnosis against counts by hand, the bootstrap against formulas, and what textbooks say of votes."""

from __future__ import annotations

from itertools import combinations

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import cohen_kappa_score, root_mean_squared_error
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise import Ensemble, EnsembleRegressor
from foldwise.ensembles import MemberPredictions, Vote, bagging, bias_variance, bootstrap, diagnose, ecoc
from foldwise.ensembles.diagnosis import kappa, yules_q
from foldwise.errors import InputError

mpl.use("Agg")
X, Y = load_wine(return_X_y=True)


def test_the_vote_of_three():
    """Three independent members, each right with 0.8: 0.8³ + 3·0.8²·0.2 = 0.896 of the votes are right."""
    rng = np.random.default_rng(0)
    n = 200_000
    truth = rng.integers(0, 2, n)
    labels = np.where(rng.random((3, n)) < 0.8, truth, 1 - truth)
    voted = Vote().combine(MemberPredictions(labels, np.ones(3), 2)).argmax(axis=1)
    assert abs(np.mean(voted == truth) - 0.896) < 4 * np.sqrt(0.896 * 0.104 / n)


def test_diversity_by_hand():
    one, other = np.array([1, 1, 1, 0, 0, 1], bool), np.array([1, 0, 1, 0, 1, 1], bool)
    assert yules_q(one, other) == pytest.approx((3 * 1 - 1 * 1) / (3 * 1 + 1 * 1))
    assert yules_q(one, one) == 1.0
    said, more = np.array([0, 1, 2, 2, 1]), np.array([0, 1, 1, 2, 0])
    assert kappa(said, more, 3) == pytest.approx(cohen_kappa_score(said, more))


def test_a_diagnosis():
    model = bagging(DecisionTreeClassifier(max_depth=2), 7, random_state=0).fit(X[::2], Y[::2])
    found = diagnose(model, X[1::2], Y[1::2])
    assert found.accuracy == model.score(X[1::2], Y[1::2])
    assert found.members["accuracy"].to_list() == [one.score(X[1::2], Y[1::2]) for one in model.members_]
    assert found.pairs.height == 21
    row = found.pairs.row(0, named=True)
    a, b = (one.predict(X[1::2]) for one in model.members_[:2])
    assert row["kappa"] == pytest.approx(cohen_kappa_score(a, b))
    assert row["disagreement"] == pytest.approx(np.mean((a == Y[1::2]) != (b == Y[1::2])))
    assert found.curve["size"].to_list() == list(range(1, 8))
    assert found.curve["error"][0] == pytest.approx(1 - found.members["accuracy"][0])
    assert found.curve["error"][-1] == pytest.approx(1 - found.accuracy)
    drawn = [found.plot(), found.plot_curve()]
    assert [ax.get_title() for ax in drawn] == ["Diversity of the members", "Error by number of members"]
    assert found.plot(drawn[0]) is drawn[0]
    mpl.pyplot.close("all")


def test_a_diagnosis_where_the_combination_was_learned():
    model = Ensemble([GaussianNB(), KNeighborsClassifier()], combiner="stacking").fit(X, Y)
    found = diagnose(model, X, Y)
    assert found.curve.rows() == [(2, pytest.approx(1 - found.accuracy))]
    with pytest.raises(InputError, match="members with recoded classes cannot be diagnosed"):
        diagnose(ecoc(GaussianNB()).fit(X, Y), X, Y)


def test_the_diagnosis_of_regressors():
    table, values = load_diabetes(return_X_y=True)
    train, test = (table[::2], values[::2]), (table[1::2], values[1::2])
    model = EnsembleRegressor([LinearRegression(), KNeighborsRegressor(9), DecisionTreeRegressor(max_depth=3)])
    found = diagnose(model.fit(*train), *test)
    predicted = np.array([one.predict(test[0]) for one in model.members_])
    assert found.rmse == pytest.approx(root_mean_squared_error(test[1], model.predict(test[0])))
    each = [root_mean_squared_error(test[1], one) for one in predicted]
    np.testing.assert_allclose(found.members["rmse"], each)
    assert found.pairs["correlation"][0] == pytest.approx(
        np.corrcoef(predicted[0] - test[1], predicted[1] - test[1])[0, 1]
    )
    assert found.pairs["mean_rmse"].to_list() == pytest.approx([(a + b) / 2 for a, b in combinations(each, 2)])
    # the identity of Krogh and Vedelsby
    assert found.rmse**2 == pytest.approx(np.mean(np.square(each)) - found.ambiguity)
    assert found.curve["size"].to_list() == [1, 2, 3]
    assert found.curve["rmse"].to_list()[0] == pytest.approx(each[0])
    assert found.curve["rmse"].to_list()[-1] == pytest.approx(found.rmse)
    drawn = [found.plot(), found.plot_curve()]
    assert [ax.get_title() for ax in drawn] == ["Diversity of the members", "Error by number of members"]
    mpl.pyplot.close("all")


def test_regressors_that_are_not_diagnosed_member_by_member():
    table, values = load_diabetes(return_X_y=True)
    stacked = EnsembleRegressor([LinearRegression(), KNeighborsRegressor(9)], combiner="stacking").fit(table, values)
    found = diagnose(stacked, table, values)
    assert found.curve.rows() == [(2, pytest.approx(found.rmse))]
    boosted = EnsembleRegressor(DecisionTreeRegressor(max_depth=2), dependency="residuals", combiner="sum", size=3)
    with pytest.raises(InputError, match="members that are summed cannot be diagnosed"):
        diagnose(boosted.fit(table, values), table, values)
    with pytest.raises(InputError, match="diagnose needs an ensemble, got LinearRegression"):
        diagnose(LinearRegression().fit(table, values), table, values)


def test_the_bootstrap_of_a_mean_and_of_a_table():
    values = np.random.default_rng(0).exponential(2.0, 400)
    found = bootstrap(np.mean, values, samples=2000, random_state=1)
    assert found.value == values.mean()
    assert found.standard_error == pytest.approx(values.std() / np.sqrt(400), rel=0.08)
    assert found.variance == found.standard_error**2
    assert found.interval[0] < found.value < found.interval[1]
    again = bootstrap(np.mean, values, samples=2000, random_state=1)
    np.testing.assert_allclose(again.distribution, found.distribution, rtol=1e-10)
    frame = pl.DataFrame({"x": values, "y": values + np.random.default_rng(2).normal(0, 2, 400)})
    slope = bootstrap(lambda f: np.polyfit(f["x"], f["y"], 1)[0], frame, samples=300, random_state=0)
    line = LinearRegression().fit(values[:, None], frame["y"])
    left = frame["y"].to_numpy() - line.predict(values[:, None])
    assert slope.standard_error == pytest.approx(left.std() / np.sqrt(400) / values.std(), rel=0.3)
    pair = bootstrap(lambda a, b: np.corrcoef(a, b)[0, 1], values, frame["y"].to_numpy(), method="percentile")
    assert 0 < pair.standard_error < 0.2
    for data in ((), (values, values[:5])):
        with pytest.raises(InputError):
            bootstrap(np.mean, *data)


def test_bias_and_variance_of_numbers_add_up():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, (150, 1))
    y = np.sin(x[:, 0]) + rng.normal(0, 0.2, 150)
    stiff = bias_variance(LinearRegression(), x, y)
    loose = bias_variance(KNeighborsRegressor(1), x, y)
    for found in (stiff, loose):
        assert found.error == pytest.approx(found.bias + found.variance)
        assert found.rows == 150
    assert stiff.bias > loose.bias
    assert stiff.variance < loose.variance
    bagged = bias_variance(bagging(DecisionTreeRegressor(), 15, random_state=0), x, y, samples=20)
    assert bagged.variance < bias_variance(DecisionTreeRegressor(random_state=0), x, y, samples=20).variance


def test_bias_and_variance_of_classes():
    few = X[:, :2]
    labels = np.array(["a", "b", "c"])[Y]
    near, stiff = (
        bias_variance(KNeighborsClassifier(1), few, labels),
        bias_variance(LogisticRegression(C=0.01), few, labels),
    )
    assert near.variance > stiff.variance
    assert 0 < near.bias <= near.error + near.variance
    assert abs(near.error - np.mean(cross_val_predict(KNeighborsClassifier(1), few, Y, cv=5) != Y)) < 0.08
