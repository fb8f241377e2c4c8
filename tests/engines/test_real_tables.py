"""Every real table, on every engine: facts, models and nested scores are those of a local run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from foldwise import NaiveBayes
from foldwise.data import read_table
from foldwise.engines import KeyFolds, facts_of
from foldwise.evaluation import nested_in_engine
from foldwise.folds import fit_facts
from tests.engines.conftest import loader
from tests.engines.tables import assert_same_facts, local_nested
from tests.slow import slow
from tests.tables import catalogue, needs_real_tables

KEY = "row key"
FEW = ["weather_nominal", "penguins", "california_housing"]
MODEL_ROWS = 300  # of a table, drawn at random by class, for models and nested scores; facts are about all rows
GRID = [{"alpha": 0.5, "var_floor": 1e-9}, {"alpha": 5.0, "var_floor": 0.1}]
RIDGES = [{"alpha": 0.1}, {"alpha": 30.0}]


@cache
def real_frame(name: str) -> tuple[pl.DataFrame, str]:
    """A table with a key, and its target; a table without one has its last numeric column as a quantity."""
    row = catalogue()[name]
    frame = read_table(row["path"], index=False).X
    frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    names = [name for name, kind in frame.schema.items() if kind.is_numeric() or kind in (pl.String, pl.Boolean)]
    target = row["target"] or [name for name in names if frame.schema[name].is_numeric()][-1]
    frame = frame.select(names).drop_nulls(target)
    return frame.with_row_index(KEY).cast({KEY: pl.Int64}), target


def model_frame(name: str) -> tuple[pl.DataFrame, str]:
    """Some rows of a table."""
    frame, target = real_frame(name)
    frame = frame.sample(fraction=1, shuffle=True, seed=1)
    if catalogue()[name]["n_classes"] and frame.height > MODEL_ROWS:  # as many rows of each class, if it has them
        share = MODEL_ROWS // frame[target].n_unique()
        frame = frame.filter(pl.int_range(pl.len()).over(target) < share)
    return frame[:MODEL_ROWS], target


@pytest.fixture(
    params=[("duckdb", "few"), *slow(*[((one, "all"),) for one in ("duckdb", "sqlite", "postgres", "spark")])]
)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An engine with the names of its tables, and a function that loads a frame."""
    engine, some = request.param
    if engine == "spark":  # it would compile a program for each of hundreds of statements
        request.getfixturevalue("spark_interpreter")
    with loader(engine, request, tmp_path) as load:
        yield engine, FEW if some == "few" else list(catalogue()), load


@needs_real_tables
def test_facts_of_all_rows(case: Any) -> None:
    engine, names, load = case
    for name in names:
        if catalogue()[name]["n_classes"]:
            frame, target = real_frame(name)
            facts = facts_of(load(frame), target, folds=KeyFolds(KEY, outer=3), task="classification")
            # SQLite adds without a correction, which shows where a class varies far less than the others
            assert_same_facts(facts, frame, 1e-10 if engine == "sqlite" else 1e-12)


@needs_real_tables
def test_naive_bayes(case: Any) -> None:
    for name in case[1]:
        if not catalogue()[name]["n_classes"]:
            continue
        frame, target = model_frame(name)
        table, X = case[2](frame), frame.drop(KEY, target)
        if not X.width:
            continue
        local = NaiveBayes().fit(X, frame[target])
        found = NaiveBayes().fit_facts(facts_of(table.drop(KEY), target, task="classification"))
        close(found.predict_log_proba(X), local.predict_log_proba(X), 1e-9, name)
        nested = nested_in_engine(NaiveBayes(), GRID, table, target, key=KEY, outer=3, inner=2)
        inner, best, outer = local_nested(frame, target, KeyFolds(KEY, 3, 2), NaiveBayes(), GRID)
        close(nested.inner_scores, inner, 1e-9, name)
        close(nested.fold_scores, outer, 1e-9, name)
        assert list(nested.best_params) == best, name


@needs_real_tables
def test_linear_models(case: Any) -> None:
    for name in case[1]:
        frame, target = model_frame(name)
        columns = [one for one in frame.columns if frame[one].dtype.is_numeric() and frame[one].n_unique() > 1]
        columns = [one for one in columns if one not in (KEY, target) and not frame[one].is_null().any()]
        if not columns:
            continue
        frame = frame.select(KEY, *columns, target)
        table, X = case[2](frame), frame.select(pl.col(columns).cast(pl.Float64)).to_pandas()
        if catalogue()[name]["n_classes"]:
            facts = facts_of(table.drop(KEY), target, gram=True, task="classification")
            peer = RidgeClassifier().fit(X, frame[target].to_numpy())
            close(fit_facts(RidgeClassifier(), facts).decision_function(X), peer.decision_function(X), 1e-8, name)
            continue
        facts = facts_of(table.drop(KEY), target, gram=True, task="regression")
        y = frame[target].to_numpy()
        for estimator in (LinearRegression(), Ridge()):
            close(fit_facts(estimator, facts).predict(X), estimator.fit(X, y).predict(X), 1e-8, name)
        nested = nested_in_engine(Ridge(), RIDGES, table, target, key=KEY, outer=3, inner=2)
        inner, best, outer = local_nested(frame, target, KeyFolds(KEY, 3, 2), Ridge(), RIDGES)
        close(nested.inner_scores, inner, 1e-8, name)
        close(nested.fold_scores, outer, 1e-8, name)
        assert list(nested.best_params) == best, name


def close(found: Any, wanted: Any, tolerance: float, what: str) -> None:
    """Compare relative to the values, or to the largest of them."""
    wanted = np.asarray(wanted)
    top = np.abs(wanted[np.isfinite(wanted)]).max()
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * top, err_msg=what)
