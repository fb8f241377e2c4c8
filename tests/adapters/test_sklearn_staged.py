"""Models that contain their shorter selves: every size equals its own fit, bit for bit, and one fit is made."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from foldwise import GridSearchCV, read_table
from foldwise.adapters.sklearn_staged import StagedSession
from foldwise.folds import Answer, Failure, Need, RefitSession, open_session
from foldwise.folds.audit import first_difference, spread_of
from foldwise.folds.tolerance import are_close
from foldwise.testing import check_foldable
from tests.searches import assert_same_choice
from tests.slow import slow
from tests.tables import table_path

ALL = Need.LABELS | Need.PROBA | Need.DECISION | Need.VALUES
SIZES = [6, 1, 3, 3, -1, "abc", 2.5, True, np.int64(4)]
CLASSIFIERS = [
    HistGradientBoostingClassifier(min_samples_leaf=3),
    GradientBoostingClassifier(random_state=0),
    RandomForestClassifier(random_state=0),
    ExtraTreesClassifier(random_state=0),
    BaggingClassifier(random_state=0),
    AdaBoostClassifier(random_state=0),
]
REGRESSORS = [
    HistGradientBoostingRegressor(min_samples_leaf=3),
    GradientBoostingRegressor(random_state=0),
    RandomForestRegressor(random_state=0),
    ExtraTreesRegressor(random_state=0),
    BaggingRegressor(random_state=0),
    AdaBoostRegressor(random_state=0),
]


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of OpenMP that wait for a busy core spin, and small fits then take a hundred times as long."""
    with threadpool_limits(1):
        yield


def name_of(value):
    return type(value).__name__ if hasattr(value, "get_params") else str(value)


def size_name(model):
    return "max_iter" if hasattr(model, "max_iter") else "n_estimators"


def sizes_of(model, sizes=SIZES):
    return [{size_name(model): size} for size in sizes]


def table(seed, n=80, classes=3, columns=4):
    """Rows whose first columns tell the class; the last class is rare, and sits at the end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    y = np.searchsorted(np.quantile(X[:, 0], np.arange(1, classes) / classes), X[:, 0] + 0.5 * rng.normal(size=n))
    if classes > 2:
        y[y == classes - 1] = 0
        y[-3:] = classes - 1
    return X, y


def splits_of(n, seed=0):
    """Folds in order, tiny training sets, and a bootstrap."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n, n)
    few = list(ShuffleSplit(1, train_size=7, random_state=seed).split(np.zeros(n)))
    return [*list(KFold(4).split(np.zeros(n)))[::3], *few, (rows, np.setdiff1d(np.arange(n), rows))]


def assert_same_answers(estimator, X, y, settings, train, test, fit_params=None, need=ALL):
    """The session and plain refits agree within the tolerance; where a refit fails, the session fails alike."""
    session, refits = open_session(estimator, X, y, fit_params), RefitSession(estimator, X, y, fit_params)
    assert session.shares != "refit"
    ours, theirs = session.answer(settings, train, test, need), refits.answer(settings, train, test, need)
    for setting, one, other in zip(settings, ours, theirs, strict=True):
        a, b = one.answer, other.answer
        assert type(a) is type(b), (setting, a, b)
        if isinstance(a, Failure):
            assert type(a.error) is type(b.error), setting
            continue
        for part in ("labels", "proba", "decision", "values"):
            assert (getattr(a, part) is None) == (getattr(b, part) is None), (setting, part)
        assert not first_difference(a, b, test, spread_of(session.target, train)), setting


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize("classes", [3, *slow(2)])
def test_the_law_of_classifiers(model, classes):
    X, y = table(classes, 60, classes)
    check_foldable(model, X, y, sizes_of(model, [5, 1, 3, -1, "abc"]), splits_of(60))


@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
def test_the_law_of_regressors(model):
    X, _ = table(0, 60)
    y = X[:, 0] + X[:, 1] ** 2
    check_foldable(model, X, y, sizes_of(model, [5, 1, 3, -1, "abc"]), splits_of(60))


@pytest.mark.parametrize(
    "model",
    [
        *CLASSIFIERS,
        HistGradientBoostingClassifier(
            max_features=0.5, random_state=3, class_weight="balanced", monotonic_cst=[1, 0, 0, -1]
        ),
        GradientBoostingClassifier(subsample=0.5, max_features=2, random_state=3, init="zero"),
        GradientBoostingClassifier(loss="exponential", random_state=3),
        RandomForestClassifier(class_weight="balanced_subsample", max_samples=0.6, random_state=3, ccp_alpha=0.01),
        RandomForestClassifier(random_state=np.int32(5), monotonic_cst=[1, 0, 0, 0]),
        ExtraTreesClassifier(bootstrap=True, class_weight="balanced", random_state=3),
        BaggingClassifier(LogisticRegression(), max_features=0.5, bootstrap_features=True, random_state=3),
        BaggingClassifier(Perceptron(), max_samples=0.5, bootstrap=False, random_state=3),  # votes
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), learning_rate=0.5, random_state=3),
        AdaBoostClassifier(DecisionTreeClassifier(), random_state=3),  # the first member is perfect
        AdaBoostClassifier(learning_rate=40.0, random_state=3),  # soon worse than chance
    ],
    ids=name_of,
)
@pytest.mark.parametrize("classes", [2, *slow(9)])
@pytest.mark.filterwarnings("ignore")
def test_classifiers_bit_for_bit(model, classes):
    X, y = table(1, 90, classes)
    y = np.array([f"class {c}" for c in "cabdefghi"])[y]
    for train, test in splits_of(90):
        assert_same_answers(model, X, y, sizes_of(model), train, test)


@pytest.mark.parametrize(
    "model",
    [
        *REGRESSORS,
        HistGradientBoostingRegressor(loss="poisson", random_state=1),
        HistGradientBoostingRegressor(loss="absolute_error", random_state=1),
        GradientBoostingRegressor(loss="huber", subsample=0.7, random_state=1),
        GradientBoostingRegressor(loss="quantile", alpha=0.2, random_state=1),
        BaggingRegressor(Ridge(), random_state=1),
        AdaBoostRegressor(loss="exponential", random_state=1),
        AdaBoostRegressor(Ridge(), random_state=1),
    ],
    ids=name_of,
)
def test_regressors_bit_for_bit(model):
    X, _ = table(1, 90)
    y = np.abs(X[:, 0] + np.sin(3 * X[:, 1]))
    for train, test in splits_of(90):
        assert_same_answers(model, X, y, sizes_of(model), train, test)


def test_bags_that_predict_in_several_processes():
    X, y = table(1, 60, 3)
    model = BaggingClassifier(random_state=3, n_jobs=2)
    assert_same_answers(model, X, y, sizes_of(model, [5, 2]), np.arange(40), np.arange(40, 60))


@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=name_of)
def test_sample_weights(model):
    X, y = table(2, 60)
    weights = {"sample_weight": np.random.default_rng(0).integers(0, 3, 60).astype(float)}
    for train, test in splits_of(60)[:1]:
        assert_same_answers(model, X, y, sizes_of(model), train, test, weights)


@pytest.mark.parametrize(
    "model", [m for m in CLASSIFIERS + REGRESSORS if not name_of(m).startswith(("Gradient", "Ada"))], ids=name_of
)
def test_missing_cells(model):
    X, y = table(3, 60)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    assert_same_answers(model, X, y, sizes_of(model), np.arange(40), np.arange(40, 60))


def test_missing_cells_are_refused_as_by_a_refit():
    X, y = table(3, 60)
    X[50, 0] = np.nan  # a test row: fits succeed, predictions do not
    model = GradientBoostingClassifier(random_state=0)
    assert_same_answers(model, X, y, sizes_of(model), np.arange(40), np.arange(40, 60))
    answers = list(open_session(model, X, y).answer(sizes_of(model), np.arange(40), np.arange(40, 60), ALL))
    assert all(isinstance(block.answer, Failure) or block.answer.labels is None for block in answers)


@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=name_of)
@pytest.mark.parametrize("frame", [pd.DataFrame, *slow(pl.DataFrame)])
def test_frames_keep_their_names_without_a_warning(model, frame):
    X, y = table(4, 60)
    X = frame({f"column {j}": X[:, j] for j in range(X.shape[1])})
    settings = sizes_of(model, [5, 2])
    assert_same_answers(model, X, y, settings, np.arange(40), np.arange(40, 60))
    assert open_session(model, X, y).model(settings[1], np.arange(40)).feature_names_in_[0] == "column 0"


def test_categorical_columns_of_histograms():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=90), "c": pd.Categorical(rng.choice(list("abcd"), 90))})
    y = (X["n"] + (X["c"] == "a") > 0.3).to_numpy()
    model = HistGradientBoostingClassifier(min_samples_leaf=3)
    for train, test in splits_of(90):
        assert_same_answers(model, X, y, sizes_of(model), train, test)


@pytest.mark.parametrize("model", CLASSIFIERS[1:] + REGRESSORS[1:], ids=name_of)
def test_sparse_rows(model):
    X, y = table(5, 60)
    assert_same_answers(model, sp.csr_matrix(np.maximum(X, 0)), y, sizes_of(model), np.arange(40), np.arange(40, 60))


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(early_stopping=True, random_state=0, n_iter_no_change=2, min_samples_leaf=3),
        HistGradientBoostingClassifier(
            early_stopping=True, random_state=0, n_iter_no_change=2, min_samples_leaf=3, scoring="accuracy"
        ),
        HistGradientBoostingRegressor(
            early_stopping=True,
            random_state=0,
            n_iter_no_change=2,
            min_samples_leaf=3,
            validation_fraction=None,
            tol=0.01,
        ),
        GradientBoostingClassifier(n_iter_no_change=2, random_state=0, subsample=0.8),
        GradientBoostingRegressor(n_iter_no_change=1, random_state=0),
    ],
    ids=name_of,
)
def test_a_model_that_stopped_early_contains_those_that_stopped_earlier(model):
    X, y = table(6, 120, 2)
    train, test = np.arange(90), np.arange(90, 120)
    settings = sizes_of(model, [1, 2, 5, 20, 100])
    assert_same_answers(model, X, y, settings, train, test)
    session, refits = open_session(model, X, y), RefitSession(model, X, y)
    for setting, one in zip(settings, session.fit_group(settings, train), strict=True):
        other = refits.model(setting, train)
        assert are_close(one.train_score_, other.train_score_)
        assert getattr(one, "n_iter_", None) == getattr(other, "n_iter_", None)
        assert getattr(one, "n_estimators_", None) == getattr(other, "n_estimators_", None)
    assert len(other.train_score_) < 100


@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=name_of)
def test_shorter_models_are_whole_models(model):
    X, y = table(7, 60)
    settings = sizes_of(model, [5, 2, 3])
    train, test = np.arange(40), np.arange(40, 60)
    session, refits = open_session(model, X, y), RefitSession(model, X, y)
    blocks = list(session.answer(settings, train, test, ALL | Need.MODEL))
    for setting, block in zip(settings, blocks, strict=True):
        (one,), other = block.answer.models, refits.model(setting, train)
        assert one.get_params() == other.get_params()
        for again in (one, session.model(setting, train)):  # one that was asked, of other rows, and one that was not
            assert are_close(again.predict(X), other.predict(X))
        for name in ("estimator_weights_", "estimator_errors_", "train_score_", "feature_importances_"):
            if hasattr(other, name):
                assert are_close(getattr(one, name), getattr(other, name)), name
        if hasattr(other, "estimators_samples_"):
            assert np.array_equal(one.estimators_samples_, other.estimators_samples_)


def test_scores_out_of_bag_of_subsamples():
    X, y = table(7, 60)
    model = GradientBoostingClassifier(subsample=0.5, random_state=0)
    one, other = (kind(model, X, y) for kind in (open_session, RefitSession))
    longer, short = list(one.fit_group([{"n_estimators": 9}, {"n_estimators": 4}], np.arange(60)))
    assert short.oob_score_ == other.model({"n_estimators": 4}, np.arange(60)).oob_score_ != longer.oob_score_


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(),
        RandomForestClassifier(random_state=np.random.RandomState(0)),
        RandomForestClassifier(random_state=0, warm_start=True),
        RandomForestClassifier(random_state=0, oob_score=True),
        ExtraTreesRegressor(),
        GradientBoostingClassifier(),
        GradientBoostingClassifier(random_state=0, warm_start=True),
        GradientBoostingClassifier(random_state=0, init=RandomForestClassifier()),
        HistGradientBoostingClassifier(warm_start=True),
        HistGradientBoostingClassifier(max_features=0.5),
        HistGradientBoostingClassifier(early_stopping=True),
        HistGradientBoostingClassifier(random_state=np.random.RandomState(0)),
        HistGradientBoostingClassifier(random_state=0, scoring=lambda model, X, y: 0.0),
        BaggingClassifier(),
        BaggingClassifier(random_state=0, oob_score=True),
        BaggingClassifier(TheirGridSearchCV(LinearDiscriminantAnalysis(), {}, cv=ShuffleSplit(2)), random_state=0),
        AdaBoostClassifier(),
        AdaBoostRegressor(random_state=np.random.RandomState(0)),
    ],
    ids=name_of,
)
def test_what_is_not_repeatable_is_refitted(model):
    X, y = table(8, 40, 2)
    session = open_session(model, X, y)
    assert session.lazy({}) == frozenset()
    assert all(isinstance(b.answer, Answer) for b in session.answer([{}], np.arange(30), np.arange(30, 40), ALL))


def test_a_setting_may_bring_the_seed_or_take_it():
    X, y = table(8, 40, 2)
    session = open_session(RandomForestClassifier(), X, y)
    assert session.lazy({"random_state": 3, "n_estimators": 2}) == {"n_estimators"}
    settings = [{"random_state": seed, "n_estimators": size} for seed in (1, 2) for size in (2, 4)]
    assert_same_answers(RandomForestClassifier(), X, y, settings, np.arange(30), np.arange(30, 40))
    assert open_session(RandomForestClassifier(random_state=0), X, y).lazy({"random_state": None}) == frozenset()
    assert open_session(RandomForestClassifier(random_state=0), X, y).lazy({"oob_score": True}) == frozenset()


def test_the_number_of_training_rows_decides_whether_histograms_are_random():
    model = HistGradientBoostingClassifier()
    X, y = np.zeros((24_000, 1)), np.arange(24_000) % 2
    assert open_session(model, X, y).lazy({}) == frozenset()
    assert open_session(model, X, y).lazy({"early_stopping": False}) == {"max_iter"}
    assert open_session(model, X, y).lazy({"random_state": 0}) == {"max_iter"}
    session = open_session(model, X[:18_000], y[:18_000])
    assert session.lazy({}) == {"max_iter"}
    settings = sizes_of(model, [1, 2])
    assert session.fit_longest(settings, np.arange(10_000))[0].n_iter_ == 2
    assert session.fit_longest(settings, np.arange(10_001)) == (None, None)
    assert [one.n_iter_ for one in session.fit_group(settings, np.arange(10_001))] == [1, 2]
    assert not session.layout.repeatable({**model.get_params(), "early_stopping": False}, 200_001)


def test_other_targets_and_fit_parameters_are_refitted():
    X, y = table(8, 40, 2)
    forest, boosting = RandomForestRegressor(random_state=0), GradientBoostingRegressor(random_state=0)
    assert open_session(forest, X, np.c_[y, y]).shares == "refit"
    assert open_session(boosting, X, y, {"monitor": lambda i, model, rows: i == 3}).shares == "refit"
    assert open_session(boosting, X, y, {"sample_weight": np.ones(40)}).shares == "stages"


def test_a_subclass_is_refitted():
    class Changed(RandomForestClassifier):
        pass

    X, y = table(8, 40, 2)
    assert isinstance(open_session(Changed(random_state=0), X, y), RefitSession)


def test_when_the_longest_fails_the_others_do_not(monkeypatch):
    X, y = table(8, 40, 2)
    model = RandomForestClassifier(random_state=0)
    plain = RandomForestClassifier.fit

    def fit(self, X, y, sample_weight=None):
        if self.n_estimators == 9:
            raise MemoryError("too long")
        return plain(self, X, y, sample_weight)

    monkeypatch.setattr(RandomForestClassifier, "fit", fit)
    settings = sizes_of(model, [9, 2, 4])
    assert_same_answers(model, X, y, settings, np.arange(30), np.arange(30, 40))
    blocks = list(open_session(model, X, y).answer(settings, np.arange(30), np.arange(30, 40), ALL))
    assert [isinstance(block.answer, Failure) for block in blocks] == [True, False, False]


def test_members_are_asked_once(monkeypatch):
    X, y = table(8, 60, 2)
    asked = []
    for kind, method in ((RandomForestClassifier, "predict_proba"), (AdaBoostClassifier, "predict")):
        plain = getattr(DecisionTreeClassifier, method)
        monkeypatch.setattr(
            DecisionTreeClassifier, method, lambda self, *a, p=plain, **k: asked.append(self) or p(self, *a, **k)
        )
        model = kind(random_state=0)
        session = open_session(model, X, y)
        longest, _ = session.fit_longest(sizes_of(model, [6, 2, 4]), np.arange(40))
        predictor = session.layout.predictor(longest, X[40:], ALL, session.layout.cut)
        asked.clear()
        for size in (2, 4, 6):
            session.answer_stage(predictor, size, X[40:], ALL)
        assert len(asked) == 6
        monkeypatch.undo()


def test_one_fit_for_each_group_and_split():
    X, y = table(9, 60, 2)
    model = RandomForestClassifier(random_state=0)
    grid = {"n_estimators": [2, 5, 9], "max_depth": [1, None]}
    ours = GridSearchCV(model, grid, cv=3).fit(X, y)
    theirs = TheirGridSearchCV(model, grid, cv=3).fit(X, y)
    assert (ours.session_, ours.fits_done_, ours.models_scored_) == ("stages", 2 * 3, 6 * 3)
    assert are_close(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert_same_choice(ours, theirs)
    assert isinstance(open_session(model, X, y), StagedSession)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_a_real_table(model):
    frame = read_table(table_path("penguins"), target="species")
    X = np.column_stack([frame.X[name] for name in ("bill_length_mm", "bill_depth_mm", "body_mass_g")]).astype(float)
    X, y = np.nan_to_num(X), np.asarray(frame.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for train, test in KFold(2, shuffle=True, random_state=0).split(X):
            assert_same_answers(model, X, y, sizes_of(model, [10, 3, 6]), train, test)
