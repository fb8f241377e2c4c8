"""The fold law on every session: random and real tables, missing cells, weights, rare classes, impossible rows."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from foldwise import Column, GridSearchCV, NaiveBayes, Schema, read_table
from foldwise.errors import InputError
from foldwise.folds import Block, Failure, Need, RefitSession, freeze_splits, open_session
from foldwise.folds.audit import AuditError, check_one
from foldwise.folds.splits import LeaveOneOutSplits
from foldwise.testing import check_foldable
from tests.conftest import mixed_columns
from tests.slow import slow
from tests.tables import available, catalogue, table_path

SETTINGS = [
    {},
    {"alpha": 0.0},
    {"alpha": 0.0, "unseen": "smooth"},
    {"alpha": 2.5, "priors": "uniform"},
    {"var_floor": 0.3, "ddof": 0},
    {"missing": "category", "alpha": 0.5},
    {"alpha": -1.0},
    {"priors": [0.2, 0.3, 0.5]},
    {"families": "categorical"},
    {"families": "multinomial"},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_naive_bayes_on_mixed_tables(seed, weighted):
    rng = np.random.default_rng(seed)
    n = 90
    X = pl.DataFrame(mixed_columns(rng, n, missing=0.2))
    y = np.r_[np.zeros(55, int), np.ones(31, int), np.full(4, 2)]  # class 2 is rare: absent from some training rows
    params = {"sample_weight": rng.integers(0, 3, n).astype(float)} if weighted else {}
    splits = list(KFold(3).split(X)) + list(ShuffleSplit(2, train_size=8, random_state=seed).split(X))
    bootstrap = rng.integers(0, n, n)
    splits.append((bootstrap, np.setdiff1d(np.arange(n), bootstrap)))
    check_foldable(NaiveBayes(), X, y, SETTINGS, splits, params)


def test_naive_bayes_on_sparse_counts(rng):
    X = sp.csr_array(rng.poisson(0.7, (60, 8)))
    y = rng.integers(0, 3, 60)
    settings = [{}, {"alpha": 0.0}, {"alpha": 3.0, "priors": "uniform"}, {"families": "gaussian"}]
    check_foldable(NaiveBayes(), X, y, settings, list(KFold(4).split(np.zeros(60))))


def test_leave_one_out_with_text_labels(rng):
    X = pl.DataFrame(mixed_columns(rng, 14))
    y = np.array(["no", "yes"])[rng.integers(0, 2, 14)]
    check_foldable(NaiveBayes(), X, y, [{}, {"alpha": 0.0}], list(LeaveOneOut().split(X)))
    check_foldable(NaiveBayes(), X, y, [{}, {"alpha": 0.0}, {"missing": "category"}], LeaveOneOutSplits(np.arange(14)))


def test_the_refit_session_keeps_the_law_too(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    assert open_session(LogisticRegression(), X, y).shares == "refit"
    check_foldable(LogisticRegression(), X, y, [{}, {"C": 0.01}, {"C": -1.0}], list(KFold(3).split(X)))


@pytest.mark.parametrize("name", available("penguins", "weather_numeric", "labor", "primary_tumor"))
def test_naive_bayes_on_real_tables(name):
    table = read_table(table_path(name), target=catalogue()[name]["target"])
    splits = list(KFold(3, shuffle=True, random_state=0).split(table.X))
    check_foldable(NaiveBayes(), table.X, table.y, [s for s in SETTINGS if "families" not in s], splits)


class Leaky(NaiveBayes):
    """Its session learns from the test rows too."""

    def open_folds(self, X, y, fit_params):
        session = NaiveBayes.open_folds(self, X, y, fit_params)
        plain = session.answer
        session.answer = lambda settings, train, test, need: plain(settings, np.r_[train, test], test, need)
        return session


def test_a_session_that_leaks_is_caught(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    with pytest.raises(AssertionError, match="split 0"):
        check_foldable(Leaky(), X, y, [{}], list(KFold(3).split(X)))
    session = open_session(Leaky(), X, y)
    splits = freeze_splits(3, X, y, n_rows=60)
    with pytest.raises(AuditError, match="differ from those of a refit"):
        check_one(session, [{}], splits, Need.PROBA, np.random.default_rng(0))


def test_a_subclass_does_not_inherit_the_session(rng):
    class Changed(NaiveBayes):
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    assert isinstance(open_session(Changed(), X, y), RefitSession)
    assert open_session(NaiveBayes(), X, y).shares == "summaries"


def test_blocks_are_in_order(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    session = open_session(NaiveBayes(), X, y)
    settings = [{}, {"alpha": 2}, {"alpha": -1}, {"ddof": 0}, {"missing": "category"}, {"priors": [1]}, {"alpha": 3}]
    blocks = list(session.answer(settings, np.arange(10), np.arange(10, 20), Need.LABELS))
    assert [(b.start, b.stop) for b in blocks] == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)]
    assert [isinstance(b.answer, Failure) for b in blocks] == [False, False, True, False, False, True, False][1:]
    assert all(isinstance(b, Block) for b in blocks)
    assert blocks[0].answer.labels.shape == (2, 10)
    assert blocks[0].answer.log_proba is None
    assert session.model({"alpha": 2}, np.arange(10)).alpha == 2


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ([([0, 1, 2], [2, 3])], "split 0 has 1 row in both train and test, for example row 2"),
        ([([0, 1], [2]), ([], [3])], "split 1 has no training rows"),
        ([([0, 1], [])], "split 0 has no test rows"),
        ([([0, 1], [9])], "row 9, but the table has 6 rows"),
        ([([True, False], [1])], "mask of training rows of split 0 has 2 entries"),
        ([], "no split"),
    ],
)
def test_bad_splits(cv, words):
    with pytest.raises(InputError, match=words):
        freeze_splits(cv, np.zeros((6, 1)), np.arange(6) % 2, n_rows=6)


def test_masks_and_negative_rows_are_understood():
    mask = np.array([True, True, False, False])
    split = freeze_splits([(mask, [-1, -2])], np.zeros((4, 1)), [0, 1, 0, 1], n_rows=4)[0]
    assert split.train.tolist() == [0, 1]
    assert split.test.tolist() == [3, 2]


def test_columns_that_mix_text_and_numbers_are_refitted():
    X = pd.DataFrame({"c": [1 if i < 20 else "q" for i in range(40)]}, dtype=object)
    y = np.arange(40) % 2
    assert open_session(NaiveBayes(), X, y).shares == "refit"
    declared = Schema((Column("c", "categorical", ("0", "1")),))
    numbers = pd.DataFrame({"c": np.arange(40) % 2})
    check_foldable(NaiveBayes(families=declared), numbers, y, [{}], [(np.arange(20), np.arange(20, 40))])
    levels = pd.DataFrame({"c": pd.Categorical(np.array(list("abc"))[np.arange(40) % 3], list("abcde"))})
    splits = [(np.arange(20), np.arange(20, 40)), (np.arange(2), np.arange(2, 9))]
    settings = [{}, {"alpha": 0.0}, {"alpha": 0.0, "unseen": "smooth"}, {"priors": {0: 0.3, 1: 0.7}}]
    check_foldable(NaiveBayes(), levels, y, settings, splits)


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential", *slow("multiprocessing")])
def test_refits_run_on_any_backend_of_joblib(rng, backend):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3)
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend, n_jobs=2):
        found = search.set_params(n_jobs=None if backend == "sequential" else 2).fit(X, y)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected)
