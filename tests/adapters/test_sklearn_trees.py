"""Trees grown once and pruned for every alpha are those that a fit with that alpha gives, bit for bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from foldwise import GridSearchCV, read_table
from foldwise.folds import Need, RefitSession, open_session
from foldwise.folds.tolerance import are_close
from foldwise.testing import check_foldable
from tests.adapters.test_sklearn_staged import assert_same_answers, name_of, splits_of, table
from tests.searches import assert_same_choice
from tests.tables import table_path

ALPHAS = [0.01, 0, 0.003, 0.0, 0.05, 1.0, -1, "x", None, np.inf, np.nan, True, np.float32(0.02)]
SETTINGS = [{"ccp_alpha": alpha} for alpha in ALPHAS]
TREES = [
    DecisionTreeClassifier(random_state=0),
    ExtraTreeClassifier(random_state=0),
    DecisionTreeRegressor(random_state=0),
    ExtraTreeRegressor(random_state=0),
]


@pytest.mark.parametrize("model", TREES, ids=name_of)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_law(model, classes):
    X, y = table(classes, 60, classes)
    check_foldable(model, X, y, [*SETTINGS[:8], {}], splits_of(60))


@pytest.mark.parametrize(
    "model",
    [
        *TREES,
        DecisionTreeClassifier(random_state=1, criterion="entropy", splitter="random", max_features=2),
        DecisionTreeClassifier(random_state=1, class_weight="balanced", max_leaf_nodes=9, ccp_alpha=0.02),
        DecisionTreeClassifier(random_state=1, max_depth=4, min_samples_leaf=0.05, min_impurity_decrease=0.01),
        DecisionTreeRegressor(random_state=1, monotonic_cst=[1, 0, 0, -1]),
        DecisionTreeRegressor(random_state=1, criterion="absolute_error"),
        DecisionTreeRegressor(random_state=1, criterion="poisson"),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_bit_for_bit(model, weighted):
    X, y = table(1, 90, 4)
    weights = {"sample_weight": np.random.default_rng(0).integers(0, 3, 90).astype(float)} if weighted else None
    for train, test in splits_of(90):
        assert_same_answers(model, X, y, SETTINGS, train, test, weights)


def test_monotonic_classifiers_and_text_labels():
    X, y = table(2, 80, 2)
    y = np.array(["yes", "no"])[y]
    for cst in ([1, 0, 0, -1], [1, 0], [2, 0, 0, 0]):  # the latter two are refused
        model = DecisionTreeClassifier(random_state=0, monotonic_cst=cst)
        assert_same_answers(model, X, y, SETTINGS, np.arange(60), np.arange(60, 80))


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_missing_cells_frames_and_sparse_rows(model):
    X, y = table(3, 60)
    rows = np.arange(40), np.arange(40, 60)
    assert_same_answers(model, sp.csr_matrix(np.maximum(X, 0)), y, SETTINGS, *rows)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert_same_answers(model, frame, y, SETTINGS, *rows)


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_pruned_models_are_whole_models(model):
    X, y = table(4, 80, 2)
    train = np.arange(60)
    session, refits = open_session(model, X, y), RefitSession(model, X, y)
    settings = [{"ccp_alpha": alpha} for alpha in (0.01, 0.0, 0.05, 0.002)]
    blocks = session.answer(settings, train, np.arange(60, 80), Need.MODEL)
    for setting, block in zip(settings, blocks, strict=True):
        (one,), other = block.answer.models, refits.model(setting, train)
        assert one.get_params() == other.get_params()
        assert one.get_n_leaves() == other.get_n_leaves()
        assert np.array_equal(one.tree_.threshold, other.tree_.threshold)
        assert are_close(one.feature_importances_, other.feature_importances_)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0)])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeRegressor])
def test_trees_without_a_seed_are_refitted(kind, seed, monkeypatch):
    X, y = table(5, 40, 2)
    session = open_session(kind(random_state=seed), X, y)
    assert session.lazy({"ccp_alpha": 0.1}) == frozenset()
    assert session.lazy({"ccp_alpha": 0.1, "random_state": 4}) == {"ccp_alpha"}
    calls = []
    monkeypatch.setattr("foldwise.adapters.sklearn_trees.pruned", lambda *call: calls.append(call))
    assert session.model({"ccp_alpha": 0.1}, np.arange(30)).ccp_alpha == 0.1
    assert not calls


def test_several_outputs_are_refitted():
    X, y = table(5, 40, 2)
    assert open_session(DecisionTreeRegressor(random_state=0), X, np.c_[y, y]).shares == "refit"


def test_one_tree_for_each_group_and_split():
    X, y = table(6, 90, 3)
    model = DecisionTreeClassifier(random_state=0)
    grid = {"ccp_alpha": np.geomspace(1e-4, 0.1, 8), "max_depth": [3, None]}
    cv = KFold(3, shuffle=True, random_state=0)
    ours, theirs = (kind(model, grid, cv=cv).fit(X, y) for kind in (GridSearchCV, TheirGridSearchCV))
    assert (ours.session_, ours.fits_done_, ours.models_scored_) == ("pruning", 2 * 3, 16 * 3)
    assert are_close(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert_same_choice(ours, theirs)


@pytest.mark.parametrize("model", TREES[:2], ids=name_of)
def test_a_real_table(model):
    frame = read_table(table_path("penguins"), target="species")
    X = np.column_stack([frame.X[name] for name in ("bill_length_mm", "bill_depth_mm", "body_mass_g")]).astype(float)
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        assert_same_answers(model, X, np.asarray(frame.y), SETTINGS, train, test)
