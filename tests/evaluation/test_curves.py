"""Learning and validation curves against scikit-learn's functions of the same names."""

from __future__ import annotations

import sys
import warnings
from inspect import signature

import numpy as np
import polars as pl
import pytest
from sklearn import model_selection as peer
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import foldwise
from foldwise import KNNClassifier, NaiveBayes, estimate, learning_curve, validation_curve
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.intervals import corrected_half_width
from foldwise.evaluation.plotting import PlotError
from foldwise.folds import evaluate
from tests.conftest import mixed_columns
from tests.slow import slow

SEVERAL = ShuffleSplit(4, test_size=0.3, random_state=0)


def numbers(rng, n=120):
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


MODELS = {
    "naive bayes": NaiveBayes(),
    "scikit-learn's naive bayes": GaussianNB(),
    "neighbors": KNNClassifier(n_neighbors=3),
    "scikit-learn's neighbors": KNeighborsClassifier(3),
    "pipeline": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "refitted": LogisticRegression(),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_learning_curves(rng, model, scoring):
    X, y = numbers(rng)
    options = {"cv": SEVERAL, "scoring": scoring, "train_sizes": [0.2, 0.5, 1.0]}
    curve = learning_curve(model, X, y, **options)
    sizes, train, test = peer.learning_curve(model, X, y, **options)
    assert curve.train_sizes.tolist() == sizes.tolist()
    np.testing.assert_allclose(curve.train_scores, train, rtol=1e-9)
    np.testing.assert_allclose(curve.test_scores, test, rtol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"train_sizes": [10, 40, 55]},
        {"shuffle": True, "random_state": 3},
        {"cv": GroupKFold(4), "groups": np.arange(120) % 12},
        {},
        *slow({"cv": 3, "n_jobs": 2, "train_sizes": [0.5, 1.0]}),
    ],
)
def test_learning_curves_of_other_questions(rng, options):
    X, y = pl.DataFrame(mixed_columns(rng, 120)), rng.integers(0, 2, 120)
    curve = learning_curve(NaiveBayes(), X, y, **options)
    sizes, train, test = peer.learning_curve(NaiveBayes(), X, y, **options)
    assert curve.train_sizes.tolist() == sizes.tolist()
    np.testing.assert_allclose(curve.train_scores, train, rtol=1e-10)
    np.testing.assert_allclose(curve.test_scores, test, rtol=1e-10)


def test_weights_are_learned_and_do_not_weigh_scores(rng):
    X, y = numbers(rng)
    weights = rng.integers(1, 9, 120).astype(float)
    curve = learning_curve(NaiveBayes(), X, y, sample_weight=weights)
    _, train, test = peer.learning_curve(NaiveBayes(), X, y, params={"sample_weight": weights})
    np.testing.assert_allclose(curve.train_scores, train, rtol=1e-10)
    np.testing.assert_allclose(curve.test_scores, test, rtol=1e-10)


VALIDATED = {
    "naive bayes": (NaiveBayes(), "var_floor", [1e-9, 0.1, 1.0]),
    "families": (NaiveBayes(), "families", ["gaussian", "binned", {"x0": "kde"}]),
    "boosting by stages": (HistGradientBoostingClassifier(random_state=0), "max_iter", [1, 5, 20]),
    "neighbors": (KNeighborsClassifier(), "n_neighbors", np.array([1, 5, 40])),
    "our neighbors": (KNNClassifier(), "n_neighbors", range(1, 9)),
    "pipeline": (make_pipeline(StandardScaler(), KNeighborsClassifier()), "kneighborsclassifier__n_neighbors", [2, 9]),
    "refitted": (LogisticRegression(), "C", [0.01, 1.0]),
}


@pytest.mark.parametrize(("model", "name", "values"), VALIDATED.values(), ids=VALIDATED)
@pytest.mark.parametrize("scoring", [None, "neg_brier_score"])
def test_validation_curves(rng, model, name, values, scoring):
    X, y = numbers(rng)
    curve = validation_curve(model, X, y, name, values, cv=SEVERAL, scoring=scoring)
    train, test = peer.validation_curve(model, X, y, param_name=name, param_range=values, cv=SEVERAL, scoring=scoring)
    np.testing.assert_allclose(curve.train_scores, train, rtol=1e-9)
    np.testing.assert_allclose(curve.test_scores, test, rtol=1e-9)
    assert curve.param_name == name
    assert len(curve.param_range) == len(values)


def test_regression(rng):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    model = DecisionTreeRegressor(random_state=0)
    curve = validation_curve(model, X, y, "ccp_alpha", [0.0, 0.1], scoring="neg_mean_absolute_error")
    train, test = peer.validation_curve(
        model, X, y, param_name="ccp_alpha", param_range=[0.0, 0.1], scoring="neg_mean_absolute_error"
    )
    np.testing.assert_allclose(curve.train_scores, train)
    np.testing.assert_allclose(curve.test_scores, test)
    assert learning_curve(model, X, y).metric == "r2"


def test_one_piece_of_work_a_split_serves_all_values(rng, monkeypatch):
    from foldwise.evaluation import curves

    seen = []

    def counted(*args, **options):
        found = evaluate(*args, **options)
        seen.append(found[0].fits)
        return found

    monkeypatch.setattr(curves, "evaluate", counted)
    X, y = numbers(rng)
    validation_curve(HistGradientBoostingClassifier(random_state=0), X, y, "max_iter", range(1, 11), cv=3)
    validation_curve(KNNClassifier(), X, y, "n_neighbors", range(1, 31), cv=3)
    assert seen == [3, 3]


def test_a_part_without_a_second_class_fails_alone(rng):
    X, y = rng.normal(size=(60, 2)), np.r_[np.zeros(30, int), np.ones(30, int)]
    cv = [(np.arange(59), np.array([59])), (np.arange(1, 60), np.array([0]))]
    options = {"train_sizes": [20, 50], "cv": cv}
    with pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 4.*shuffle=True"):
        curve = learning_curve(NaiveBayes(), X, y, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, train, test = peer.learning_curve(NaiveBayes(), X, y, **options)
    np.testing.assert_array_equal(curve.test_scores, test)
    np.testing.assert_array_equal(curve.train_scores, train)
    assert np.isnan(curve.low[0])
    assert "nan" in repr(curve)
    with pytest.raises(InputError, match="one class"):
        learning_curve(NaiveBayes(), X, y, error_score="raise", **options)
    with pytest.raises(InputError, match="All the 2 fits failed"):
        learning_curve(NaiveBayes(), X, y, train_sizes=[20], cv=cv)


def test_scores_that_fail(rng):
    X, y = numbers(rng, 40)
    with pytest.warns(UserWarning, match="Scoring failed"):
        curve = learning_curve(NaiveBayes(), X, y, scoring=lambda model, X, y: 1 / 0, cv=2, train_sizes=[1.0])
    assert np.isnan(curve.test_scores).all()


def test_intervals_and_frames(rng):
    X, y = numbers(rng)
    curve = learning_curve(NaiveBayes(), X, y, cv=SEVERAL, train_sizes=[21, 84], level=0.9)
    half = corrected_half_width(curve.test_scores, 36 / 84, 0.9)
    np.testing.assert_allclose(curve.high - curve.low, 2 * half)
    frame = curve.to_frame()
    assert frame.columns == ["train_size", "train", "test", "low", "high"]
    assert frame["train_size"].to_list() == [21, 84]
    assert frame["test"].to_list() == curve.means.tolist()
    words = validation_curve(NaiveBayes(), X, y, "families", ["gaussian", {"x0": "kde"}]).to_frame()
    assert words["families"].to_list() == ["gaussian", "{'x0': 'kde'}"]


def test_the_text_fits_80_columns(rng):
    X, y = numbers(rng)
    long = [("gaussian", "binned")[k % 2] for k in range(2)]
    for curve in (
        learning_curve(NaiveBayes(), X, y),
        learning_curve(NaiveBayes(), X, y, cv=[(np.arange(60), np.arange(60, 120))]),
        validation_curve(NaiveBayes(), X, y, "families", [*long, {f"x{j}": "gaussian" for j in range(3)}]),
        validation_curve(
            make_pipeline(StandardScaler(), KNeighborsClassifier()), X, y, "kneighborsclassifier__n_neighbors", [1, 70]
        ),
    ):
        lines = repr(curve).splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) == 3 + len(curve.ticks)
        assert str(curve) == repr(curve)
    assert "●" in repr(learning_curve(NaiveBayes(), X, y))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda X, y: learning_curve(NaiveBayes(), X, y, train_sizes=[0.0, 1.0]), "above 0 and at most 1"),
        (lambda X, y: learning_curve(NaiveBayes(), X, y, train_sizes=[10, 500]), "from 1 to 96"),
        (lambda X, y: learning_curve(NaiveBayes(), X, y, train_sizes=[]), "list of fractions"),
        (lambda X, y: learning_curve(NaiveBayes(), X, y, train_sizes=["a"]), "list of fractions"),
        (lambda X, y: learning_curve(NaiveBayes(), X, y, scoring=["accuracy"]), "a single metric"),
        (lambda X, y: learning_curve(NaiveBayes(), X, y, level=95), "between 0 and 1"),
        (lambda X, y: validation_curve(NaiveBayes(), X, y, "alhpa", [1]), "Invalid parameter 'alhpa'"),
        (lambda X, y: validation_curve(NaiveBayes(), X, y, "alpha", []), r"at least one value, got \[\]"),
        (lambda X, y: validation_curve(NaiveBayes(), X, y, "alpha", 1.0), "at least one value, got 1.0"),
        (lambda X, y: validation_curve(NaiveBayes, X, y, "alpha", [1.0]), "NaiveBayes is a class"),
    ],
)
def test_bad_questions(rng, ask, words):
    with pytest.raises((InputError, FoldwiseTypeError), match=words):
        ask(*numbers(rng))


def test_sizes_that_are_the_same_are_one_tick(rng):
    X, y = numbers(rng)
    with pytest.warns(RuntimeWarning, match="2 ticks instead of 3"):
        curve = learning_curve(NaiveBayes(), X, y, train_sizes=[0.5, 0.501, 1.0])
    assert curve.train_sizes.tolist() == [48, 96]


def test_pictures(rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    X, y = numbers(rng)
    curve = learning_curve(NaiveBayes(), X, y)
    ax = curve.plot()
    assert ax.get_xlabel() == "Training rows"
    assert ax.get_ylabel() == "Accuracy (higher is better)"
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curve.means)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve.train_means)
    _, mine = plt.subplots()
    wide = validation_curve(NaiveBayes(), X, y, "var_floor", [1.0, 1e-9, 0.01])
    assert wide.plot(mine) is mine
    assert mine.get_xscale() == "log"
    assert mine.lines[0].get_xdata().tolist() == [1e-9, 0.01, 1.0]
    words = validation_curve(NaiveBayes(), X, y, "families", ["gaussian", "binned"]).plot()
    assert [tick.get_text() for tick in words.get_xticklabels()] == ["gaussian", "binned"]
    plt.close("all")


def test_without_the_library_that_draws(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(PlotError, match=r"foldwise\[plots\]"):
        learning_curve(NaiveBayes(), *numbers(rng)).plot()


def test_large_scores_fit_80_columns_too(rng):
    X, _ = numbers(rng)
    y = 1e9 * X[:, 0] + rng.normal(size=len(X))
    tree = DecisionTreeRegressor(random_state=0)
    text = str(validation_curve(tree, X, y, "max_depth", [1, 2, 3], scoring="neg_mean_squared_error"))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "e+1" in lines[3]
    assert "●" in lines[3]


def test_shares_of_test_rows_are_those_of_all_intervals(rng):
    X, y = numbers(rng)
    splits = TimeSeriesSplit(4)
    curve = validation_curve(NaiveBayes(), X, y, "var_floor", [1e-9, 0.1], cv=splits)
    low, high = estimate(NaiveBayes(), X, y, cv=splits).interval()
    assert (curve.low[0], curve.high[0]) == pytest.approx((low, high))


def test_intervals_end_at_the_bounds_of_the_score(rng):
    X, y = numbers(rng, 30)
    curve = validation_curve(NaiveBayes(), np.c_[y + 0.5 * X[:, 1]], y, "var_floor", [1e-9])
    half = corrected_half_width(curve.test_scores, curve.test_share)[0]
    assert curve.means[0] + half > 1
    assert curve.high[0] == 1.0
    assert curve.low[0] == pytest.approx(curve.means[0] - half)


def test_curves_unpack_like_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    options = {"cv": 3, "shuffle": True, "random_state": 0}
    ours = learning_curve(GaussianNB(), X, y, **options)
    for one, two in zip(ours, peer.learning_curve(GaussianNB(), X, y, **options), strict=True):
        np.testing.assert_allclose(one, two)
    train, test = validation_curve(KNNClassifier(), X, y, "n_neighbors", [1, 9], cv=3)
    theirs = peer.validation_curve(KNeighborsClassifier(), X, y, param_name="n_neighbors", param_range=[1, 9], cv=3)
    np.testing.assert_allclose([train, test], theirs)


@pytest.mark.parametrize("name", ["learning_curve", "validation_curve"])
def test_curves_accept_all_keywords_of_scikit_learn(name):
    theirs, ours = (signature(getattr(room, name)).parameters for room in (peer, foldwise))
    assert set(theirs) <= set(ours)
    defaults = {one: theirs[one].default for one in theirs if one not in ("train_sizes", "error_score")}
    assert {one: ours[one].default for one in defaults} == defaults


def test_curves_take_params_and_return_times(rng):
    X, y = numbers(rng)
    weights = {"sample_weight": rng.integers(1, 5, len(y)).astype(float)}
    options = {"cv": 3, "train_sizes": [40, 80], "params": weights, "return_times": True}
    sizes, train, test, fit_times, score_times = learning_curve(GaussianNB(), X, y, **options)
    expected = peer.learning_curve(GaussianNB(), X, y, **options)
    np.testing.assert_array_equal(sizes, expected[0])
    np.testing.assert_allclose(train, expected[1])
    np.testing.assert_allclose(test, expected[2])
    assert fit_times.shape == score_times.shape == expected[3].shape == (2, 3)
    assert (fit_times >= 0).all()
    assert fit_times.sum() > 0
    found = validation_curve(GaussianNB(), X, y, "var_smoothing", [1e-9, 1.0], cv=3, params=weights)
    expected = peer.validation_curve(
        GaussianNB(), X, y, param_name="var_smoothing", param_range=[1e-9, 1.0], cv=3, params=weights
    )
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs)
    with pytest.raises(InputError, match="exploit_incremental_learning must be False"):
        learning_curve(GaussianNB(), X, y, exploit_incremental_learning=True)


def test_the_warning_about_failed_fits_ends_its_sentences():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(FitFailedWarning) as found:
        learning_curve(NaiveBayes(), X, y, cv=3, train_sizes=[10, 60])
    [text] = [str(one.message) for one in found]
    assert text.endswith("the target has one class, 0. Hint: pass shuffle=True if the rows are sorted by class.")
