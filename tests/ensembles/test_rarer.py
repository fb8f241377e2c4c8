"""DECORATE, grading, arbiter trees and codes: their definitions followed by hand, scikit-learn's codes as oracles."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import multiclass as peer
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from foldwise import Ensemble, NaiveBayes
from foldwise.ensembles import (
    ArbiterTree,
    Bootstrap,
    Decode,
    Grading,
    MemberPredictions,
    OutputCodes,
    RowParts,
    Stacking,
    arbiter_tree,
    decorate,
    ecoc,
    grading,
    greedy_selection,
    stacking,
    weighted_vote,
)
from foldwise.ensembles.dependency.decorate import artificial_rows
from foldwise.errors import InputError
from tests.conftest import mixed_columns

X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


class Counting(ClassifierMixin, BaseEstimator):
    """A tree that remembers how many rows it was shown, a row of weight 2 twice."""

    def fit(self, X, y, sample_weight=None):
        self.n_ = len(y) if sample_weight is None else sample_weight.sum()
        self._tree = DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight)
        self.classes_ = self._tree.classes_
        return self

    def predict(self, X):
        return self._tree.predict(X)

    def predict_proba(self, X):
        return self._tree.predict_proba(X)


@pytest.mark.parametrize("member", [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(random_state=0)])
def test_one_against_the_rest_is_that_of_scikit_learn(member):
    few = X[:, :4]
    theirs = peer.OneVsRestClassifier(member).fit(few[::2], Y[::2])
    ours = Ensemble([member], diversity=OutputCodes("rest"), combiner=Decode("absolute")).fit(few[::2], Y[::2])
    for mine, other in zip(ours.fitted_members_.members, theirs.estimators_, strict=True):
        np.testing.assert_allclose(mine.predict(few, proba=True)[:, 1], other.predict_proba(few)[:, 1])
    scores = np.stack([one.predict_proba(few)[:, 1] for one in theirs.estimators_], axis=1)
    clear = np.sort(scores, axis=1)[:, -1] > np.sort(scores, axis=1)[:, -2]
    np.testing.assert_array_equal(ours.predict(few)[clear], theirs.predict(few)[clear])


def test_one_against_one_is_that_of_scikit_learn():
    few = X[:, :3]
    theirs = peer.OneVsOneClassifier(LogisticRegression()).fit(few[::2], Y[::2])
    ours = Ensemble([LogisticRegression()], diversity=OutputCodes("pairs"), combiner=Decode("hamming"))
    ours.fit(few[::2], Y[::2])
    votes = np.array([one.predict(few) for one in theirs.estimators_])
    np.testing.assert_array_equal(np.array([m.predict(few, proba=False) for m in ours.fitted_members_.members]), votes)
    np.testing.assert_array_equal(ours.predict(few), theirs.predict(few))


def test_a_code_of_scikit_learn_is_decoded_alike():
    digits, y = load_digits(return_X_y=True)
    digits, y = digits[:400] / 16.0, y[:400]
    theirs = peer.OutputCodeClassifier(GaussianNB(var_smoothing=1e-2), code_size=2, random_state=0).fit(digits, y)
    code = theirs.code_book_.T.astype(int)
    ours = ecoc(GaussianNB(var_smoothing=1e-2), code, by="squared").fit(digits, y)
    np.testing.assert_array_equal(ours.predict(digits), theirs.predict(digits))


def test_exhaustive_codes_correct_errors():
    code = OutputCodes("exhaustive")._letters(None, 5)
    assert code.shape == (15, 5)
    assert len({tuple(row) for row in code}) == 15
    gaps = [(code[:, a] != code[:, b]).sum() for a in range(5) for b in range(a)]
    assert set(gaps) == {8}  # 2^(5-2): three wrong letters are put right
    for c in range(5):
        letters = code[:, c].astype(float)
        letters[[0, 4, 9]] = 1 - letters[[0, 4, 9]]
        proba = np.stack([1 - letters, letters], axis=1)[:, None]
        for by in ("hamming", "absolute", "squared", "log", "coupling"):
            said = Decode(by).combine(MemberPredictions(proba, np.ones(15), 5, code))
            assert said.argmax() == c
            np.testing.assert_allclose(said.sum(), 1)


def test_random_codes_tell_many_classes_apart():
    digits, y = load_digits(return_X_y=True)
    model = ecoc(DecisionTreeClassifier(max_depth=6), random_state=0).fit(digits[::2], y[::2])
    assert len(model.members_) == int(np.ceil(10 * np.log2(10)))
    plain = DecisionTreeClassifier(max_depth=6, random_state=0).fit(digits[::2], y[::2])
    assert model.score(digits[1::2], y[1::2]) > plain.score(digits[1::2], y[1::2]) + 0.1
    with pytest.raises(InputError, match="too small to distinguish 10 classes"):
        ecoc(GaussianNB(), "random", length=3).fit(digits, y)


def test_coupling_finds_the_probabilities_behind_the_letters():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    for name in ("rest", "pairs", "exhaustive"):
        code = OutputCodes(name)._letters(None, 4)
        above, below = p @ (code == 1).T, p @ (code == 0).T
        said = (above / (above + below)).T
        panel = MemberPredictions(np.stack([1 - said, said], axis=2), np.ones(len(code)), 4, code)
        np.testing.assert_allclose(Decode("coupling").combine(panel), p, atol=2e-3)


def test_codes_of_members_without_probabilities_of_two_classes_and_of_labels():
    model = ecoc(LinearSVC(), "exhaustive").fit(X, np.array(["x", "y", "z"])[Y])
    assert model.score(X, np.array(["x", "y", "z"])[Y]) > 0.95
    two = ecoc(GaussianNB()).fit(X[Y < 2], Y[Y < 2])
    np.testing.assert_allclose(two.predict_proba(X), GaussianNB().fit(X[Y < 2], Y[Y < 2]).predict_proba(X), atol=1e-5)
    bagged = Ensemble(GaussianNB(), diversity=["bootstrap", OutputCodes("pairs")], size=4, combiner="decode").fit(X, Y)
    assert len(bagged.members_) == 12
    for code, words in (
        ([[0, 1]], "one column for each of the 3 classes"),
        ([[0, 0, -1]], "each row of code must contain 0 and 1"),
    ):
        with pytest.raises(InputError, match=words):
            ecoc(GaussianNB(), code).fit(X, Y)
    with pytest.raises(InputError, match=r"code must be one of .*got 'bch'"):
        ecoc(GaussianNB(), "bch").fit(X, Y)
    with pytest.raises(InputError, match="needs members with recoded classes"):
        Ensemble(GaussianNB(), combiner="decode").fit(X, Y)


def test_artificial_rows_look_like_the_columns():
    rng = np.random.default_rng(0)
    columns = mixed_columns(rng, 400, missing=0.1)
    chance = np.random.RandomState(0)
    for make in (pl.DataFrame, pd.DataFrame):
        frame = make(columns)
        made = artificial_rows(frame, 4000, chance)
        assert list(made.columns) == list(frame.columns)
        assert list(made.dtypes) == list(frame.dtypes)
        size = np.asarray(made["size"], dtype=float)
        present = np.array([v for v in columns["size"] if v is not None])
        assert abs(size.mean() - present.mean()) < 4 * present.std() / np.sqrt(4000)
        assert abs(size.std() - present.std(ddof=1)) < 0.15
        grades = pd.Series(list(made["grade"])).value_counts(normalize=True)
        there = [v for v in columns["grade"] if v is not None]
        for grade in "abcd":
            assert abs(grades[grade] - (there.count(grade) + 1) / (len(there) + 4)) < 0.03
    whole = artificial_rows(np.arange(20).reshape(10, 2), 5, chance)
    assert whole.shape == (5, 2)


def test_decorate_keeps_a_member_only_if_the_error_does_not_rise():
    few = np.arange(0, 178, 5)
    model = decorate(DecisionTreeClassifier(max_depth=1), 8, random_state=0).fit(X[few], Y[few])
    errors = model.fitted_members_.history["errors"]
    assert len(errors) == len(model.members_) > 1
    assert all(b <= a for a, b in itertools.pairwise(errors))
    first = model.members_[0]
    assert errors[0] == np.mean(first.predict(X[few]) != Y[few])
    so_far = np.cumsum([one.predict_proba(X[few]) for one in model.members_], axis=0)
    np.testing.assert_allclose(errors, [np.mean(said.argmax(axis=1) != Y[few]) for said in so_far])
    # members disagree on rows that nobody has seen, which is what the artificial rows are for
    plain = decorate(DecisionTreeClassifier(max_depth=1), 8, share=1e-9, random_state=0).fit(X[few], Y[few])
    apart, alike = (np.ptp([one.predict(X) for one in m.members_], axis=0).mean() for m in (model, plain))
    assert apart > alike


def test_decorate_by_votes_watches_the_error_of_the_vote():
    few = np.arange(0, 178, 3)
    model = decorate(DecisionTreeClassifier(max_depth=2), 10, trials=30, combiner="vote", random_state=1)
    model.fit(X[few], Y[few])
    votes = np.cumsum([np.eye(3)[one.predict(X[few])] for one in model.members_], axis=0)
    errors = [np.mean(said.argmax(axis=1) != Y[few]) for said in votes]
    np.testing.assert_allclose(model.fitted_members_.history["errors"], errors)
    assert errors[-1] == np.mean(model.predict(X[few]) != Y[few])
    assert all(b <= a for a, b in itertools.pairwise(errors))


@pytest.mark.parametrize("diversity", ["bootstrap", Bootstrap(by="weights"), "poisson"])
def test_decorate_beside_another_diversity(diversity):
    """Artificial rows come to a member's own sample: they are not left out with the rows that were not drawn."""
    model = decorate(Counting(), 3, trials=40, diversity=diversity, random_state=0).fit(X, Y)
    first, *others = (one.n_ for one in model.members_)
    assert 130 < first < 230  # 178, if not by a PoissonBootstrap draw
    assert others
    assert all(300 < n < 420 for n in others)


def test_decorate_of_frames_with_categories():
    frame = pl.DataFrame(mixed_columns(np.random.default_rng(1), 120))
    y = (np.arange(120) % 3 == 0).astype(int)
    model = decorate(NaiveBayes(), 5, trials=8, random_state=0).fit(frame, y)
    assert model.predict_proba(frame).shape == (120, 2)
    again = decorate(NaiveBayes(), 5, trials=8, random_state=0).fit(frame, y)
    np.testing.assert_allclose(again.predict_proba(frame), model.predict_proba(frame), rtol=1e-10)


def test_grading_by_hand():
    members = {"bayes": GaussianNB(), "near": KNeighborsClassifier(3), "tree": DecisionTreeClassifier(random_state=0)}
    cv = StratifiedKFold(5)
    few = X[:, :2]
    model = grading(members, KNeighborsClassifier(9), cv=cv).fit(few, Y)
    graders = [
        KNeighborsClassifier(9).fit(few, (cross_val_predict(one, few, Y, cv=cv) == Y).astype(int))
        for one in members.values()
    ]
    asked = np.random.default_rng(0).normal(0, 1.5, (60, 2))
    expected, fallen = [], 0
    for row in asked[:, None]:
        votes = np.zeros(3)
        said = [one.fit(few, Y).predict(row)[0] for one in members.values()]
        for label, grader in zip(said, graders, strict=True):
            sure = grader.predict_proba(row)[0, 1]
            if sure > 0.5:
                votes[label] += sure
        if not votes.any():
            fallen += 1
            votes = np.bincount(said, minlength=3)
        expected.append(votes / votes.sum())
    np.testing.assert_allclose(model.predict_proba(asked), expected)
    assert fallen > 0


def test_graders_of_members_that_are_always_right():
    model = grading([GaussianNB(), DecisionTreeClassifier(random_state=0)]).fit(X[Y < 2][:, [6, 12]], Y[Y < 2])
    assert model.score(X[Y < 2][:, [6, 12]], Y[Y < 2]) > 0.9
    with pytest.raises(InputError, match="grader must have predict_proba"):
        Ensemble([GaussianNB()], combiner=Grading(LinearSVC())).fit(X, Y)


def test_graders_know_the_weights_of_rows():
    few = X[:, :2]
    weights = np.random.default_rng(0).integers(1, 5, len(Y)).astype(float)
    members, cv = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)], StratifiedKFold(5)
    model = grading(members, GaussianNB(), cv=cv).fit(few, Y, weights)
    for grader, one in zip(model._fitted.rule.graders, members, strict=True):
        said = np.empty(len(Y), dtype=int)
        for train, test in cv.split(few, Y):
            said[test] = one.fit(few[train], Y[train], weights[train]).predict(few[test])
        expected = GaussianNB().fit(few, said == Y, weights)
        np.testing.assert_allclose(grader.predict_proba(few), expected.predict_proba(few))


@pytest.mark.parametrize(
    "combiner",
    [
        ArbiterTree(RandomForestClassifier(3)),
        Grading(RandomForestClassifier(3), cv=3),
        Stacking(RandomForestClassifier(3), cv=3),
        Stacking(make_pipeline(StandardScaler(), RandomForestClassifier(3)), cv=3),
    ],
)
def test_what_combiners_train_is_seeded_too(combiner):
    few = X[:, :2]
    models = [
        Ensemble(DecisionTreeClassifier(max_depth=2), diversity=RowParts(), size=4, combiner=combiner, random_state=5)
        for _ in range(2)
    ]
    one, other = (model.fit(few, Y).predict_proba(few) for model in models)
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_small_tables_have_fewer_folds():
    """No class has ten rows, nor five; the folds are as many as the largest class has rows."""
    rows = np.r_[0:4, 60:63, 140:143]
    members = [GaussianNB(), DecisionTreeClassifier(random_state=0)]
    for model in (grading(members, GaussianNB()), stacking(members), weighted_vote(members), greedy_selection(members)):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            model.fit(X[rows][:, :2], Y[rows])
        assert model.predict_proba(X[:, :2]).shape == (178, 3)
    four = weighted_vote(members, cv=4)
    five = weighted_vote(members)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        said = [model.fit(X[rows][:, :2], Y[rows]).predict_proba(X[:, :2]) for model in (four, five)]
    np.testing.assert_allclose(*said, rtol=1e-10)


@pytest.mark.parametrize("wrong", [False, True])
def test_an_arbiter_by_hand(wrong):
    few = X[:, :2]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = Ensemble(tree, diversity=RowParts(), size=2, combiner=ArbiterTree(tree, wrong), random_state=0)
    model.fit(few, Y)
    left, right = model.members_
    a, b = left.predict(few), right.predict(few)
    rows = (a != b) | (wrong & (a != Y) & (b != Y))
    arbiter = DecisionTreeClassifier(max_depth=2, random_state=0).fit(few[rows], Y[rows])
    asked = np.random.default_rng(0).normal(0, 1.5, (200, 2))
    one, other = left.predict(asked), right.predict(asked)
    np.testing.assert_array_equal(model.predict(asked), np.where(one == other, one, arbiter.predict(asked)))
    assert (one != other).any()


@pytest.mark.parametrize("size", [1, 3, 5, 8])
def test_arbiter_trees_of_any_size(size):
    model = arbiter_tree(DecisionTreeClassifier(max_depth=3), size, random_state=0).fit(X[::2], Y[::2])
    assert model.score(X[1::2], Y[1::2]) > 0.6
    alike = arbiter_tree(KNeighborsClassifier(1), 2, random_state=0).fit(*load_iris(return_X_y=True))
    assert set(np.unique(alike.predict_proba(load_iris().data))) == {0.0, 1.0}


def test_recipes_beat_or_match_their_members():
    weak = DecisionTreeClassifier(max_depth=2, random_state=0)
    alone = cross_val_score(weak, X, Y, cv=5).mean()
    assert cross_val_score(decorate(weak, 10, random_state=0), X, Y, cv=5).mean() > alone
    assert cross_val_score(ecoc(weak, random_state=0), X, Y, cv=5).mean() > alone - 0.02
