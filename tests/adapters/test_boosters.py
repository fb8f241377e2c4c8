"""LightGBM, XGBoost and CatBoost: one fit answers for every number of trees, to the bit of the law."""

from __future__ import annotations

import numpy as np
import pytest

from foldwise import GridSearchCV
from foldwise.folds import open_session
from foldwise.models import CodedLabels
from foldwise.testing import check_foldable


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=9, learning_rate=0.2, n_jobs=1, verbosity=-1, random_state=0, subsample=0.7, subsample_freq=1
    )


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(
        n_estimators=9, learning_rate=0.2, n_jobs=1, random_state=0, subsample=0.7
    )


def catboost():
    return pytest.importorskip("catboost").CatBoostClassifier(
        n_estimators=9,
        learning_rate=0.2,
        thread_count=1,
        boosting_type="Plain",
        verbose=False,
        allow_writing_files=False,
        random_state=0,
    )


MAKERS = {"lightgbm": lightgbm, "xgboost": xgboost, "catboost": catboost}


def problem(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(120, 4))
    y = np.digitize(X[:, 0] + rng.normal(0, 0.5, 120), np.linspace(-0.8, 0.8, n_classes - 1))
    order = rng.permutation(120)
    return X, y, [(order[:80], order[85:]), (order[30:], order[:25])]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", MAKERS)
def test_shorter_models_are_those_of_a_refit(library, n_classes):
    X, y, splits = problem(n_classes)
    settings = [{"n_estimators": n} for n in (4, 1, 9)] + [{"n_estimators": 5, "learning_rate": 0.05}]
    session = open_session(MAKERS[library](), X, y)
    assert session.shares == "stages"
    assert session.lazy({}) == {"n_estimators"}
    check_foldable(MAKERS[library](), X, y, settings, splits)


@pytest.mark.parametrize("library", MAKERS)
def test_behind_coded_labels_with_any_labels_and_weights(library):
    X, y, splits = problem(3)
    y = np.array(["low", "middle", "top"])[y]
    model = CodedLabels(MAKERS[library]())
    settings = [{"estimator__n_estimators": n} for n in (2, 7)]
    assert open_session(model, X, y).lazy({}) == {"estimator__n_estimators"}
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    check_foldable(model, X, y, settings, splits, {"sample_weight": weight})
    without = [np.flatnonzero(y != "top")[:50], np.arange(100, 120)]  # a class that is not learned
    check_foldable(model, X, y, settings, [without])


@pytest.mark.parametrize("library", MAKERS)
def test_a_search_fits_once_a_fold(library):
    X, y, _ = problem(2)
    search = GridSearchCV(MAKERS[library](), {"n_estimators": [1, 3, 5, 9]}, cv=3).fit(X, y)
    assert (search.models_scored_, search.fits_done_) == (12, 3)


@pytest.mark.parametrize(
    ("library", "params"),
    [
        ("lightgbm", {"boosting_type": "dart"}),
        ("lightgbm", {"random_state": None}),
        ("xgboost", {"booster": "dart"}),
        ("xgboost", {"n_jobs": None}),
        ("catboost", {"learning_rate": None}),
        ("catboost", {"boosting_type": "Ordered"}),
    ],
)
def test_what_depends_on_the_number_of_trees_is_refitted(library, params):
    X, y, _ = problem(2)
    assert open_session(MAKERS[library](), X, y).lazy(params) == frozenset()


def test_catboost_does_depend_on_it_where_no_rate_is_given():
    """Why an explicit rate is asked for: CatBoost's own choice goes by the number of trees."""
    pytest.importorskip("catboost")
    X, y, _ = problem(2)
    free = {"learning_rate": None}
    long = catboost().set_params(**free, n_estimators=9).fit(X, y)
    short = catboost().set_params(**free, n_estimators=3).fit(X, y)
    assert not np.allclose(long.predict_proba(X, ntree_end=3), short.predict_proba(X))
