"""What members learn from: shares, disjoint parts, lost classes, weights, compositions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from foldwise import Ensemble, NaiveBayes
from foldwise.ensembles import (
    Bootstrap,
    ColumnParts,
    Pasting,
    PoissonBootstrap,
    RowParts,
    Subspaces,
    VariedParameters,
    bagging,
)

X, Y = load_iris(return_X_y=True)


def specs(diversity, size=8, member=None):
    model = Ensemble(GaussianNB() if member is None else member, diversity=diversity, size=size, random_state=0)
    return [member.spec for member in model.fit(X, Y).fitted_members_.members]


def test_a_bootstrap_sample_holds_632_of_a_thousand_distinct_rows():
    big = np.random.default_rng(0).normal(size=(10_000, 1))
    crew = bagging(GaussianNB(), 30, random_state=0).fit(big, np.arange(10_000) % 2).fitted_members_
    shares = [len(np.unique(member.spec.rows)) / 10_000 for member in crew.members]
    # the share has a standard deviation of about 0.0031 in one sample
    assert abs(np.mean(shares) - (1 - (1 - 1e-4) ** 10_000)) < 4 * 0.0031 / np.sqrt(30)
    assert all(len(member.spec.rows) == 10_000 for member in crew.members)


def test_pasting_repeats_no_row():
    for spec in specs(Pasting(0.4)):
        assert len(spec.rows) == len(set(spec.rows.tolist())) == 60


def test_parts_of_rows_are_disjoint_and_all():
    parts = specs(RowParts(), size=7)
    assert sorted(np.concatenate([spec.rows for spec in parts]).tolist()) == list(range(150))
    twice = specs(RowParts(5), size=None)
    assert len(twice) == 5
    rounds = specs(RowParts(3), size=6)
    for half in (rounds[:3], rounds[3:]):
        assert sorted(np.concatenate([spec.rows for spec in half]).tolist()) == list(range(150))
    assert not np.array_equal(rounds[0].rows, rounds[3].rows)


def test_parts_of_columns_are_disjoint_and_all():
    parts = specs(ColumnParts(), size=3)
    assert sorted(np.concatenate([spec.columns for spec in parts]).tolist()) == [0, 1, 2, 3]


def test_subspaces_and_their_composition_with_samples_are_independent():
    both = specs([Bootstrap(), Subspaces(2)], size=40)
    assert all(len(spec.columns) == 2 for spec in both)
    assert len({tuple(spec.columns) for spec in both}) == 6  # of 4 columns, all pairs
    first = {tuple(spec.columns) for spec in both if spec.rows[0] < 75}
    assert len(first) > 3


def test_poisson_weights_are_rows_to_members_that_take_no_weights():
    by_weight = Ensemble(NaiveBayes(), diversity=PoissonBootstrap(), size=5, random_state=3).fit(X, Y)
    times = by_weight.fitted_members_.members[0].spec.weights
    assert abs(times.mean() - 1) < 0.3
    repeated = np.repeat(np.arange(150), times.astype(int))
    np.testing.assert_allclose(
        by_weight.members_[0].predict_proba(X), NaiveBayes().fit(X[repeated], Y[repeated]).predict_proba(X), atol=1e-10
    )
    near = Ensemble(KNeighborsClassifier(3), diversity=PoissonBootstrap(), size=5, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(
        near.members_[0].predict(X), KNeighborsClassifier(3).fit(X[repeated], Y[repeated]).predict(X)
    )


def test_weights_of_a_bootstrap_are_its_rows():
    rows = Ensemble(NaiveBayes(), diversity=Bootstrap(), size=4, random_state=1).fit(X, Y)
    weights = Ensemble(NaiveBayes(), diversity=Bootstrap(by="weights"), size=4, random_state=1).fit(X, Y)
    np.testing.assert_allclose(rows.predict_proba(X), weights.predict_proba(X), atol=1e-9)


def test_settings_of_a_grid_of_a_list_and_drawn():
    grid = Ensemble(KNeighborsClassifier(), diversity=VariedParameters({"n_neighbors": [1, 3, 5], "p": [1, 2]})).fit(
        X, Y
    )
    assert [one.n_neighbors for one in grid.members_] == [1, 1, 3, 3, 5, 5]
    assert [one.p for one in grid.members_] == [1, 2] * 3
    listed = Ensemble(KNeighborsClassifier(), diversity=VariedParameters([{"p": 1}, {"n_neighbors": 9}]), size=3).fit(
        X, Y
    )
    assert [(one.p, one.n_neighbors) for one in listed.members_] == [(1, 5), (2, 9), (1, 5)]
    drawn = VariedParameters({"n_neighbors": range(1, 40)}, sampled=True)
    drawn = Ensemble(KNeighborsClassifier(), diversity=drawn, size=9, random_state=0).fit(X, Y)
    assert len({one.n_neighbors for one in drawn.members_}) > 5


class Refuses(ClassifierMixin, BaseEstimator):
    """A classifier that refuses rows of one class, as many do."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("one class")
        self._inner = GaussianNB().fit(X, y)
        return self

    def predict(self, X):
        return self._inner.predict(X)

    def predict_proba(self, X):
        return self._inner.predict_proba(X)


@pytest.mark.parametrize("combiner", ["mean", "vote", "log_mean", "median"])
@pytest.mark.parametrize("member", [GaussianNB(), Refuses(), DecisionTreeClassifier(), NaiveBayes()])
def test_a_class_that_is_lost_keeps_its_column(member, combiner):
    few = np.r_[0:4, 50:90, 100:140]  # 4 rows of the first class in 14 parts: most parts lack it
    labels = np.array(["c", "a", "b"])[Y[few]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Ensemble(member, diversity=RowParts(), size=14, combiner=combiner, random_state=0).fit(X[few], labels)
        assert model.classes_.tolist() == ["a", "b", "c"]
        met = [set(labels[one.spec.rows]) for one in model.fitted_members_.members]
        assert any("c" not in classes for classes in met)
        proba = model.predict_proba(X)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.isfinite(proba).all()
    for member, classes in zip(model.fitted_members_.members, met, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = member.predict(X, proba=True)
        if "c" not in classes:
            assert (said[:, 2] == 0).all()


def test_parts_of_one_class_only():
    ordered = np.r_[0:50, 50:53]
    model = Ensemble(LogisticRegression(), diversity=RowParts(), size=10, random_state=0).fit(X[ordered], Y[ordered])
    assert model.predict(X[:50]).tolist() == [0] * 50


def test_sample_weights_reach_the_members():
    weight = np.random.default_rng(0).integers(0, 4, 150).astype(float)
    ours = Ensemble([GaussianNB(), DecisionTreeClassifier(random_state=0)]).fit(X, Y, weight)
    counted = weight > 0  # a row of weight 0 was not seen
    alone = GaussianNB().fit(X[counted], Y[counted], sample_weight=weight[counted])
    np.testing.assert_allclose(ours.members_[0].predict_proba(X), alone.predict_proba(X), rtol=1e-10)
    few = Ensemble([GaussianNB()]).fit(X, Y, (Y > 0).astype(float))
    assert few.classes_.tolist() == [1, 2]
