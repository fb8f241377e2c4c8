"""Every model on real tables of different kinds, on nasty ones, over its whole space, and by the fold law."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterSampler

from foldwise.folds import open_session
from foldwise.models import catalogue, models_for, outline
from foldwise.testing import check_foldable
from tests.models.tables import REAL, mixed, nasty, real

QUICK = ("naive_bayes", "logistic_regression", "decision_tree", "linear_svm")  # one of each preparation
ALL = [name for name, spec in catalogue().items() if "classification" in spec.tasks]
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ALL]
TABLES = [name if name == "survey" else pytest.param(name, marks=pytest.mark.slow) for name in REAL]
SMALL = {"random_forest": 10, "extra_trees": 10, "adaboost": 8, "hist_gradient_boosting": 8}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small(spec, about, **params):
    """The pipeline, with few stages."""
    if not spec.available:
        pytest.skip(f"{spec.module} is not installed")
    model = spec.pipeline(about)
    if spec.stages:
        model.set_params(**{spec.stages: SMALL.get(spec.name, 8)})
    if spec.name == "mlp":
        model.set_params(model__max_iter=60)
    return model.set_params(**params)


def check_answers(spec, model, X, classes):
    labels = model.predict(X)
    assert labels.shape == (len(X),)
    assert set(labels.tolist()) <= set(classes.tolist())
    np.testing.assert_array_equal(model.classes_, classes)
    if spec.answers == "probabilities":
        proba = model.predict_proba(X)
        assert proba.shape == (len(X), len(classes))
        assert (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-5)
    else:
        assert not hasattr(model, "predict_proba")
        values = model.decision_function(X)
        assert values.shape == ((len(X),) if len(classes) == 2 else (len(X), len(classes)))
        assert np.isfinite(values).all()


@pytest.mark.parametrize("table_name", TABLES)
@pytest.mark.parametrize("name", NAMES)
def test_real_tables_are_learned_and_predicted(name, table_name):
    table, spec = real(table_name), catalogue()[name]
    about = outline(table)
    if not spec.takes(about):
        pytest.skip("no column for it")
    n = table.X.height * 2 // 3
    model = small(spec, about).fit(table.X[:n], table.y[:n])
    check_answers(spec, model, table.X[n:], np.unique(table.y[:n]))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_learned_is_better_than_guessing(name):
    table, spec = real("penguins", 300), catalogue()[name]
    model = small(spec, outline(table)).fit(table.X[:200], table.y[:200])
    assert (model.predict(table.X[200:]) == table.y[200:]).mean() > 0.85


@pytest.mark.parametrize("case", nasty())
@pytest.mark.parametrize("name", NAMES)
def test_nasty_tables_break_nothing(name, case):
    table, spec = nasty()[case], catalogue()[name]
    about = outline(table)
    if not spec.takes(about):
        pytest.skip("no column for it")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = small(spec, about).fit(table.X, table.y)
        check_answers(spec, model, table.X[:5], np.unique(table.y))


@pytest.mark.parametrize("name", NAMES)
def test_unknown_categories_and_gaps_at_prediction(name):
    whole, spec = mixed(gaps=0.0), catalogue()[name]
    model = small(spec, outline(whole)).fit(whole.X, whole.y)
    strange = whole.X[:6].with_columns(color=pl.lit("violet"), city=pl.lit("nowhere"), said=pl.lit("never heard of"))
    check_answers(spec, model, strange, np.array(["down", "up"]))
    empty = whole.X[:6].with_columns(pl.lit(None, dtype=kind).alias(name) for name, kind in whole.X.schema.items())
    check_answers(spec, model, empty, np.array(["down", "up"]))


@pytest.mark.parametrize("name", NAMES)
def test_pandas_and_polars_give_the_same(name):
    table, spec = mixed(60), catalogue()[name]
    ours = small(spec, outline(table)).fit(table.X, table.y)
    frame = table.X.to_pandas()
    theirs = small(spec, outline(table)).fit(frame, table.y)
    np.testing.assert_array_equal(ours.predict(table.X), theirs.predict(frame))
    np.testing.assert_array_equal(ours.predict(table.X), ours.predict(frame))
    if spec.answers == "probabilities":
        np.testing.assert_allclose(ours.predict_proba(table.X), theirs.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_space_can_be_drawn_from(name):
    table, spec = mixed(50), catalogue()[name]
    about = outline(table)
    space = spec.space(about)
    for i, setting in enumerate(ParameterSampler(space, 5, random_state=1)):
        if spec.stages in setting:
            setting[spec.stages] = 3 + i
        model = small(spec, about, **setting).fit(table.X, table.y)
        check_answers(spec, model, table.X[:5], np.array(["down", "up"]))


@pytest.mark.parametrize("name", NAMES)
def test_preparation_is_learned_in_the_fold(name):
    """The law through pipelines: answers equal clean refits, whatever lies outside the training rows."""
    table, spec = mixed(70), catalogue()[name]
    model = small(spec, outline(table))
    order = np.random.default_rng(0).permutation(70)
    splits = [(order[:40], order[45:])]
    space = spec.space(outline(table))
    settings = list(ParameterSampler(space, 2, random_state=0))
    for size, setting in zip((3, 6), settings, strict=True):
        if spec.stages in setting:
            setting[spec.stages] = size
    check_foldable(model, table.X, table.y, settings, splits)


@pytest.mark.parametrize("name", [name for name in ALL if catalogue()[name].stages])
def test_stages_are_lazy(name):
    table, spec = mixed(40), catalogue()[name]
    model = small(spec, outline(table))
    assert spec.stages in open_session(model, table.X, table.y).lazy({})


@pytest.mark.slow
def test_weights_reach_the_models_that_take_them():
    table = mixed(60)
    about = outline(table)
    weight = np.where(np.arange(60) < 30, 1.0, 0.5)
    taking = [spec for spec in models_for(table) if spec.takes_weights(about)]
    names = {spec.name for spec in taking}
    assert {"naive_bayes", "random_forest", "rbf_svm", "hist_gradient_boosting", "xgboost", "catboost"} <= names
    for spec in taking:
        model = small(spec, about).fit(table.X, table.y, model__sample_weight=weight)
        check_answers(spec, model, table.X[:5], np.array(["down", "up"]))
