"""Every real table, on every engine: facts, models and nested scores are those of a local run."""

from __future__ import annotations

import csv
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
from tests.tables import catalogue, data_folder, needs_real_tables

TABLES = catalogue(prefer_real=True)
# linear models need numeric columns, which these tables do not have
NO_NUMBERS = {
    *("mushroom", "house_votes_84", "soybean", "car", "tic_tac_toe", "weather_nominal", "contact_lenses"),
    *("primary_tumor", "sms_spam", "messages"),
}
KEY = "row key"
FEW = ["weather_nominal", "penguins", "california_housing"]
MODEL_ROWS = 300  # of a table, drawn at random by class, for models and nested scores; facts are about all rows
# columns whose distinct values are counted, and whose products are summed, over all rows: Spark takes a minute for more
MOST_COLUMNS = {"spark": 2}
GRID = [{"alpha": 0.5, "var_floor": 1e-9}, {"alpha": 5.0, "var_floor": 0.1}]
RIDGES = [{"alpha": 0.1}, {"alpha": 30.0}]


@cache
def real_frame(name: str) -> tuple[pl.DataFrame, str]:
    """A table with a key, and its target; a table without one has its last numeric column as a quantity."""
    row = TABLES[name]
    frame = read_table(row["path"], index=False).X
    assert frame.height == int(row["rows"])
    frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    names = [name for name, kind in frame.schema.items() if kind.is_numeric() or kind in (pl.String, pl.Boolean)]
    target = row["target"] or [name for name in names if frame.schema[name].is_numeric()][-1]
    frame = frame.select(names).drop_nulls(target)
    return frame.with_row_index(KEY).cast({KEY: pl.Int64}), target


def task_of_table(name: str) -> str:
    return "classification" if TABLES[name]["n_classes"] else "regression"


def model_frame(name: str) -> tuple[pl.DataFrame, str]:
    """Some rows of a table."""
    frame, target = real_frame(name)
    frame = frame.sample(fraction=1, shuffle=True, seed=1)
    if TABLES[name]["n_classes"] and frame.height > MODEL_ROWS:  # as many rows of each class, if it has them
        share = MODEL_ROWS // frame[target].n_unique()
        frame = frame.filter(pl.int_range(pl.len()).over(target) < share)
    return frame[:MODEL_ROWS], target


def numeric_columns(frame: pl.DataFrame, target: str) -> list[str]:
    """The numeric columns with at least two values."""
    names = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in (KEY, target)]
    return [name for name in names if frame[name].drop_nulls().n_unique() > 1]


def filled(table: Any, frame: pl.DataFrame, names: list[str]) -> tuple[Any, pl.DataFrame]:
    """Fill missing cells by medians, in the table expression and here: linear models need complete columns."""
    medians = {name: float(frame[name].median()) for name in names if frame[name].has_nulls()}
    cells = {name: table[name].cast("float64").fill_null(median) for name, median in medians.items()}
    here = [pl.col(name).cast(pl.Float64).fill_null(median) for name, median in medians.items()]
    return (table.mutate(**cells) if cells else table), frame.with_columns(here)


# a few tables are enough for SQLite, which is not made for large ones
CASES = (("duckdb", "all"), ("postgres", "all"), ("spark", "even"), ("spark", "odd"), ("sqlite", "few"))


@pytest.fixture(params=[("duckdb", "few"), *slow(*[(one,) for one in CASES])])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An engine with the names of its tables, and a function that loads a frame."""
    engine, some = request.param
    if engine == "spark":  # it would compile a program for each of hundreds of statements
        request.getfixturevalue("spark_interpreter")
    with loader(engine, request, tmp_path) as load:
        # Spark mostly waits, so each of two workers takes half of the tables
        chosen = {"few": FEW, "all": list(TABLES), "even": list(TABLES)[::2], "odd": list(TABLES)[1::2]}
        yield engine, chosen[some], load


@needs_real_tables
def test_no_real_table_is_left_out() -> None:
    folder = data_folder()
    assert folder is not None
    with (folder / "CATALOG.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["name"]: str(folder / row["file"]) for row in rows}.items() <= {
        name: row["path"] for name, row in TABLES.items()
    }.items()
    assert real_frame("digits")[0].height == 1797  # not the shipped part of it
    assert {*TABLES} >= NO_NUMBERS


@needs_real_tables
def test_facts_of_all_rows(case: Any) -> None:
    engine, names, load = case
    # SQLite adds without a correction, which shows where a class varies far less than the others
    tolerance, most = 1e-10 if engine == "sqlite" else 1e-12, MOST_COLUMNS.get(engine, 12)
    for name in names:
        frame, target = real_frame(name)
        columns, table = numeric_columns(frame, target), load(frame)
        given: dict[str, Any] = {"folds": KeyFolds(KEY, outer=3), "task": task_of_table(name)}
        facts = facts_of(table, target, values=columns[:most], **given)
        assert_same_facts(facts, frame, tolerance)
        if name in NO_NUMBERS:
            assert not columns
            continue
        if engine == "spark":  # test_linear_models compares products there
            continue
        table, frame = filled(table, frame, columns[:most])
        facts = facts_of(table, target, columns=columns[:most], gram=True, **given)
        assert_same_facts(facts, frame, tolerance)


@needs_real_tables
def test_naive_bayes(case: Any) -> None:
    for name in case[1]:
        if task_of_table(name) == "regression":  # naive Bayes predicts classes
            continue
        frame, target = model_frame(name)
        table, X = case[2](frame), frame.drop(KEY, target)
        local = NaiveBayes().fit(X, frame[target])
        found = NaiveBayes().fit_facts(facts_of(table.drop(KEY), target, task="classification"))
        close(found.predict_log_proba(X), local.predict_log_proba(X), 1e-9, name)
        nested = nested_in_engine(NaiveBayes(), GRID, table, target, key=KEY, outer=3, inner=2)
        plain = local_nested(frame, target, KeyFolds(KEY, 3, 2), NaiveBayes(), GRID)
        close(nested.inner_scores, plain.inner, 1e-9, name)
        close(nested.fold_scores, plain.outer, 1e-9, name)
        close(nested.standard_error, plain.standard_error, 1e-8, name)
        close(nested.sample_error, plain.sample_error, 1e-8, name)
        assert list(nested.best_params) == plain.best, name


@needs_real_tables
def test_linear_models(case: Any) -> None:
    for name in case[1]:
        frame, target = model_frame(name)
        columns = numeric_columns(frame, target)
        assert (not columns) == (name in NO_NUMBERS), name
        if not columns:
            continue
        frame = frame.select(KEY, *columns, target)
        table, frame = filled(case[2](frame), frame, columns)
        X = frame.select(pl.col(columns).cast(pl.Float64)).to_pandas()
        if task_of_table(name) == "classification":
            facts = facts_of(table.drop(KEY), target, gram=True, task="classification")
            peer = RidgeClassifier().fit(X, frame[target].to_numpy())
            close(fit_facts(RidgeClassifier(), facts).decision_function(X), peer.decision_function(X), 1e-8, name)
            continue
        facts = facts_of(table.drop(KEY), target, gram=True, task="regression")
        y = frame[target].to_numpy()
        for estimator in (LinearRegression(), Ridge()):
            close(fit_facts(estimator, facts).predict(X), estimator.fit(X, y).predict(X), 1e-8, name)
        nested = nested_in_engine(Ridge(), RIDGES, table, target, key=KEY, outer=3, inner=2)
        plain = local_nested(frame, target, KeyFolds(KEY, 3, 2), Ridge(), RIDGES)
        close(nested.inner_scores, plain.inner, 1e-8, name)
        close(nested.fold_scores, plain.outer, 1e-8, name)
        assert list(nested.best_params) == plain.best, name


def close(found: Any, wanted: Any, tolerance: float, what: str) -> None:
    """Compare relative to the values, or to the largest of them."""
    wanted = np.asarray(wanted)
    top = np.abs(wanted[np.isfinite(wanted)]).max()
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * top, err_msg=what)
