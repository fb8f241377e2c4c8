"""Leave-one-out from the facts of all rows against models that were fitted without each row."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import model_selection as peer
from sklearn.model_selection import GridSearchCV as PeerGrid
from sklearn.model_selection import KFold, LeaveOneOut, LeavePOut

from foldwise import CostMatrix, GridSearchCV, NaiveBayes, cross_predict, nested_cv
from foldwise.errors import InputError
from foldwise.folds import Failure, Need, open_session
from foldwise.folds.audit import AuditError
from foldwise.folds.leave_one_out import answer_leave_one_out, answers_leave_one_out
from foldwise.folds.splits import LeaveOneOutSplits, Split, freeze_splits
from foldwise.testing import CELLS
from tests.conftest import mixed_columns
from tests.searches import first_best
from tests.slow import slow
from tests.tuning.test_search import assert_same_results

SETTINGS = [
    {},
    {"alpha": 0.0},
    {"alpha": 0.3, "unseen": "smooth"},
    {"alpha": 0.0, "unseen": "smooth", "missing": "category"},
    {"missing": "category", "alpha": 2.0, "priors": "uniform"},
    {"var_floor": 0.3, "ddof": 0},
    {"var_floor": 0.0},
    {"columns": [0]},
]
AT_ONCE = ("categorical", "gaussian", "bernoulli", "multinomial", "poisson", "binomial", "gamma", "binned")
TOLERANCE = 1e-9


def told_at_once(session, settings, rows, need=Need.LABELS | Need.PROBA):
    """Labels, log-probabilities, failures, and how many rows had a model of their own."""
    splits = LeaveOneOutSplits(rows)
    labels, logs, failed, singly = [], [], {}, 0
    for told in answer_leave_one_out(session, settings, splits, need):
        shape = (told.stop - told.start, len(rows))
        labels.append(np.full(shape, -1) if told.answer.labels is None else told.answer.labels)
        empty = np.full((*shape, len(session.classes)), np.nan)
        logs.append(empty if told.answer.log_proba is None else told.answer.log_proba)
        failed |= {(i, k): failure.error for i, k, failure in told.failed}
        singly = max(singly, told.n_refits)
    return np.concatenate(labels), np.concatenate(logs), failed, singly


def check_against_refits(estimator, X, y, settings, weights=None, rows=None, most_singly=None):
    """The same label, log-probability or error as a model fitted on the other rows.

    Of large tables, each setting is checked on every third row (each on others), and on the first and last rows, which
    tests make special.
    """
    frame, y = pl.DataFrame(X) if isinstance(X, dict) else X, np.asarray(y)
    params = {} if weights is None else {"sample_weight": weights}
    session = open_session(estimator, frame, y, params)
    rows = np.arange(len(y)) if rows is None else rows
    assert all(session.answers_leave_one_out(setting) for setting in settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, logs, failed, singly = told_at_once(session, settings, rows)
        for s, setting in enumerate(settings):
            for k in range(len(rows)):
                if len(rows) > 12 and 2 <= k < len(rows) - 2 and k % 3 != s % 3:
                    continue
                train = np.delete(rows, k)
                model = type(estimator)(**{**estimator.get_params(deep=False), **setting})
                refused = None
                try:
                    model.fit(frame[train], y[train], None if weights is None else weights[train])
                    expected = model.predict_log_proba(frame[rows[k : k + 1]])[0]
                except ValueError as error:
                    refused = error
                assert type(failed.get((s, k))) is type(refused), (setting, k, failed.get((s, k)), refused)
                if refused is not None:
                    continue
                found = logs[s, k, np.searchsorted(session.classes, model.classes_)]
                finite = np.isfinite(expected)
                assert (np.isfinite(found) == finite).all(), (setting, k, found, expected)
                scale = np.maximum(1.0, np.abs(expected[finite]))
                gap = np.max(np.abs(found[finite] - expected[finite]) / scale, initial=0.0)
                assert gap <= TOLERANCE, (setting, k, found, expected)
                absent = np.setdiff1d(np.arange(len(session.classes)), np.searchsorted(session.classes, model.classes_))
                assert np.isneginf(logs[s, k, absent]).all()
                label = session.classes[labels[s, k]]
                if label != model.classes_[expected.argmax()]:  # a tie within rounding
                    mine = expected[model.classes_.tolist().index(label)]
                    assert expected.max() - mine <= TOLERANCE * max(1.0, abs(mine))
    if most_singly is not None:
        assert singly <= most_singly
    return singly


@pytest.mark.parametrize("weighting", ["none", "fractional", *slow("whole")])
@pytest.mark.parametrize("family", AT_ONCE)
def test_every_family(family, weighting):
    rng = np.random.default_rng(len(family))
    n = 30
    X = {f"c{j}": list(CELLS[family](rng, n)) for j in range(3)}
    for cells in X.values():
        for i in np.flatnonzero(rng.random(n) < 0.15):
            cells[i] = None
    y = rng.integers(0, 3, n)
    weights = {"none": None, "whole": rng.integers(0, 4, n).astype(float), "fractional": 0.2 + 3 * rng.random(n)}[
        weighting
    ]
    if weighting == "fractional":
        weights[:2] = [0.0, 5e4]  # a row that nearly is its class
    check_against_refits(NaiveBayes(families=family), X, y, SETTINGS, weights, most_singly=25)


@pytest.mark.parametrize("weighted", [False, True])
def test_mixed_tables(rng, weighted):
    n = 30
    X = mixed_columns(rng, n, missing=0.2) | {"count": rng.poisson(2.0, n).tolist()}
    y = np.r_[np.zeros(16, int), np.ones(11, int), np.full(2, 2), [3]]  # one class vanishes, one has a row left
    weights = rng.integers(0, 3, n).astype(float) if weighted else None
    model = NaiveBayes(families={"count": "poisson"})
    settings = [*SETTINGS, {"priors": [0.1, 0.2, 0.3, 0.4]}, {"priors": [0.2, 0.3, 0.5]}, {"alpha": -1.0}]
    check_against_refits(model, X, y, settings, weights)


cells = {
    "category": st.sampled_from(["a", "a", "b", "c", None]),
    "number": st.sampled_from([0.0, 0.0, 1.0, 1.5, -2.0, 1e6, None]),
    "mark": st.sampled_from([0, 0, 1, None]),
    "event": st.sampled_from([0, 0, 1, 2, 7, None]),
    "trial": st.sampled_from([0, 1, 3, 3, 5, None]),
    "times": st.sampled_from([0, 1, 4, None]),
    "times2": st.sampled_from([0, 0, 0.5, 2, None]),
    "width": st.sampled_from([0.0, 1.0, 2.5, 9.0, None]),
}
FAMILIES = {
    "category": "categorical",
    "number": "gaussian",
    "mark": "bernoulli",
    "event": "poisson",
    "trial": "binomial",
    "times": "multinomial",
    "times2": "multinomial",
    "width": "binned",
}


@st.composite
def tables(draw):
    n = draw(st.integers(3, 9))
    names = draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=4, unique=True))
    X = {name: draw(st.lists(cells[name], min_size=n, max_size=n)) for name in names}
    y = draw(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.1, 0.37, 1e4]), min_size=n, max_size=n))
    return X, y, None if weights is None else np.array(weights)


def test_one_row_is_left_of_a_class_with_whole_weights():
    """Its mean is 0, but the mean of both rows was 2/3, which no float is."""
    frame = pl.DataFrame({"number": [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]})
    weights = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 2.0])
    model = NaiveBayes(families={"number": "gaussian"})
    check_against_refits(model, frame, np.array([0, 0, 0, 1, 0, 1]), [{"var_floor": 0.0}], weights)


@given(tables())
@settings(max_examples=10)
def test_small_tables_of_all_kinds(table):
    check_a_small_table(table)


@pytest.mark.slow
@given(tables())
@settings(max_examples=60)
def test_many_small_tables_of_all_kinds(table):
    check_a_small_table(table)


def check_a_small_table(table):
    X, y, weights = table
    kinds = {"category": pl.String}
    frame = pl.DataFrame(X, schema={name: kinds.get(name, pl.Float64) for name in X})
    model = NaiveBayes(families={name: FAMILIES[name] for name in X}, bins=3)
    if len(set(y)) > 1 and (weights is None or weights.any()):
        check_against_refits(model, frame, y, SETTINGS, weights)


def test_one_row_of_a_fraction_is_left():
    for last in (-2.0, 1e6):
        X = {"x": [0.0, 1e6, 0.0, 0.0, 0.0, 0.0, last]}
        weights = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.1, 1.0])
        check_against_refits(NaiveBayes(), X, [0, 1, 0, 0, 0, 0, 0], SETTINGS, weights)


def test_a_constant_column_that_one_row_breaks():
    n = 30
    X = {"x": [5.0] * (n - 1) + [7.0], "z": np.linspace(1e8, 1e8 + 5, n).tolist(), "far": [1.0, 2.0] * 14 + [3.0, 1e12]}
    assert check_against_refits(NaiveBayes(), X, np.arange(n) % 3, SETTINGS) <= 2


def test_declared_levels_stay(rng):
    levels = pd.Categorical(["a", "b", "a", "c", "a", "b", "a", "b"], list("abcde"))
    frame = pl.from_pandas(pd.DataFrame({"c": levels, "x": rng.normal(size=8)}))
    check_against_refits(NaiveBayes(), frame, [0, 1, 0, 1, 0, 1, 1, 0], SETTINGS)


def test_sparse_counts(rng):
    X = sp.csr_array(rng.poisson(0.5, (50, 8)) * rng.choice([1.0, 0.25], 8))
    y = rng.integers(0, 3, 50)
    settings = [{}, {"alpha": 0.0}, {"alpha": 2.0, "priors": "uniform"}, {"columns": [1, 2]}]
    check_against_refits(NaiveBayes(), X, y, settings)
    check_against_refits(NaiveBayes(), X, y, settings, rng.random(50))


def test_some_rows_of_a_table_and_repeated_ones(rng):
    X, y = mixed_columns(rng, 40), rng.integers(0, 4, 40)
    rows = np.r_[rng.choice(np.flatnonzero(y < 3), 20), np.flatnonzero(y < 3)[:3]]
    check_against_refits(NaiveBayes(), X, y, SETTINGS, rows=rows)


def test_what_is_not_answered_at_once(rng):
    X, y = pl.DataFrame({"x": rng.normal(size=20), "z": rng.normal(size=20)}), np.arange(20) % 2
    session = open_session(NaiveBayes(), X, y)
    for setting in ({"families": "kde"}, {"families": "best"}, {"families": "binned", "cuts": "entropy"}):
        assert not session.answers_leave_one_out(setting)
        found = cross_predict(NaiveBayes(), X, y, cv=LeaveOneOut(), setting=[setting, {}], method="predict_proba")
        for one, params in zip(found, (setting, {}), strict=True):
            expected = peer.cross_val_predict(NaiveBayes(**params), X, y, cv=LeaveOneOut(), method="predict_proba")
            np.testing.assert_allclose(one, expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("cv", [LeaveOneOut(), LeavePOut(1), KFold(40)])
def test_cross_predict(rng, method, cv):
    X = pl.DataFrame(mixed_columns(rng, 40))
    y = np.array(["no"] * 25 + ["yes"] * 14 + ["rare"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = peer.cross_val_predict(NaiveBayes(), X, y, cv=cv, method=method)
        found = cross_predict(NaiveBayes(), X, y, cv=cv, method=method)
    if method == "predict":
        assert found.tolist() == expected.tolist()
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)
        with pytest.warns(RuntimeWarning, match="Number of classes in training fold"):
            cross_predict(NaiveBayes(), X, y, cv=cv, method=method)


def test_a_failing_split_is_named(rng):
    X, y = pl.DataFrame({"x": rng.normal(size=8)}), [0] * 7 + [1]
    with pytest.raises(InputError, match="one class") as caught:
        cross_predict(NaiveBayes(), X, y, cv=LeaveOneOut())
    assert "split 7" in caught.value.__notes__[0]
    with pytest.raises(InputError, match="infinity") as caught:
        cross_predict(NaiveBayes(), X.with_columns(x=pl.lit(np.inf)), y, cv=LeaveOneOut())
    assert "split 0" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("scoring", "weighted"),
    [
        (None, False),
        ("f1_macro", True),
        (["accuracy", "f1_micro"], False),
        *slow(("accuracy", True), ("f1_macro", False), ("neg_brier_score", True)),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_search(rng, scoring, weighted):
    X, y = pl.DataFrame(mixed_columns(rng, 20)), rng.integers(0, 2, 20)
    grid = {"alpha": [0.01, 30.0], "missing": ["ignore", "category"], "priors": ["empirical", [0.5, 0.5]]}
    options = {"cv": LeaveOneOut(), "scoring": scoring, "refit": "accuracy" if isinstance(scoring, list) else True}
    params = {"sample_weight": rng.integers(1, 4, 20).astype(float)} if weighted else {}
    ours = GridSearchCV(NaiveBayes(), grid, **options).fit(X, y, **params)
    theirs = PeerGrid(NaiveBayes(), grid, **options).fit(X, y, **params)
    if scoring == "neg_brier_score":
        for key in theirs.cv_results_:
            if key.startswith("split"):
                np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], rtol=1e-10)
    else:
        assert_same_results(ours, theirs)
    assert ours.n_splits_ == 20
    assert ours.fits_done_ == 1
    assert ours.kept_.labels.shape == (8, 20)
    if scoring != "neg_brier_score":
        expected = ours.kept_.labels != np.searchsorted(ours.kept_.classes, y)
        assert scoring == "f1_macro" or (ours.kept_.losses == expected).all()


@pytest.mark.filterwarnings("ignore")
def test_a_search_in_which_some_splits_fail(rng):
    X = pl.DataFrame(mixed_columns(rng, 20))
    y = np.r_[rng.integers(0, 2, 19), 2]
    grid = {"priors": ["empirical", [0.2, 0.3, 0.5]], "alpha": [1.0, -1.0]}
    ours = GridSearchCV(NaiveBayes(), grid, cv=LeaveOneOut()).fit(X, y)
    theirs = PeerGrid(NaiveBayes(), grid, cv=LeaveOneOut()).fit(X, y)
    assert_same_results(ours, theirs)
    assert ours.kept_.labels[2, 19] == -1
    assert np.isnan(ours.kept_.losses[2, 19])


def test_train_scores_and_costs_and_nested(rng):
    X, y = pl.DataFrame(mixed_columns(rng, 24)), rng.integers(0, 2, 24)
    grid = {"alpha": [0.1, 10.0]}
    options = {"cv": LeaveOneOut(), "return_train_score": True}
    assert_same_results(
        GridSearchCV(NaiveBayes(), grid, **options).fit(X, y), PeerGrid(NaiveBayes(), grid, **options).fit(X, y)
    )
    costs = CostMatrix((0, 1), (0, 1), np.array([[0.0, 5.0], [1.0, 0.0]]))
    ours = GridSearchCV(NaiveBayes(), grid, cv=LeaveOneOut(), scoring=costs).fit(X, y)
    theirs = PeerGrid(NaiveBayes(), grid, cv=LeaveOneOut(), scoring=costs.scorer()).fit(X, y)
    assert_same_results(ours, theirs)
    result = nested_cv(GridSearchCV(NaiveBayes(), grid, cv=LeaveOneOut()), X, y, cv=3)
    search = PeerGrid(NaiveBayes(), grid, cv=LeaveOneOut(), refit=first_best)
    expected = peer.cross_validate(search, X, y, cv=3)["test_score"]
    np.testing.assert_allclose(result.scores, expected)


def test_the_audit_looks_at_what_was_answered_at_once(rng, monkeypatch):
    from foldwise.bayes.leave_one_out.scores import LeaveOneOutScores

    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    GridSearchCV(NaiveBayes(), {"alpha": [1.0]}, cv=LeaveOneOut()).fit(X, y)
    plain = LeaveOneOutScores.log_proba
    monkeypatch.setattr(LeaveOneOutScores, "log_proba", lambda self: plain(self) - 1e-6)
    with pytest.raises(AuditError, match="differ from those of a refit"):
        GridSearchCV(NaiveBayes(), {"alpha": [1.0]}, cv=LeaveOneOut(), scoring="neg_brier_score").fit(X, y)


def test_the_row_itself_is_never_learned(rng):
    """Whatever label and weight the left-out row has, what is said of it stays."""
    X, y = pl.DataFrame(mixed_columns(rng, 30)), np.arange(30) % 3
    weights = rng.integers(1, 4, 30).astype(float)
    first = cross_predict(NaiveBayes(), X, y, cv=LeaveOneOut(), method="predict_log_proba", sample_weight=weights)
    for i in range(30):
        other, heavier = y.copy(), weights.copy()
        other[i], heavier[i] = (y[i] + 1) % 3, 3 * weights[i]
        again = cross_predict(
            NaiveBayes(), X, other, cv=LeaveOneOut(), method="predict_log_proba", sample_weight=heavier
        )
        np.testing.assert_allclose(again[i], first[i], rtol=1e-10)


def test_splits_of_leave_one_out_are_lazy_and_those_of_scikit_learn():
    rows = np.array([4, 7, 7, 9])
    splits = LeaveOneOutSplits(rows)
    assert len(splits) == 4
    assert [(s.train.tolist(), s.test.tolist()) for s in splits] == [
        ([7, 7, 9], [4]),
        ([4, 7, 9], [7]),
        ([4, 7, 9], [7]),
        ([4, 7, 7], [9]),
    ]
    assert isinstance(splits[-1], Split)
    assert splits[-1].test.tolist() == [9]
    with pytest.raises(IndexError):
        splits[4]
    codes = np.arange(10) % 3
    for split in splits:
        assert split.trained(codes, 3).tolist() == np.bincount(codes[split.train], minlength=3).tolist()
    found = freeze_splits(LeaveOneOut(), np.zeros((200_000, 0)), np.zeros(200_000), n_rows=200_000)
    assert isinstance(found, LeaveOneOutSplits)  # 320 GB of index arrays
    assert len(found[7].train) == 199_999
    shuffled = freeze_splits(KFold(5, shuffle=True, random_state=0), np.zeros((5, 1)), np.arange(5), n_rows=5)
    assert not isinstance(shuffled, LeaveOneOutSplits)


def test_other_sessions_take_the_splits_one_by_one(rng):
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    for model in (GaussianNB(), DecisionTreeClassifier(random_state=0)):
        session = open_session(model, X, y)
        assert not answers_leave_one_out(session, {}, LeaveOneOutSplits(np.arange(20)))
        found = cross_predict(model, X, y, cv=LeaveOneOut())
        assert found.tolist() == peer.cross_val_predict(model, X, y, cv=LeaveOneOut()).tolist()


def test_a_refused_cell_fails_every_split(rng):
    session = open_session(NaiveBayes(families="poisson"), np.array([[1.0], [2.0], [-3.0], [1.0]]), [0, 1, 0, 1])
    [told] = answer_leave_one_out(session, [{}], LeaveOneOutSplits(np.arange(4)), Need.LABELS)
    assert [(i, k) for i, k, _ in told.failed] == [(0, k) for k in range(4)]
    assert all(isinstance(failure, Failure) for *_, failure in told.failed)
