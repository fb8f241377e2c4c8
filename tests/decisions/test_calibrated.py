"""`Calibrated`: scikit-learn's numbers on the same scores, the twins of each method, the fold law, clear errors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import Calibrated, CostSensitive, GridSearchCV, KNNClassifier, NaiveBayes
from foldwise.decisions.calibration import CalibrationData, fit_calibrator
from foldwise.decisions.calibration.scores import MIN_LOG_PROBA, ClassScores, finite_scores
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds import open_session
from foldwise.testing import check_foldable
from tests.conftest import mixed_columns

MAPS = ("temperature", "sigmoid", "isotonic", "dirichlet")


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects, weights below 1
@parametrize_with_checks([Calibrated(NaiveBayes(), method="isotonic", cv=3)])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects, weights below 1
@parametrize_with_checks(
    [
        Calibrated(NaiveBayes()),
        Calibrated(NaiveBayes(), method="temperature"),
        Calibrated(LogisticRegression(), method="sigmoid"),
    ],
    expected_failed_checks=lambda model: (
        {
            "check_sample_weight_equivalence_on_sparse_data": "a row is dealt to one fold, however often it counts",
        }
        if model.method == "auto"
        else {}
    ),
)
def test_the_checks_of_scikit_learn_on_other_settings(estimator, check):
    check(estimator)


class OurScores(ClassifierMixin, BaseEstimator):
    """Naive Bayes that offers its scores as decision values, so that scikit-learn calibrates these too."""

    def __init__(self, kind="logs"):
        self.kind = kind

    def fit(self, X, y):
        self.model_ = NaiveBayes().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def decision_function(self, X):
        scores = finite_scores(self.model_.predict_log_proba(X), True)
        if len(self.classes_) == 2:
            return scores.against_rest[:, 1]
        return scores.values if self.kind == "logs" else scores.against_rest


@pytest.mark.parametrize("data", [load_breast_cancer, load_wine], ids=["two classes", "three"])
@pytest.mark.parametrize("method", ["temperature", "sigmoid", "isotonic"])
def test_the_numbers_of_scikit_learn(method, data):
    X, y = data(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape) * X.std(axis=0)  # so that not all is sure
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    peer = CalibratedClassifierCV(
        OurScores("logs" if method == "temperature" else "odds"), method=method, cv=cv, ensemble=False
    )
    peer.fit(X[train], y[train])
    ours = Calibrated(NaiveBayes(), method=method, cv=cv).fit(X[train], y[train])
    np.testing.assert_allclose(ours.predict_proba(X[test]), peer.predict_proba(X[test]), atol=2e-6)
    assert ours.method_ == method


@pytest.mark.parametrize("method", ["temperature", "sigmoid", "isotonic"])
def test_the_numbers_of_scikit_learn_for_its_own_model(method):
    X, y = make_classification(400, n_informative=4, flip_y=0.2, random_state=0)
    cv = StratifiedKFold(5, shuffle=True, random_state=2)
    inner = LogisticRegression(tol=1e-10)  # whose decision values are its log-odds
    peer = CalibratedClassifierCV(inner, method=method, cv=cv, ensemble=False).fit(X, y)
    ours = Calibrated(inner, method=method, cv=cv).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=2e-6)
    weights = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    peer.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.fit(X, y, weights).predict_proba(X), peer.predict_proba(X), atol=2e-6)


@pytest.mark.parametrize("method", ["temperature", "sigmoid", "isotonic"])
def test_a_frozen_model_is_calibrated_as_by_scikit_learn(method):
    X, y = make_classification(400, n_informative=4, flip_y=0.2, random_state=0)
    frozen = FrozenEstimator(LogisticRegression(tol=1e-10).fit(X[:200], y[:200]))
    peer = CalibratedClassifierCV(frozen, method=method, ensemble=False).fit(X[200:], y[200:])
    ours = Calibrated(frozen, method=method).fit(X[200:], y[200:])
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=2e-6)
    assert ours.estimator_.estimator is frozen.estimator


def test_prefit_names_the_frozen_estimator():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=r"got 'prefit'.*pass Calibrated\(FrozenEstimator\(model\)\)"):
        Calibrated(GaussianNB().fit(X, y), cv="prefit").fit(X, y)


def test_a_frozen_model_may_know_classes_that_calibration_rows_do_not_have():
    X, y = load_iris(return_X_y=True)
    frozen = FrozenEstimator(GaussianNB().fit(X, np.array(list("abc"))[y]))
    ours = Calibrated(frozen).fit(X[:100], np.array(list("abc"))[y[:100]])
    assert ours.predict_proba(X).shape == (150, 3)
    with pytest.raises(InputError, match="'d' in y do not exist"):
        Calibrated(frozen).fit(X[:2], ["a", "d"])


def lesson(seed, n_classes=3, n=300):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    values = rng.normal(size=(n, n_classes)) * 3 + 3 * np.eye(n_classes)[codes] * rng.uniform(0, 2, (n, 1))
    logs = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
    return CalibrationData(finite_scores(logs, True), codes, rng.uniform(0.5, 2, n))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_dirichlet_against_a_plain_search(n_classes):
    given = lesson(n_classes, n_classes)
    name, found = fit_calibrator("dirichlet", given)
    assert name == "dirichlet"
    inverse = fit_calibrator("temperature", given)[1].inverse
    X, k, share = inverse * given.scores.values, n_classes, given.weights / given.weights.sum()

    def objective(flat):
        W, b = flat[: k * k].reshape(k, k), flat[k * k :]
        z = X @ W.T + b
        logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        off = W[~np.eye(k, dtype=bool)]
        held = np.mean(off**2) + np.mean(b**2) + np.mean((np.diag(W) - 1) ** 2)
        return -share @ logs[np.arange(len(X)), given.codes] + found.penalty * held

    start = np.concatenate([np.eye(k).ravel(), np.zeros(k)])
    plain = minimize(objective, start, method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(found.weights / inverse, plain[: k * k].reshape(k, k), atol=1e-3)
    ours = np.concatenate([(found.weights / inverse).ravel(), found.intercepts])
    assert objective(ours) <= objective(plain) + 1e-12


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_maps_give_probabilities_and_do_better_than_nothing(method, n_classes):
    given = lesson(0, n_classes, 2000)
    found = fit_calibrator(method, given)[1].log_proba(given.scores)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-12)
    none = fit_calibrator("none", given)[1].log_proba(given.scores)
    rows = np.arange(len(found))
    average = lambda logs: -np.average(np.maximum(logs[rows, given.codes], -36), weights=given.weights)  # noqa: E731
    assert average(found) < average(none)


def test_scores_are_finite_and_log_odds_do_not_cancel():
    scores = finite_scores(np.array([[0.0, -1e-20, -np.inf], [-800.0, -0.0, -900.0]]), True)
    assert scores.values.min() == MIN_LOG_PROBA
    assert np.isfinite(scores.against_rest).all()
    three = ClassScores(np.log([[0.5, 0.25, 0.25]]), True)
    np.testing.assert_allclose(three.against_rest, np.log([[1, 1 / 3, 1 / 3]]), atol=1e-15)
    with pytest.raises(InputError, match="scores of row 1 are not finite numbers"):
        finite_scores(np.array([[0.0, 0.0], [np.nan, 0.0]]), True)


def test_classes_that_part_without_a_mistake_leave_some_doubt():
    X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    model = Calibrated(LogisticRegression(C=1e6), method="temperature").fit(X, y)
    assert 1e-4 < model.predict_proba([[19.5]])[0, 0] < 1 - 1e-4
    assert model.predict_log_proba(X).min() > -1e4


def test_calibration_mends_naive_bayes_that_counts_columns_double(rng):
    y = rng.integers(0, 2, 3000)
    X = np.repeat(rng.normal(y[:, None], 1.5, (3000, 1)), 8, axis=1)  # one column, eight times
    model = Calibrated(NaiveBayes()).fit(X[:2000], y[:2000])
    before, after = NaiveBayes().fit(X[:2000], y[:2000]).predict_proba(X[2000:]), model.predict_proba(X[2000:])
    assert log_loss(y[2000:], after) < log_loss(y[2000:], before) - 0.2
    assert Calibrated(NaiveBayes(), "temperature").fit(X, y).calibrator_.inverse == pytest.approx(1 / 8, rel=0.15)


@pytest.mark.parametrize(
    "inner",
    [
        NaiveBayes(),
        KNNClassifier(),
        pytest.param(GaussianNB(), marks=pytest.mark.slow),
        pytest.param(KNeighborsClassifier(), marks=pytest.mark.slow),
        LogisticRegression(),
        pytest.param(SVC(), marks=pytest.mark.slow),
        make_pipeline(StandardScaler(), NaiveBayes()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_fold_law(inner):
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:, :5], np.array(["a", "b", "c"])[y]
    slow = ("dirichlet", "auto") if type(inner) is NaiveBayes else ()
    settings = [{"method": method} for method in ("sigmoid", "isotonic", *slow, "none", "wrong")]
    name = {"NaiveBayes": "var_floor", "GaussianNB": "var_smoothing", "KNNClassifier": "n_neighbors"}
    if type(inner).__name__ in name:
        inside = f"estimator__{name[type(inner).__name__]}"
        settings += [{inside: value, "method": method} for value in (1, 3) for method in ("sigmoid", "temperature")]
    settings += [{"cv": 3}, {"cv": KFold(4, shuffle=True, random_state=0)}, {"cv": 1}, {"estimator__unknown": 1}]
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))[:2]
    splits.append((np.flatnonzero(y != "c")[::2], np.arange(1, len(y), 2)))  # a class is lost
    check_foldable(Calibrated(inner, "temperature"), X, y, settings, splits)


def test_the_fold_law_with_weights_and_repeated_rows_on_a_mixed_table(rng):
    X, y = pl.DataFrame(mixed_columns(rng, 200)), rng.choice(["x", "y", "z"], 200, p=[0.7, 0.25, 0.05])
    weights = {"sample_weight": rng.integers(0, 4, 200).astype(float)}
    settings = [{"method": method, "estimator__alpha": a} for a in (0.5, 2.0) for method in MAPS[:3]]
    splits = list(StratifiedKFold(3).split(X, y))[:2]
    splits.append((rng.integers(0, 150, 150), np.arange(150, 200)))
    check_foldable(Calibrated(NaiveBayes()), X, y, settings, splits, weights)


def test_methods_share_the_answers_of_the_estimator_inside():
    X, y = load_iris(return_X_y=True)
    fits = []

    class Counting(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    model = Calibrated(Counting(max_iter=1000, random_state=0), cv=3)
    GridSearchCV(model, {"method": [*MAPS, "auto"]}, cv=2, refit=False, audit=False).fit(X, y)
    assert len(fits) == 2 * (3 + 1)
    assert open_session(Calibrated(NaiveBayes()), X, y).shares == "summaries"


def test_a_stack_of_wrappers_keeps_the_law(rng):
    X, y = load_wine(return_X_y=True)
    costs = [rng.uniform(0, 5, (3, 3)) for _ in range(3)]
    model = CostSensitive(Calibrated(NaiveBayes()))
    settings = [{"costs": c, "estimator__method": m} for c in costs for m in ("sigmoid", "temperature")]
    check_foldable(model, X, y, settings, list(StratifiedKFold(3).split(X, y)))
    assert open_session(model, X, y).lazy(settings[0]) >= {"costs", "estimator__method", "estimator__estimator__alpha"}


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param(NaiveBayes(), id="threads"),
        pytest.param(LogisticRegression(), id="processes", marks=pytest.mark.slow),
    ],
)
def test_any_number_of_workers(inner):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    one, two = (Calibrated(inner, n_jobs=n).fit(X, y).predict_log_proba(X) for n in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-10)


def test_out_of_fold_predictions_are_those_of_a_loop():
    X, y = load_iris(return_X_y=True)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)  # what a number of folds means
    plain = cross_val_predict(NaiveBayes(), X, y, cv=cv, method="predict_log_proba")
    found = fit_calibrator("temperature", CalibrationData(finite_scores(plain, True), y, np.ones(len(y))))[1]
    assert Calibrated(NaiveBayes(), "temperature").fit(X, y).calibrator_.inverse == pytest.approx(
        found.inverse, rel=1e-10
    )


def test_rare_classes_and_one_class():
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[0] = 7  # a class of one row is in no training fold when it is tested
    model = Calibrated(NaiveBayes()).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 7]
    assert np.isfinite(model.predict_log_proba(X)).all()
    for method in MAPS:
        few = Calibrated(NaiveBayes(), method, cv=10).fit(X[::30], y[::30])
        np.testing.assert_allclose(few.predict_proba(X).sum(axis=1), 1)
    alone = Calibrated(KNNClassifier()).fit(X[:9], np.zeros(9, dtype=int))
    assert alone.method_ == "none"
    assert alone.predict_proba(X).tolist() == [[1.0]] * 150


def test_bad_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="method must be 'auto', 'temperature'"):
        Calibrated(NaiveBayes(), "platt").fit(X, y)
    with pytest.raises(InputError, match="cv must be an integer of at least 2"):
        Calibrated(NaiveBayes(), cv=1).fit(X, y)
    with pytest.raises(InputError, match="a class with at least two rows"):
        Calibrated(NaiveBayes()).fit(X[:3], [0, 1, 2])
    with pytest.raises(InputError, match="each row exactly once"):
        Calibrated(NaiveBayes(), cv=[(np.arange(100), np.arange(100, 150))]).fit(X, y)
    with pytest.raises(InputError, match="is a regressor"):
        Calibrated(LinearRegression()).fit(X, y)
    with pytest.raises(FoldwiseTypeError, match="must be a classifier"):
        Calibrated(None).fit(X, y)
    with pytest.raises(InputError, match="does not accept it"):
        Calibrated(KNeighborsClassifier()).fit(X, y, np.ones(150))
    with pytest.raises(InputError, match="decision_function_shape"):
        Calibrated(SVC(decision_function_shape="ovo")).fit(*make_classification(80, n_classes=4, n_informative=4))
    with pytest.raises(InputError, match="at most 40 classes"):
        Calibrated(NaiveBayes(), "dirichlet").fit(np.arange(90.0)[:, None], np.arange(90) % 45)

    class Silent(Perceptron):
        decision_function = property()

    with pytest.raises(InputError, match="calibration needs predict_log_proba"):
        Calibrated(Silent(), "sigmoid").fit(X, y)
    assert Calibrated(NearestCentroid(), "sigmoid").fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("method", ["auto", *MAPS])
def test_a_fold_that_holds_out_all_rows_of_a_class_teaches_nothing(method):
    """Of two classes one has a single row: the fold that holds it out leaves one class, which no model learns."""
    X, y = load_wine(return_X_y=True)
    rows = np.r_[0:30, 100]
    model = Calibrated(NaiveBayes(), method).fit(X[rows], y[rows])
    assert model.predict_proba(X).shape == (178, 2)
    splits = [(np.r_[0:25, 100], np.r_[25:40, 101:103]), (np.r_[10:50, 100], np.r_[0:9])]
    check_foldable(Calibrated(NaiveBayes()), X[:, :4], np.minimum(y, 1), [{"method": method}], splits)
    three = [Calibrated(NaiveBayes(), method).fit(X[r], y[r]) for r in (np.r_[0:3, 100], np.r_[0:2, 100:102])]
    assert all(np.isfinite(one.predict_proba(X)).all() for one in three)
