"""Splits of every kind, frozen: the splitter's own rows, scikit-learn's scores, and words for what is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import model_selection as peer
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from foldwise import GridSearchCV, NaiveBayes, nested_cv
from foldwise.errors import InputError
from foldwise.folds import freeze_splits
from foldwise.folds.protocol import Labels
from foldwise.folds.quick_splits import ONE_GENERATOR, seeded, stratified_pairs
from tests.searches import assert_same_choice, first_best
from tests.tuning.test_search import assert_same_results

N = 36
GROUPS = np.arange(N) % 6
PAIRS = [(np.arange(20), np.arange(20, 36)), (np.arange(10, 36), np.arange(5))]

SPLITTERS = {
    "holdout": ShuffleSplit(1, test_size=0.3, random_state=0),
    "repeated holdout": ShuffleSplit(4, test_size=0.3, random_state=0),
    "stratified holdout": StratifiedShuffleSplit(3, test_size=0.3, random_state=0),
    "k-fold": KFold(4, shuffle=True, random_state=1),
    "stratified": StratifiedKFold(3),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "repeated stratified": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    "leave one out": LeaveOneOut(),
    "time series": TimeSeriesSplit(4),
    "fixed validation set": PredefinedSplit(np.r_[np.full(24, -1), np.zeros(12, int)]),
    "list of pairs": PAIRS,
    "number": 4,
    "none": None,
}
BY_GROUP = {
    "group": GroupKFold(3),
    "stratified group": StratifiedGroupKFold(3),
    "leave a group out": LeaveOneGroupOut(),
    "leave groups out": LeavePGroupsOut(2),
    "group holdout": GroupShuffleSplit(2, test_size=0.3, random_state=0),
}


@pytest.fixture
def table(rng):
    y = np.arange(N) % 2
    return rng.normal(size=(N, 3)) + y[:, None] / 2, rng.permutation(y)


@pytest.mark.parametrize("name", [*SPLITTERS, *BY_GROUP])
def test_the_rows_are_those_of_the_splitter(table, name):
    X, y = table
    cv, groups = (SPLITTERS[name], None) if name in SPLITTERS else (BY_GROUP[name], GROUPS)
    expected = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    found = freeze_splits(cv, X, y, groups, n_rows=N)
    assert len(found) == len(expected)
    for split, (train, test) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(split.train, train)
        np.testing.assert_array_equal(split.test, test)
        assert split.train.dtype == split.test.dtype == np.intp


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16])
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_stratified_folds_are_dealt_as_scikit_learn_deals_them(rng, shuffle, dtype, n_classes):
    for n_folds in (2, 3, 5):
        y = rng.choice([17, 3, 40, 5, 0, 91, 8][:n_classes], size=int(rng.integers(150, 400))).astype(dtype)
        X = np.empty((len(y), 0))
        cv = StratifiedKFold(n_folds, shuffle=shuffle, random_state=int(rng.integers(1000)) if shuffle else None)
        found, expected = stratified_pairs(cv, X, y, None), list(cv.split(X, y))
        assert found is not None
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine[0], theirs[0])
            np.testing.assert_array_equal(mine[1], theirs[1])
            assert mine[0].dtype == mine[1].dtype == np.intp


@pytest.mark.parametrize(
    ("cv", "y"),
    [
        (StratifiedKFold(3), np.array([0, 0, 0, 1, 1, 1, 2, 2])),  # scikit-learn warns
        (StratifiedKFold(3), np.array([0, 1])),  # it refuses
        (StratifiedKFold(3), np.arange(12) % 2 / 2),  # it refuses, or takes them for classes
        (StratifiedKFold(3), np.arange(12) % 2 == 0),
        (StratifiedKFold(3, shuffle=True), np.arange(12) % 2),  # from numpy's own generator
        (StratifiedKFold(3, shuffle=True, random_state=np.random.RandomState(0)), np.arange(12) % 2),
        (StratifiedKFold(3), np.array([], dtype=np.int64)),
        (KFold(3), np.arange(12) % 2),
    ],
)
def test_what_is_unusual_is_left_to_the_splitter(cv, y):
    assert stratified_pairs(cv, np.zeros((len(y), 1)), y, None) is None
    assert stratified_pairs(cv, np.zeros((len(y) + 1, 1)), y, None) is None


def test_groups_beside_stratified_folds_are_left_to_the_splitter():
    y = np.arange(12) % 2
    assert stratified_pairs(StratifiedKFold(3), np.zeros((12, 1)), y, y) is None


def test_leave_p_out():
    found = freeze_splits(LeavePOut(2), np.zeros((6, 1)), np.arange(6) % 2, n_rows=6)
    assert len(found) == 15
    assert found[0].test.tolist() == [0, 1]


@pytest.mark.parametrize("name", [*SPLITTERS, *BY_GROUP])
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (NaiveBayes(), {"var_floor": [1e-9, 0.5], "priors": ["empirical", "uniform"]}),
        (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}),
        (KNeighborsClassifier(), {"n_neighbors": [1, 4]}),
    ],
)
def test_searches_score_as_scikit_learn_on_every_splitter(table, name, estimator, grid):
    X, y = table
    cv, params = (SPLITTERS[name], {}) if name in SPLITTERS else (BY_GROUP[name], {"groups": GROUPS})
    ours = GridSearchCV(estimator, grid, cv=cv).fit(X, y, **params)
    theirs = peer.GridSearchCV(estimator, grid, cv=cv).fit(X, y, **params)
    assert_same_results(ours, theirs)
    assert ours.n_splits_ == theirs.n_splits_
    assert_same_choice(ours, theirs)


def test_a_generator_is_read_once_and_serves_all(table):
    X, y = table
    grid = {"var_floor": [1e-9, 0.5]}
    options = {"return_train_score": True, "scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"}
    ours = GridSearchCV(NaiveBayes(), grid, cv=(pair for pair in PAIRS), **options).fit(X, y)
    theirs = peer.GridSearchCV(NaiveBayes(), grid, cv=PAIRS, **options).fit(X, y)
    assert_same_results(ours, theirs)
    result = nested_cv(GridSearchCV(NaiveBayes(), grid, cv=3), X, y, cv=iter(PAIRS))
    assert len(result.scores) == 2
    spent = iter(PAIRS)
    freeze_splits(spent, X, y, n_rows=N)
    with pytest.raises(InputError, match=r"no split.*read only once"):
        freeze_splits(spent, X, y, n_rows=N)


@pytest.mark.parametrize("container", [list, np.asarray, pd.Series, pd.Index])
def test_rows_and_masks_in_any_container(container):
    train, test = [True, False, True, False], [1, -1]
    split = freeze_splits([(container(train), container(test))], np.zeros((4, 1)), [0, 1, 0, 1], n_rows=4)[0]
    assert split.train.tolist() == [0, 2]
    assert split.test.tolist() == [1, 3]
    small = freeze_splits([(np.array([0, 2], np.uint8), np.array([1], np.uint64))], None, [0, 1, 0], n_rows=3)[0]
    assert small.train.dtype == np.intp


def test_repeated_training_rows_are_kept_and_overlap_can_be_allowed():
    split = freeze_splits([([0, 0, 1], [2])], None, [0, 1, 0], n_rows=3)[0]
    assert split.train.tolist() == [0, 0, 1]
    assert freeze_splits([([0, 1], [1])], None, [0, 1], n_rows=2, overlap=True)[0].test.tolist() == [1]


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ([([0, 1], [2, 7])], "split 0 contains row 7, but the table has 6 rows"),
        ([([0, 1], [2]), ([0, 5], [1, -9])], "split 1 contains row -9, but the table has 6 rows"),
        ([([0, 1], [-7, 3])], "contains row -7,"),
        (
            [([0, 1.5], [2])],
            r"rows of split 0 must be integers or a boolean mask, but have dtype float64, such as 0\.0",
        ),
        ([([0, 1], [2.0])], "test rows of split 0 must be integers"),
        ([(["a"], [2])], "such as 'a'"),
        ([([0, 1], np.zeros(6, dtype=bool))], "split 0 has no test rows"),
        ([([0, 1], np.ones(7, dtype=bool))], "mask of test rows of split 0 has 7 entries, but the table has 6 rows"),
        ([([], [1])], "split 0 has no training rows"),
        ([([0, 1, -1], [5])], "1 row in both train and test, for example row 5"),
        ([([0, 1], [[2, 3]])], "test rows of split 0 must be a one-dimensional array"),
        ([([0, 1], 2)], "test rows of split 0 must be a one-dimensional array"),
        ([([0, 1], [2], [3])], "but split 0 is "),
        ([7], "yield pairs .train, test., but split 0 is 7"),
        ([], "no splits"),
    ],
)
def test_bad_splits(cv, words):
    with pytest.raises(InputError, match=words):
        freeze_splits(cv, np.zeros((6, 1)), np.arange(6) % 2, n_rows=6)


@pytest.mark.parametrize("name", BY_GROUP)
def test_a_splitter_by_groups_needs_groups(table, name):
    X, y = table
    with pytest.raises(InputError, match=rf"{type(BY_GROUP[name]).__name__} needs groups.*as groups"):
        GridSearchCV(NaiveBayes(), {"alpha": [1]}, cv=BY_GROUP[name]).fit(X, y)


@pytest.mark.parametrize("estimator", [NaiveBayes(), DecisionTreeClassifier(random_state=0)])
@pytest.mark.parametrize("inner", [GroupKFold(2), StratifiedGroupKFold(2), LeaveOneGroupOut()])
@pytest.mark.parametrize("outer", [GroupKFold(3), LeaveOneGroupOut()])
def test_nested_searches_hand_groups_inside_and_outside(table, estimator, inner, outer):
    X, y = table
    grid = {"var_floor": [1e-9, 0.5]} if isinstance(estimator, NaiveBayes) else {"max_depth": [1, 3]}
    result = nested_cv(GridSearchCV(estimator, grid, cv=inner), X, y, cv=outer, groups=GROUPS)
    theirs = cross_validate(
        peer.GridSearchCV(estimator, grid, cv=inner, refit=first_best),
        X,
        y,
        cv=outer,
        groups=GROUPS,
        params={"groups": GROUPS},
        return_estimator=True,
    )
    assert result.scores.tolist() == theirs["test_score"].tolist()
    assert list(result.best_params) == [search.best_params_ for search in theirs["estimator"]]
    for ours, search in zip(result.inner, theirs["estimator"], strict=True):
        np.testing.assert_array_equal(ours["mean_test_score"], search.cv_results_["mean_test_score"])


@pytest.mark.parametrize("kind", sorted(ONE_GENERATOR, key=lambda kind: kind.__name__))
@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_seeded_splitters_split_as_themselves_again_and_again(kind, seed):
    cv = kind(4, random_state=seed, **({"shuffle": True} if "KFold" in kind.__name__ else {}))
    X, y = np.zeros((60, 1)), np.arange(60) % 3
    for _ in range(2):
        splits = freeze_splits(cv, X, y, n_rows=60)
        for split, (train, test) in zip(splits, cv.split(X, y), strict=True):
            np.testing.assert_array_equal(split.train, train)
            np.testing.assert_array_equal(split.test, test)
    assert cv.random_state == seed


def test_only_splitters_known_to_ask_once_share_a_generator():
    class Own(StratifiedKFold):
        pass

    for cv in (Own(3, shuffle=True, random_state=0), RepeatedKFold(random_state=0), KFold(3), 3):
        assert seeded(cv) is cv
    for seed in (None, np.random.RandomState(0), np.int64(3)):
        cv = KFold(3, shuffle=True, random_state=seed)
        assert seeded(cv) is cv


@pytest.mark.parametrize(("n_classes", "kind"), [(2, np.int8), (128, np.int8), (129, np.int16), (40_000, np.int32)])
def test_short_codes_hold_every_class(n_classes, kind):
    labels = Labels(np.arange(n_classes), np.arange(n_classes))
    assert labels.short.dtype == kind
    np.testing.assert_array_equal(labels.short, labels.codes)


@pytest.mark.parametrize("rows", [[0, 1, 99], [-101, 2], [5, 6]])
def test_unsound_rows_in_plain_arrays_are_told(rows):
    """99 is beyond the table of 50 rows, -101 before it, and 5 is trained on too."""
    with pytest.raises(InputError):
        freeze_splits([(np.arange(5, 40), np.array(rows))], None, None, n_rows=50)


def test_rows_counted_from_the_end_are_still_found():
    [split] = freeze_splits([(np.arange(5), np.array([-1, -2]))], None, None, n_rows=50)
    assert split.test.tolist() == [49, 48]
