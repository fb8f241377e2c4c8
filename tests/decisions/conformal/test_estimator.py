"""`Conformal`: scikit-learn's checks, coverage in simulations, twins of closed forms, model files, clear sentences."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import Conformal, KNNRegressor, NaiveBayes, open_model, save_model
from foldwise.decisions.conformal.interval_scores import joined_ties
from foldwise.decisions.conformal.kept_models import KeptEstimators, KeptLinearModels, KeptNeighbors
from foldwise.decisions.conformal.levels import guaranteed_coverage, least_rows, quantile_of, rank_of
from foldwise.errors import FoldwiseTypeError, FoldwiseWarning, InputError
from tests.slow import slow


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # few rows, and ties
@parametrize_with_checks([Conformal(Ridge(), "cv+", cv=3), Conformal(NaiveBayes(), cv=3)])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")
@parametrize_with_checks(
    [
        Conformal(Ridge(), conformity="normalized"),
        Conformal(KNNRegressor(), "jackknife+"),
        Conformal(LogisticRegression(), conformity="aps", by_class=True),
    ]
)
def test_the_checks_of_scikit_learn_on_other_settings(estimator, check):
    check(estimator)


def heteroscedastic(rng, n_rows):
    X = rng.uniform(-1, 1, (n_rows, 3))
    return X, X @ [1.0, 2.0, 0.0] + rng.normal(size=n_rows) * (0.2 + np.abs(X[:, 0]))


def overlapping(rng, n_rows):
    y = rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])
    return rng.normal(size=(n_rows, 2)) + np.array([[0, 0], [1.5, 0], [0, 1.5]])[y], np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("method", ["cross", "split", "cv+", "jackknife+"])
def test_intervals_cover(method, rng):
    shares = []
    for _ in range(20):
        X, y = heteroscedastic(rng, 1200)
        shares.append(Conformal(Ridge(), method, 0.8, cv=4).fit(X[:200], y[:200]).coverage_of(X[200:], y[200:]))
    assert 0.785 < np.mean(shares) < 0.83  # its standard deviation is below 0.01


def test_normalized_intervals_are_wide_where_errors_are_large(rng):
    X, y = heteroscedastic(rng, 4000)
    shape = DecisionTreeRegressor(min_samples_leaf=50)
    for method in ("cross", "split"):
        model = Conformal(Ridge(), method, conformity="normalized", interval_estimator=shape).fit(X[:2000], y[:2000])
        width = np.diff(model.predict_interval(X[2000:]))[:, 0]
        assert width[np.abs(X[2000:, 0]) > 0.8].mean() > 2 * width[np.abs(X[2000:, 0]) < 0.2].mean()
        assert 0.88 < model.coverage_of(X[2000:], y[2000:]) < 0.93


@pytest.mark.parametrize("conformity", ["lac", "aps"])
def test_sets_cover(conformity, rng):
    shares, smallest = [], []
    for _ in range(12):
        X, y = overlapping(rng, 1300)
        model = Conformal(NaiveBayes(), conformity=conformity, coverage=0.85, cv=4).fit(X[:300], y[:300])
        shares.append(model.coverage_of(X[300:], y[300:]))
        rare = y[300:] == "c"
        by_class = Conformal(NaiveBayes(), conformity=conformity, coverage=0.85, by_class=True).fit(X[:300], y[:300])
        smallest.append(by_class.coverage_of(X[300:][rare], y[300:][rare]))
        if conformity == "lac":
            assert model.coverage_of(X[300:][rare], y[300:][rare]) < 0.85  # marginal coverage forgets rare classes
    assert 0.83 < np.mean(shares) < 0.88
    assert 0.83 < np.mean(smallest) < 0.93  # few calibration rows of this class


@pytest.mark.parametrize(
    ("inner", "kept"),
    [
        (Ridge(alpha=2.0), KeptLinearModels),
        (Ridge(alpha=0.5, fit_intercept=False), KeptLinearModels),
        (LinearRegression(), KeptLinearModels),
        (KNNRegressor(4), KeptNeighbors),
        (KNNRegressor(3, weights="gaussian", metric="manhattan"), KeptNeighbors),
        (KNNRegressor(3, scale="standard"), KeptEstimators),
        *slow((Ridge(solver="lsqr"), KeptLinearModels), (KNNRegressor(4, weights="distance"), KeptNeighbors)),
    ],
    ids=lambda one: repr(one) if isinstance(one, BaseEstimator) else "",
)
@pytest.mark.parametrize("method", ["cv+", "jackknife+"])
def test_closed_forms_equal_refits(inner, kept, method, rng):
    X, y = heteroscedastic(rng, 40)
    X[10:14] = X[5]  # neighbors at equal distances
    new = rng.uniform(-1, 1, (25, 3))
    model = Conformal(inner, method, cv=KFold(4)).fit(X, y)
    assert type(model.kept_models_) is kept
    splits = KFold(4 if method == "cv+" else 40).split(X)
    plain = np.column_stack([inner.fit(X[train], y[train]).predict(new) for train, _ in splits])
    np.testing.assert_allclose(model.kept_models_.predict(new), plain, atol=1e-10)
    refits = [(clone(inner).fit(X[train], y[train]), test) for train, test in KFold(plain.shape[1]).split(X)]
    residuals = np.concatenate([np.abs(y[test] - one.predict(X[test])) for one, test in refits])
    np.testing.assert_allclose(model.scores_, residuals, atol=1e-10)
    spread = np.sort(plain[:, model.fold_] + residuals, axis=1)[:, rank_of(0.9, 40) - 1]
    np.testing.assert_allclose(model.predict_interval(new)[:, 1], spread, atol=1e-10)


def test_a_fold_with_most_neighbors_of_a_row(rng):
    X, y = np.concatenate([rng.normal(0, 0.01, (30, 2)), rng.normal(5, 1, (60, 2))]), rng.normal(size=90)
    cv = [(np.arange(30, 90), np.arange(30)), (np.arange(30), np.arange(30, 90))]
    kept = Conformal(KNNRegressor(3), "cv+", cv=cv).fit(X, y).kept_models_
    plain = [KNNRegressor(3).fit(X[train], y[train]).predict(X) for train, _ in cv]
    np.testing.assert_allclose(kept.predict(X), np.column_stack(plain), atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        Conformal(NaiveBayes()),
        Conformal(KNNRegressor()),
        Conformal(KNNRegressor(), "jackknife+"),
        Conformal(Ridge(), "jackknife+"),
    ],
    ids=["classes", "neighbors", "neighbors left out", "ridge left out"],
)
def test_a_foldable_model_is_fitted_once(model, monkeypatch):
    kind, fits = type(model.estimator), []
    fit = kind.fit
    monkeypatch.setattr(kind, "fit", lambda self, *args, **more: fits.append(1) or fit(self, *args, **more))
    X, y = load_iris(return_X_y=True)
    model.fit(X[:, :3], y if is_classifier(model) else X[:, 3])
    assert len(fits) == 1


def test_it_predicts_as_its_model(rng):
    X, y = load_iris(return_X_y=True)
    frame, names = pl.DataFrame(X, schema=["a", "b", "c", "d"]), np.array(["x", "y", "z"])[y]
    model, plain = Conformal(NaiveBayes()).fit(frame, names), NaiveBayes().fit(frame, names)
    assert is_classifier(model)
    assert not is_regressor(model)
    assert not hasattr(model, "predict_interval")
    np.testing.assert_array_equal(model.predict(frame), plain.predict(frame))
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(frame))
    assert model.score(frame, names) == accuracy_score(names, plain.predict(frame))
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert model.predict_set(frame).shape == (150, 3)
    regressor = Conformal(Ridge()).fit(X, y)
    assert is_regressor(regressor)
    assert not hasattr(regressor, "predict_set")
    assert not hasattr(regressor, "predict_proba")
    assert regressor.score(X, y) == pytest.approx(Ridge().fit(X, y).score(X, y))


def test_split_never_learns_calibration_rows(rng):
    X, y = heteroscedastic(rng, 100)
    train, test = np.arange(60), np.arange(60, 100)
    changed = y.copy()
    changed[test] += 1000
    models = [Conformal(Ridge(), "split", conformity="normalized", cv=[(train, test)]).fit(X, t) for t in (y, changed)]
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X))
    for one, other in zip(*(model.interval_estimators_ for model in models), strict=True):
        np.testing.assert_allclose(one.predict(X), other.predict(X))
    frozen = Conformal(FrozenEstimator(Ridge().fit(X[train], y[train])), "split", cv=[(train, test)]).fit(X, y)
    plain = Conformal(Ridge(), "split", cv=[(train, test)]).fit(X, y)
    np.testing.assert_allclose(frozen.predict_interval(X), plain.predict_interval(X))


def test_groups_by_splits_that_respect_them(rng):
    group = np.repeat(np.arange(20), 10)
    X = np.repeat(rng.normal(size=(20, 2)), 10, axis=0)
    y = np.repeat(rng.normal(size=20), 10) + rng.normal(size=200) * 0.1
    tree = DecisionTreeRegressor(random_state=0)
    apart = Conformal(tree, cv=list(GroupKFold(5).split(X, y, group))).fit(X, y)
    assert apart.quantiles_[0] > 3 * Conformal(tree).fit(X, y).quantiles_[0]  # rows of one group know each other


@pytest.mark.parametrize(
    "model",
    [
        Conformal(Ridge(), "jackknife+"),
        Conformal(KNNRegressor(), "cv+"),
        Conformal(KNNRegressor(scale="standard"), "cv+"),
        Conformal(Ridge(), conformity="normalized"),
        Conformal(NaiveBayes(), by_class=True),
    ],
    ids=["linear", "neighbors", "estimators", "normalized", "classes"],
)
def test_model_files(model, tmp_path):
    X, y = load_wine(return_X_y=True) if is_classifier(model) else load_diabetes(return_X_y=True)
    X = X[:, :4]
    frame = pl.DataFrame(X, schema=list("abcd"))
    model.fit(frame, y)
    save_model(tmp_path / "model.foldwise", model, frame)
    opened = open_model(tmp_path / "model.foldwise").model
    name = "predict_set" if is_classifier(model) else "predict_interval"
    np.testing.assert_allclose(getattr(opened, name)(frame), getattr(model, name)(frame), atol=1e-12)
    np.testing.assert_allclose(getattr(opened, name)(frame, 0.7), getattr(model, name)(frame, 0.7), atol=1e-12)


def test_ranks_and_guarantees():
    assert rank_of(0.95, 19) == 19  # 0.95 · 20 is 19
    assert [rank_of(0.9, n) for n in (9, 10, 99)] == [9, 10, 90]
    assert [least_rows(c) for c in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    for coverage in (0.8, 0.9, 0.95):
        least = least_rows(coverage)
        assert quantile_of(np.arange(float(least)), coverage) == least - 1
        assert quantile_of(np.arange(least - 1.0), coverage) == np.inf
    assert guaranteed_coverage("split", 0.9, 100, 5) == 0.9
    assert guaranteed_coverage("jackknife+", 0.9, 100, 100) == pytest.approx(0.8)
    assert guaranteed_coverage("cv+", 0.9, 100, 5) == pytest.approx(0.8 - 0.0761904, abs=1e-6)
    assert guaranteed_coverage("cross", 0.9, 100, 5) == 0


@pytest.mark.parametrize(("coverage", "kind"), [(0, InputError), (1, InputError), (90, InputError), (-0.1, InputError)])
def test_coverage_must_be_a_share(coverage, kind):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(kind, match=r"coverage must be .*write 0.9 for 90%"):
        Conformal(Ridge(), coverage=coverage).fit(X, y)
    with pytest.raises(FoldwiseTypeError, match="coverage must be a number"):
        Conformal(Ridge(), coverage="90%").fit(X, y)
    with pytest.raises(kind, match="coverage must be"):
        Conformal(Ridge()).fit(X, y).predict_interval(X, coverage)


def test_infinite_intervals_are_said(rng):
    X, y = heteroscedastic(rng, 40)
    for method in ("split", "cv+"):
        with pytest.warns(FoldwiseWarning, match=r"coverage=0.99 needs at least 99 calibration rows, but there are"):
            model = Conformal(Ridge(), method, 0.99).fit(X, y)
        assert np.isinf(model.predict_interval(X)).all()
        assert np.isinf(model.quantiles_).all()
    fine = Conformal(Ridge()).fit(X, y)
    with pytest.warns(FoldwiseWarning, match="all intervals are infinite"):
        assert np.isinf(fine.predict_interval(X, 0.99)).all()
    with pytest.warns(FoldwiseWarning, match="every set contains all classes"):
        assert Conformal(NaiveBayes(), coverage=0.99).fit(X, y > 0).predict_set(X).all()


def test_rare_classes_are_said(rng):
    X, y = overlapping(rng, 200)
    y = y.astype("U6")
    y[0] = "lonely"
    with pytest.warns(FoldwiseWarning, match=r"rows of each class. 'lonely' has fewer, so every set contains it"):
        model = Conformal(NaiveBayes(), by_class=True).fit(X, y)
    assert model.predict_set(X)[:, list(model.classes_).index("lonely")].all()
    split = Conformal(NaiveBayes(), "split").fit(X, y)
    assert "lonely" in split.classes_  # its only row is trained on
    assert Conformal(NaiveBayes()).fit(X, y).scores_[-1] == pytest.approx(1)  # no fold knew the class
    rows = np.arange(200)
    with pytest.warns(FoldwiseWarning, match="every set contains all classes"):
        unknown = Conformal(NaiveBayes(), "split", 0.99, cv=[(rows[1:101], [0])]).fit(X, y)
    assert np.isinf(unknown.scores_).all()


def test_ties_are_said(rng):
    X, y = overlapping(rng, 300)
    with pytest.warns(FoldwiseWarning, match=r"calibration scores are equal, because targets or predictions have ties"):
        Conformal(DecisionTreeClassifier(random_state=0), coverage=0.7).fit(X, y)
    with pytest.warns(FoldwiseWarning, match=r"Intervals therefore cover about \d+% of rows instead of 60%"):
        Conformal(KNNRegressor(1), coverage=0.6).fit(X, (y == "c").astype(float))


def test_rows_that_no_model_can_distinguish_are_not_missed_together(rng):
    shares = []
    X = np.zeros((1000, 1))
    for _ in range(10):  # 30% of the targets are equal, and their residual differs a little from fold to fold
        y = np.where(rng.random(1000) < 0.3, 1.0, rng.normal(-0.43, 0.7, 1000))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldwiseWarning)  # of ties
            shares.append(Conformal(DummyRegressor(), coverage=0.7).fit(X[:400], y[:400]).coverage_of(X[400:], y[400:]))
    assert min(shares) > 0.7  # without joined scores, half of these runs cover only 55%


def test_joined_ties_by_hand():
    y, fitted = np.array([1.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.5, 2.5, 3.0])
    assert joined_ties(np.array([0.3, 0.4, 0.7, 0.1]), y, fitted).tolist() == [0.5, 0.5, 0.7, 0.1]
    assert joined_ties(np.array([0.3, 0.6, 0.7, 0.1]), y, fitted).tolist() == [0.6, 0.6, 0.7, 0.1]


def test_empty_sets_can_get_the_top_class(rng):
    X, y = overlapping(rng, 600)
    empty = Conformal(NaiveBayes(), coverage=0.3).fit(X, y).predict_set(X)
    assert not empty.any(axis=1).all()
    model = Conformal(NaiveBayes(), coverage=0.3, allow_empty=False).fit(X, y)
    filled = model.predict_set(X)
    assert filled.any(axis=1).all()
    added = np.flatnonzero(~empty.any(axis=1))
    np.testing.assert_array_equal(model.classes_[filled[added].argmax(axis=1)], model.predict(X)[added])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Conformal(Ridge(), "naive"), "method must be 'cross'"),
        (Conformal(Ridge(), conformity="lac"), "conformity must be 'auto', 'absolute'"),
        (Conformal(NaiveBayes(), conformity="absolute"), "conformity must be 'auto', 'lac' or 'aps'"),
        (Conformal(NaiveBayes(), "cv+"), "method='cv\\+' is for regression, but NaiveBayes is a classifier"),
        (Conformal(Ridge(), "cv+", conformity="normalized"), "supports conformity='absolute' only"),
        (Conformal(Ridge(), by_class=True), "by_class=True needs classes"),
        (Conformal(Ridge(), conformity="quantile"), "needs a regressor with a quantile loss, but Ridge has none"),
        (Conformal(Perceptron()), "need predict_proba, but Perceptron does not have it"),
        (Conformal(Ridge(), cv=[([0, 1], [2, 3])]), "tests each row exactly once"),
        (Conformal(Ridge), "must be a regressor or a classifier, got the class Ridge"),
        (Conformal(KFold()), "must be a regressor or a classifier"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_clear_errors(model, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((InputError, FoldwiseTypeError), match=words):
        model.fit(X, y)


def test_a_coverage_that_quantile_models_were_not_fitted_for():
    X, y = load_diabetes(return_X_y=True)
    from sklearn.linear_model import QuantileRegressor

    model = Conformal(Ridge(), conformity="quantile", interval_estimator=QuantileRegressor(alpha=0)).fit(X, y)
    with pytest.raises(InputError, match=r"fits its models for coverage=0.9, so 0.8 is not available"):
        model.predict_interval(X, 0.8)


def test_the_number_of_jobs_changes_nothing(rng):
    X, y = heteroscedastic(rng, 100)
    one, two = (Conformal(Ridge(), conformity="normalized", n_jobs=n).fit(X, y) for n in (None, 2))
    np.testing.assert_allclose(one.predict_interval(X), two.predict_interval(X))
