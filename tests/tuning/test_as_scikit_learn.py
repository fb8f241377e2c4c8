"""Cases in which a search could easily part from scikit-learn's: found by fuzzing, each kept as a test."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import model_selection as peer
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_validate
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC

from foldwise import (
    Confusion,
    CostMatrix,
    GridSearchCV,
    NaiveBayes,
    RandomizedSearchCV,
    SearchCV,
    cross_predict,
    nested_cv,
)
from foldwise.errors import InputError
from foldwise.tuning import Random
from tests.searches import assert_same_choice, assert_same_ranks, first_best
from tests.slow import slow

PROBABILISTIC = ["neg_log_loss", "roc_auc_ovr", "average_precision", *slow("roc_auc_ovr_weighted")]


def both(estimator, grid, X, y, fit_params=None, **options):
    found = []
    for kind in (GridSearchCV, peer.GridSearchCV):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(kind(estimator, grid, **options).fit(X, y, **(fit_params or {})))
    return found


def assert_equal(ours, theirs):
    for key, expected in theirs.cv_results_.items():
        if key.startswith(("split", "mean_t")):
            np.testing.assert_allclose(ours.cv_results_[key], expected, rtol=1e-10, atol=1e-10, err_msg=key)
        elif key.startswith("rank"):
            assert_same_ranks(ours.cv_results_, theirs.cv_results_, key.removeprefix("rank_test_"))
    if hasattr(theirs, "best_index_"):
        assert_same_choice(ours, theirs, theirs.refit if isinstance(theirs.refit, str) else "score")


@pytest.mark.parametrize("scoring", PROBABILISTIC)
@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
@pytest.mark.parametrize(
    "estimator", [GaussianNB(), BernoulliNB(), MultinomialNB(), ComplementNB(), CategoricalNB(min_categories=9)]
)
def test_probabilities_that_saturate_or_tie(estimator, seed, scoring):
    rng = np.random.default_rng(seed)
    n_classes = 2 if scoring == "average_precision" else 2 + seed % 2
    y = rng.integers(0, n_classes, 90)
    X = np.minimum(rng.integers(0, 3, (90, 3 + 8 * (seed % 2))) + 3 * (y[:, None] == 1), 8)
    gaussian = isinstance(estimator, GaussianNB)
    grid = {"var_smoothing": np.logspace(-12, 0, 7)} if gaussian else {"alpha": np.logspace(-4, 1, 7)}
    for table in (X, pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])):
        assert_equal(*both(estimator, grid, table, y, cv=4, scoring=scoring))


@pytest.mark.parametrize("estimator", [GaussianNB(), CategoricalNB(min_categories=3), MultinomialNB()])
def test_weights_with_fractions(estimator, rng):
    X, y = rng.integers(0, 3, (80, 4)), rng.integers(0, 2, 80)
    grid = {"var_smoothing": [1e-9, 0.1]} if isinstance(estimator, GaussianNB) else {"alpha": [0.1, 1.0]}
    weights = {"sample_weight": rng.random(80)}
    for scoring in ("neg_log_loss", "roc_auc"):
        assert_equal(*both(estimator, grid, X, y, weights, cv=4, scoring=scoring))


class Rejecting(ClassifierMixin, BaseEstimator):
    """Answers with a label that is no class."""

    def __init__(self, threshold=0.0, label=-1):
        self.threshold, self.label = threshold, label

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] > self.threshold, self.label, self.classes_[0])


@pytest.mark.parametrize("label", [-1, 99])
@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", None])
def test_labels_outside_the_classes(label, scoring, rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    assert_equal(*both(Rejecting(label=label), {"threshold": [-1, 0, 1]}, X, y, cv=3, scoring=scoring))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = peer.cross_val_predict(Rejecting(label=label), X, y, cv=3)
    np.testing.assert_array_equal(cross_predict(Rejecting(label=label), X, y, cv=3), expected)


@pytest.mark.parametrize("estimator", [HistGradientBoostingClassifier(random_state=0), LinearDiscriminantAnalysis()])
def test_a_training_fold_of_one_class(estimator, rng):
    X, y = rng.normal(size=(60, 2)), np.sort(rng.integers(0, 3, 60))
    grid = {"max_iter": [1, 2]} if "Hist" in type(estimator).__name__ else {"priors": [None]}
    for scoring in ("accuracy", ["accuracy", "neg_log_loss"]):
        assert_equal(*both(estimator, grid, X, y, cv=TimeSeriesSplit(3), scoring=scoring, refit=False))


def test_decision_values_of_a_model_that_a_setting_brings(rng):
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    grid = {"estimator": [LinearSVC(random_state=0), None]}
    assert_equal(*both(BaggingClassifier(random_state=0), grid, X, y, cv=3, scoring="roc_auc"))


@pytest.mark.parametrize("form", ["coo", "dia", "bsr", "csc", "lil", "dok"])
@pytest.mark.parametrize("estimator", [LogisticRegression(), MultinomialNB()])
def test_sparse_matrices_of_every_form(form, estimator):
    X, y = sp.random(60, 5, density=0.5, random_state=0).asformat(form), np.arange(60) % 3
    grid = {"C": [1]} if isinstance(estimator, LogisticRegression) else {"alpha": [0.5, 1.0]}
    assert_equal(*both(estimator, grid, X, y, cv=3))


def test_thresholds_in_the_precision_of_the_table(rng):
    X, y = rng.choice([0.05, 0.1, 0.2], (60, 4)).astype(np.float32), rng.integers(0, 2, 60)
    assert_equal(*both(BernoulliNB(binarize=0.1), {"alpha": [0.1, 1.0]}, X, y, cv=3))


def test_unlabeled_rows_are_no_class(rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(-1, 2, 60)
    model = SelfTrainingClassifier(LogisticRegression())
    assert_equal(*both(model, {"threshold": [0.6, 0.9]}, X, y, cv=KFold(3), scoring="neg_log_loss"))


def test_generators_begin_anew_in_each_outer_fold(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    grid = {"var_smoothing": [1e-9, 0.1]}
    for ours, theirs in (
        [
            kind(GaussianNB(), grid, cv=KFold(3, shuffle=True, random_state=np.random.RandomState(0)))
            for kind in (GridSearchCV, peer.GridSearchCV)
        ],
        [
            kind(GaussianNB(), {"var_smoothing": [10.0**-k for k in range(9)]}, n_iter=3, cv=3, random_state=seed)
            for kind, seed in zip(
                (RandomizedSearchCV, peer.RandomizedSearchCV),
                (np.random.RandomState(1), np.random.RandomState(1)),
                strict=True,
            )
        ],
    ):
        found = nested_cv(ours, X, y, cv=4)
        expected = cross_validate(theirs.set_params(refit=first_best), X, y, cv=4, return_estimator=True)
        np.testing.assert_allclose(found.scores, expected["test_score"], rtol=1e-10)
        for one, other in zip(found.inner, expected["estimator"], strict=True):
            np.testing.assert_allclose(one["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-10)


def test_outer_scores_are_not_weighted(rng):
    X, y, w = rng.normal(size=(80, 3)), rng.integers(0, 2, 80), rng.random(80)
    for search in (GridSearchCV, peer.GridSearchCV):
        found = nested_cv(search(GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, cv=3), X, y, cv=4, sample_weight=w)
        theirs = peer.GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, cv=3)
        expected = cross_validate(theirs.set_params(refit=first_best), X, y, cv=4, params={"sample_weight": w})
        np.testing.assert_allclose(found.scores, expected["test_score"], rtol=1e-10)


class Counting(ClassifierMixin, BaseEstimator):
    fits = 0

    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, X, y):
        Counting.fits += 1
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_train_scores_are_of_the_same_models(rng):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    Counting.fits = 0
    search = GridSearchCV(Counting(), {"depth": [1, 2]}, cv=3, return_train_score=True, refit=False).fit(X, y)
    assert (Counting.fits, search.fits_done_) == (6, 6)
    model = HistGradientBoostingClassifier(random_state=0)
    options = {"cv": 3, "return_train_score": True, "scoring": ["accuracy", "neg_log_loss"], "refit": False}
    ours, theirs = both(model, {"max_iter": [2, 4]}, X, y, **options)
    assert_equal(ours, theirs)


def test_the_audit_does_not_accuse_a_model_of_its_own_rounding_or_chance():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 200)
        X = np.c_[1.7e9 + rng.uniform(0, 3600, 200), rng.normal(size=200)]  # the seconds of one hour
        for model, grid in ((GaussianNB(), {"var_smoothing": [1e-9, 0.1]}), (NaiveBayes(), {"ddof": [0, 1]})):
            GridSearchCV(model, grid, cv=3, scoring="neg_log_loss", refit=False).fit(X, y)

    class Chancy(ClassifierMixin, BaseEstimator):
        def __init__(self, depth=1):
            self.depth = depth

        def fit(self, X, y):
            self.classes_, self.first_ = np.unique(y), np.random.random()  # noqa: NPY002
            return self

        def predict(self, X):
            return self.classes_[(X[:, 0] > self.first_).astype(int)]

    np.random.seed(0)  # noqa: NPY002
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    GridSearchCV(make_pipeline(StandardScaler(), Chancy()), {"chancy__depth": [1, 2, 3]}, cv=3).fit(X, y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y: nested_cv(GaussianNB(), X, y), "needs a search such as GridSearchCV, got GaussianNB"),
        (lambda X, y: GridSearchCV(GaussianNB(), {}, scoring=[]).fit(X, y), "scoring must name at least one metric"),
        (lambda X, y: GridSearchCV(GaussianNB(), {}, error_score="rasie").fit(X, y), "a number or 'raise'"),
        (lambda X, y: GridSearchCV(GaussianNB(), {}, n_jobs="2").fit(X, y), "n_jobs must be None or an integer"),
        (lambda X, y: GridSearchCV(GaussianNB(), {}).fit(X), "needs a target, but y is None"),
        (
            lambda X, y: GridSearchCV(GaussianNB(), {}).fit(X, y, sample_weight=[1, 2]),
            r"sample_weight must have one value per row of X \(40\), got 2",
        ),
        (lambda X, y: SearchCV(GaussianNB(), {}, strategy=Random).fit(X, y), "Random is a class"),
        (
            lambda X, y: GridSearchCV(make_pipeline(GaussianNB()), {"gaussiannb__var": [1]}).fit(X, y),
            "'gaussiannb__var'.*its parameters include .*gaussiannb__var_smoothing",
        ),
        (
            lambda X, y: GridSearchCV(GaussianNB(), {}, refit=lambda r: 7).fit(X, y),
            "refit returned 7",
        ),
        (lambda X, y: nested_cv(GridSearchCV(GaussianNB(), {}), X, np.r_[np.nan, y[1:]]), "target is missing"),
        (lambda X, y: cross_predict(GaussianNB(), X, np.r_[np.nan, y[1:]]), "target is missing"),
        (lambda X, y: nested_cv(GridSearchCV(GaussianNB(), {}), X, y).interval(95), "between 0 and 1"),
        (lambda X, y: CostMatrix.from_dict([[0, 1], [1, 0]]), "action: {true class: cost}"),
        (
            lambda X, y: GridSearchCV(GaussianNB(), {}, cv=peer.StratifiedShuffleSplit(3)).fit(
                X, np.r_[np.zeros(39), 1]
            ),
            "(?s)^(?!.*needs groups)",
        ),
    ],
)
def test_messages(call, words, rng):
    with pytest.raises((TypeError, ValueError, IndexError), match=words):
        call(rng.normal(size=(40, 2)), np.arange(40) % 2)


def test_a_strategy_that_proposes_no_list(rng):
    class Wrong:
        def propose(self, space, trials, rng):
            return {"var_smoothing": 1}

    with pytest.raises(TypeError, match="propose must return a list of settings"):
        SearchCV(GaussianNB(), {}, strategy=Wrong()).fit(rng.normal(size=(40, 2)), np.arange(40) % 2)


def test_one_outer_fold_and_outer_folds_that_fail(rng, capsys):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=[(np.arange(10), np.arange(10, 20))], verbose=1)
    one = nested_cv(search, X, y, cv=[(np.arange(20), np.arange(20, 40))])
    assert "nested cross-validation, 2 models scored" in repr(one)
    assert "%" not in repr(one)
    X[30, 0] = np.nan
    with pytest.raises(InputError, match=r"the only outer fold failed, with .*contains NaN"):
        nested_cv(search, X, y, cv=[(np.arange(20), np.arange(20, 40))])
    halves = [(np.arange(20), np.arange(20, 40)), (np.arange(10, 30), np.arange(10))]
    with pytest.warns(UserWarning, match="an outer fold failed, so its score is nan"):
        assert np.isnan(nested_cv(search, X, y, cv=halves).scores).tolist() == [True, False]
    search.fit(X[:20], y[:20])
    assert capsys.readouterr().out == "Fitting 1 folds for each of 1 candidates, totalling 1 fits\n"


def test_probabilities_with_named_columns_are_taken_by_name():
    costs = CostMatrix.from_dict({"keep": {"spam": 10, "ham": 0}, "delete": {"spam": 0, "ham": 100}})
    proba = np.array([[0.99, 0.01], [0.2, 0.8]])
    expected = costs.decide(proba).action.tolist()
    frame = pd.DataFrame(proba, columns=["spam", "ham"])
    assert costs.decide(frame).action.tolist() == expected
    assert costs.decide(frame[["ham", "spam"]]).action.tolist() == expected
    with pytest.raises(InputError, match="must be the classes in their order"):
        costs.decide(pd.DataFrame(proba, columns=["a", "b"]))


def test_shares_are_printed_without_rates():
    shares = Confusion.of(list("aabb"), list("abbb")).normalized()
    assert str(shares).count("\n") == 2


@pytest.mark.parametrize("far", [1e6, 1e9])  # farther off its own scores change with the order of rows
def test_columns_in_which_scikit_learn_itself_rounds(far, rng):
    X, y = far + rng.integers(0, 4, (60, 3)), np.arange(60) % 2
    grid = {"var_smoothing": [0, 1e-12, 1e-9, 0.1]}
    for scoring in ("accuracy", "neg_log_loss"):
        assert_equal(*both(GaussianNB(), grid, X, y, cv=4, scoring=scoring))


def test_train_scores_where_only_the_test_rows_cannot_be_scored(rng):
    X, y = rng.normal(size=(40, 2)), np.r_[np.arange(20) % 2, np.zeros(20, int)]
    options = {"cv": [(np.arange(20), np.arange(20, 40))], "scoring": "roc_auc", "return_train_score": True}
    ours, theirs = both(LogisticRegression(), {"C": [0.1, 1.0]}, X, y, **options)
    np.testing.assert_allclose(ours.cv_results_["mean_train_score"], theirs.cv_results_["mean_train_score"], rtol=1e-10)
