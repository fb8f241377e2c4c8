"""`Balanced`: what each method shows the classifier, priors corrected back, SMOTE on mixed columns, the fold law."""

from __future__ import annotations

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE, SMOTENC
from imblearn.under_sampling import NearMiss
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import Balanced, Calibrated, CostSensitive, GridSearchCV, KNNClassifier, NaiveBayes
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds import open_session
from foldwise.testing import check_foldable
from tests.conftest import mixed_columns
from tests.slow import slow

UNEQUAL = "rows are drawn, however often each counts"


def expected(model):
    if model.method == "weights":
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": UNEQUAL for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects, weights below 1
@parametrize_with_checks(
    [Balanced(NaiveBayes()), Balanced(NaiveBayes(), "under", correct_priors=True, random_state=0)],
    expected_failed_checks=expected,
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects, weights below 1
@parametrize_with_checks(
    [
        Balanced(LogisticRegression(), correct_priors=True),
        Balanced(NaiveBayes(), "over", random_state=0),
        Balanced(LogisticRegression(), "smote", random_state=0),
    ],
    expected_failed_checks=expected,
)
def test_the_checks_of_scikit_learn_on_other_settings(estimator, check):
    check(estimator)


@pytest.fixture
def unequal(rng):
    X, y = make_classification(300, n_informative=4, n_classes=3, weights=[0.8, 0.15, 0.05], random_state=0)
    return np.round(X, 3), y


def test_weights_are_scikit_learns(unequal):
    X, y = unequal
    ours = Balanced(LogisticRegression()).fit(X, y)
    peer = LogisticRegression(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    again = LogisticRegression().fit(X, y, compute_sample_weight("balanced", y))
    np.testing.assert_allclose(ours.decision_function(X), again.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(ours.shown_, 1 / 3)
    np.testing.assert_allclose(ours.priors_, np.bincount(y) / 300)
    piped = Balanced(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    whole = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")).fit(X, y)
    np.testing.assert_allclose(piped.predict_proba(X), whole.predict_proba(X), atol=1e-6)


class Recorder(NaiveBayes):
    def fit(self, X, y, sample_weight=None):
        self.rows_, self.labels_ = np.asarray(X), np.asarray(y)
        super().fit(X, y, sample_weight)
        return self

    def _become(self, fresh):
        rows, labels = self.rows_, self.labels_
        super()._become(fresh)
        self.rows_, self.labels_ = rows, labels
        return self


def test_rows_that_are_shown(unequal):
    X, y = unequal
    counts = np.bincount(y)
    under = Balanced(Recorder(), "under", random_state=3).fit(X, y).estimator_
    assert np.bincount(under.labels_).tolist() == [counts.min()] * 3
    assert len(np.unique(under.rows_, axis=0)) == 3 * counts.min()  # none twice
    over = Balanced(Recorder(), "over", random_state=3).fit(X, y).estimator_
    assert np.bincount(over.labels_).tolist() == [counts.max()] * 3
    assert {tuple(row) for row in over.rows_} == {tuple(row) for row in X}
    truth = {tuple(row): label for row, label in zip(X, y, strict=True)}
    assert all(truth[tuple(row)] == label for row, label in zip(over.rows_, over.labels_, strict=True))
    same = [Balanced(NaiveBayes(), "over", random_state=seed).fit(X, y).predict_proba(X) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(same[0], same[1])
    assert (same[0] != same[2]).any()
    drawn = Balanced(NaiveBayes(), "under", random_state=np.random.default_rng(0)).fit(X, y)
    np.testing.assert_allclose(drawn.shown_, 1 / 3)


def test_priors_corrected_back_are_those_of_the_plain_model(unequal):
    X, y = unequal
    exact = NaiveBayes(ddof=0)
    plain, back = exact.fit(X, y).predict_log_proba(X), Balanced(exact, correct_priors=True).fit(X, y)
    np.testing.assert_allclose(back.predict_log_proba(X), plain, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(back.predict(X), exact.predict(X))
    uniform = NaiveBayes(ddof=0, priors="uniform").fit(X, y)
    np.testing.assert_allclose(Balanced(exact).fit(X, y).predict_log_proba(X), uniform.predict_log_proba(X), atol=1e-9)
    voted = Balanced(KNNClassifier(25), "over", correct_priors=True, random_state=0).fit(X, y)
    before = voted.estimator_.predict_proba(X) * voted.priors_ / voted.shown_
    np.testing.assert_allclose(voted.predict_proba(X), before / before.sum(axis=1, keepdims=True), atol=1e-12)


def test_smote_is_that_of_imbalanced_learn(unequal):
    X, y = unequal
    ours = Balanced(Recorder(), "smote", random_state=5).fit(X, y).estimator_
    seed = int(np.random.RandomState(5).randint(np.iinfo(np.int32).max))
    made, labels = SMOTE(random_state=seed).fit_resample(X, y)
    np.testing.assert_array_equal(ours.rows_, made)
    np.testing.assert_array_equal(ours.labels_, labels)
    sampled = Balanced(Recorder(), NearMiss()).fit(X, y).estimator_
    np.testing.assert_array_equal(sampled.rows_, NearMiss().fit_resample(X, y)[0])


@pytest.mark.parametrize("library", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_smote_on_mixed_columns(library, rng):
    columns = mixed_columns(rng, 120, missing=0.0)
    columns["rings"] = [int(value) for value in columns["rings"]]
    columns["grade"][0] = None  # a missing category is one of its own
    X, y = library(columns), rng.choice(["x", "y"], 120, p=[0.85, 0.15])
    seen = []

    class Shown(NaiveBayes):
        def fit(self, X, y, sample_weight=None):
            seen.append((X, y))
            return super().fit(X, y, sample_weight)

    model = Balanced(Shown(), "smote", random_state=0).fit(X, y)
    [(shown, labels)] = seen
    assert list(shown.columns) == list(X.columns)
    assert list(shown.dtypes) == list(X.dtypes)
    assert sorted(np.unique(labels, return_counts=True)[1].tolist()) == [max((y == "x").sum(), (y == "y").sum())] * 2
    assert set(shown["color"]) <= set(columns["color"])
    assert shown["rings"].max() <= max(columns["rings"])
    assert model.predict(X).shape == (120,)
    only = library({"color": columns["color"], "grade": columns["color"]})
    assert Balanced(NaiveBayes(), "smote", random_state=0).fit(only, y).shown_.tolist() == [0.5, 0.5]
    codes = np.column_stack([columns["size"], np.unique(columns["color"], return_inverse=True)[1]])
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    theirs = SMOTENC([1], random_state=seed).fit_resample(codes, y)[0]
    both = library({"size": columns["size"], "color": columns["color"]})
    Balanced(Shown(), "smote", random_state=0).fit(both, y)
    np.testing.assert_allclose(np.asarray(seen[-1][0]["size"]), theirs[:, 0])


def test_a_class_of_one_row_is_copied(rng):
    X, y = rng.normal(size=(30, 2)), np.array([0] * 29 + [1])
    for method in ("smote", "over", "under", "weights"):
        assert Balanced(NaiveBayes(), method, random_state=0).fit(X, y).shown_ == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("weighted", [True, *slow(False)])
@pytest.mark.parametrize(
    "inner",
    [NaiveBayes(), KNNClassifier(), pytest.param(LogisticRegression(), marks=pytest.mark.slow)],
    ids=lambda m: type(m).__name__,
)
def test_the_fold_law(inner, weighted, unequal, rng):
    X, y = unequal
    params = {"sample_weight": rng.integers(0, 3, len(y)).astype(float)} if weighted else None
    methods = ("weights", "over", "under", "smote", "wrong")
    name = {"NaiveBayes": "var_floor", "KNNClassifier": "n_neighbors", "LogisticRegression": "C"}[type(inner).__name__]
    settings = [
        {"method": method, "correct_priors": correct, f"estimator__{name}": value}
        for method in methods
        for correct in (False, True)
        for value in (1, 2)
    ]
    splits = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    splits.append((np.flatnonzero(y != 2)[::2], np.arange(1, len(y), 2)))  # a class is lost
    check_foldable(Balanced(inner, random_state=0), X, y, settings, splits, params)


def test_stacks_and_sharing(unequal):
    X, y = unequal
    settings = [
        {"estimator__method": m, "estimator__estimator__correct_priors": c}
        for m in ("temperature", "sigmoid")
        for c in (False, True)
    ]
    model = CostSensitive(Calibrated(Balanced(NaiveBayes())))
    check_foldable(model, X, y, settings, list(StratifiedKFold(2).split(X, y)))
    assert open_session(Balanced(NaiveBayes()), X, y).shares == "summaries"
    assert open_session(Balanced(NaiveBayes(), "over"), X, y).shares == "refit"  # drawn anew each time
    assert open_session(Balanced(NaiveBayes(), "over", random_state=1), X, y).lazy({}) >= {
        "correct_priors",
        "estimator__alpha",
    }


def test_any_number_of_workers(unequal):
    X, y = unequal
    grid = {"method": ["weights", "over", "smote"], "estimator__var_floor": [1e-9, 0.1]}
    one, two = (
        GridSearchCV(Balanced(NaiveBayes(), random_state=0), grid, cv=3, n_jobs=n, scoring="balanced_accuracy").fit(
            X, y
        )
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


def test_bad_input(unequal, monkeypatch):
    X, y = unequal
    with pytest.raises(InputError, match="method must be one of 'weights', 'under'"):
        Balanced(NaiveBayes(), "sideways").fit(X, y)
    with pytest.raises(FoldwiseTypeError, match="fit_resample"):
        Balanced(NaiveBayes(), 3).fit(X, y)
    with pytest.raises(InputError, match=r"KNeighborsClassifier\.fit does not accept them"):
        Balanced(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(InputError, match="no predict_proba"):
        Balanced(LinearSVC(), correct_priors=True).fit(X, y)
    with pytest.raises(InputError, match="every sample weight is zero"):
        Balanced(NaiveBayes()).fit(X, y, np.zeros(len(y)))
    gappy = X.copy()
    gappy[7, 2] = np.nan
    with pytest.raises(InputError, match="column 'x2' contains NaN or infinity in row 7"):
        Balanced(NaiveBayes(), "smote").fit(gappy, y)
    assert Balanced(NaiveBayes(), "over", random_state=0).fit(gappy, y).score(X, y) > 0.3
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("imblearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"foldwise\[balance\]"):
        Balanced(NaiveBayes(), "smote").fit(X, y)
