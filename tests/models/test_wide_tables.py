"""A filter of columns in front of every model makes wide tables fast; it is learned in each fold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.feature_selection import f_classif
from sklearn.model_selection import StratifiedKFold

from foldwise import open_model, save_model
from foldwise.app.blend import Blend
from foldwise.app.explaining import explain
from foldwise.app.task import make_task
from foldwise.models import models_for, spec_of
from foldwise.models.wide_tables import FIRST_KEPT, MOST_KEPT, WIDE, TopColumns, f_statistics, used_columns
from foldwise.testing import check_foldable

N_COLUMNS = WIDE + 50


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, N_COLUMNS))
    X[:, 100:110] += 2.0 * y[:, None]
    frame = pl.DataFrame(X, schema=[f"gene{j}" for j in range(N_COLUMNS)])
    return frame.with_columns(pl.Series("sex", rng.choice(["f", "m"], 60)), pl.Series("y", np.where(y, "a", "b")))


@pytest.fixture(scope="module")
def task(table):
    return make_task(table, "y")


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_f_statistic_is_that_of_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = rng.permutation(np.arange(90) % n_classes)
    cells = rng.normal(size=(90, 7)) * 10.0 ** np.arange(7) + codes[:, None] * np.arange(7)
    np.testing.assert_allclose(f_statistics(cells, codes), f_classif(cells, codes)[0], rtol=1e-9)
    holed = np.where(rng.random(cells.shape) < 0.2, np.nan, cells)
    plain = [f_classif(c[~np.isnan(c)][:, None], codes[~np.isnan(c)])[0][0] for c in holed.T]
    np.testing.assert_allclose(f_statistics(holed, codes), plain, rtol=1e-9)


def test_columns_without_information_come_last():
    codes = np.array([0, 0, 1, 1])
    cells = np.array(
        [[1.0, np.nan, 5.0, np.inf], [1.0, np.nan, 5.0, 2.0], [1.0, np.nan, 6.0, 3.0], [1.0, np.nan, 6.0, 3.0]]
    )
    found = f_statistics(cells, codes)
    assert found[:2].tolist() == [0.0, 0.0]
    assert np.isfinite(found).all()
    assert found[2] == found.max()


def test_the_filter_keeps_what_differs_between_classes(table):
    top = TopColumns(["sex"], k=10).fit(table.drop("y"), table["y"])
    assert set(top.kept_) == {f"gene{j}" for j in range(100, 110)}
    found = top.transform(table.drop("y"))
    assert found.columns[0] == "sex"
    assert found.width == 1 + MOST_KEPT
    assert found["top 1"].to_list() == table[top.kept_[0]].to_list()
    assert found["top 11"].to_list() == [0.0] * 60


@pytest.mark.parametrize("name", ["logistic_regression", pytest.param("naive_bayes", marks=pytest.mark.slow)])
def test_folds_are_answered_as_by_refits(task, name):
    spec = spec_of(name)
    pipeline = spec.pipeline(task.outline)
    settings = [{"filter__k": 5}, {"filter__k": 40}]
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(task.table.X, task.y))
    check_foldable(pipeline, task.table.X, task.y, settings, splits)


def test_every_model_starts_with_the_filter_and_searches_how_many_columns(task):
    for spec in models_for(task.outline):
        pipeline = spec.pipeline(task.outline)
        assert pipeline.steps[0][0] == "filter"
        assert pipeline.get_params()["filter__k"] == min(FIRST_KEPT, task.n_rows)
        assert "filter__k" in spec.space(task.outline)


def test_a_stored_blend_explains_the_columns_it_looks_at(task, tmp_path):
    X = task.table.X
    model = spec_of("logistic_regression").pipeline(task.outline).set_params(filter__k=6).fit(X, task.y)
    used = used_columns(model, X.columns)
    assert len(used) == 7  # and the column that passes
    blend = Blend([model], [1.0], [None], None, [0.5, 0.5], 0.01, ["a", "b"])
    save_model(tmp_path / "m.foldwise", blend, X)
    opened = open_model(tmp_path / "m.foldwise")
    np.testing.assert_allclose(opened.predict_proba(X), blend.predict_proba(X), rtol=1e-12)
    [found] = explain(opened, X[:1], X[:20], n_samples=40)
    assert set(found.columns) == set(used)
    assert found.base + found.values.sum() == pytest.approx(found.total)
    assert np.exp(found.total) == pytest.approx(found.proba.max() / found.proba.min())
