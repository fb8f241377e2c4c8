"""Dates in SQL become the numbers of `DateFeatures`, in every database that runs here."""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
import polars as pl
import pytest
import sqlglot
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from foldwise import DateFeatures, to_sql
from foldwise.errors import InputError
from foldwise.exports.sql.dates import native_dates
from tests.exports.databases import compare, run
from tests.exports.test_sql import fitted, stored
from tests.exports.test_sql import server as server  # a fixture
from tests.models.tables import mixed, table_of
from tests.slow import slow


def days(n: int = 120) -> pl.DataFrame:
    """Leap days, centuries, dates before 1970, fractions of seconds, missing cells; text in two formats."""
    rng = np.random.default_rng(2)
    known = ["1600-02-29", "1900-02-28", "1900-03-01", "1969-12-31", "1970-01-01", "2000-02-29", "2024-12-31"]
    day = [dt.date.fromisoformat(one) for one in known]
    day += [dt.date(1950, 1, 1) + dt.timedelta(days=int(i)) for i in rng.integers(0, 40_000, n - len(day))]
    clock = [dt.timedelta(microseconds=int(i)) for i in rng.integers(0, 86_400_000_000, n)]
    moment = [dt.datetime.combine(one, dt.time()) + part for one, part in zip(day, clock, strict=True)]
    frame = pl.DataFrame({"da'y": day, "moment": moment, "time": [one.time() for one in moment]})
    moment_column = pl.col("moment")
    frame = frame.with_columns(
        iso=moment_column.dt.strftime("%Y-%m-%d %H:%M:%S"),
        german=moment_column.dt.strftime("%d.%m.%Y"),
        minute=moment_column.dt.truncate("1m"),
    )
    return frame.with_columns(
        pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col(name)).alias(name) for name in frame.columns
    )


def weighted_parts(frame: pl.DataFrame, formats: dict[str, str]):
    """A regression whose prediction is a sum of all parts, each with a weight of its own."""
    dates = DateFeatures(formats=formats)
    model = make_pipeline(dates, SimpleImputer(), LinearRegression()).fit(frame, np.arange(frame.height))
    model[-1].coef_ = np.random.default_rng(0).normal(size=len(dates.get_feature_names_out()))
    return model


@pytest.mark.parametrize("column", ["da'y", "moment", "time", "iso", "german", "minute"])
def test_parts_of_one_column(column):
    frame = days().select(column)
    check(weighted_parts(frame, {"german": "%d.%m.%Y"}), frame, "duckdb", None)


@pytest.mark.parametrize("dialect", ["sqlite", *slow("postgres", "spark")])
def test_parts_of_all_columns(dialect, server):
    check(weighted_parts(days(), {"german": "%d.%m.%Y"}), days(), dialect, server(dialect))


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "mysql"])
def test_databases_that_do_not_run_here_are_parsed(dialect):
    model = weighted_parts(days(), {"german": "%d.%m.%Y"})
    export = to_sql(stored(model, days()), dialect=dialect, keep=[], rows=days())
    for text in (export.query, export.check):
        (statement,) = sqlglot.parse(text, dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Select)


def check(model, frame, dialect, server) -> None:
    export = to_sql(stored(model, frame), dialect=dialect, keep=[], rows=frame)
    rows, differences = run(export, native_dates(frame, model[0].formats_), "rows", server)
    assert differences == 0
    np.testing.assert_allclose([row[0] for row in rows], model.predict(frame), rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic_regression", "naive_bayes", *slow("lightgbm")])
def test_models_of_the_catalog(name):
    table = mixed()
    table = table_of(table.X.drop("said"), table.y)
    model = fitted(name, table)
    if name == "naive_bayes":
        model.set_params(model__families="auto").fit(table.X, table.y)
    export = to_sql(stored(model, table.X), keep=[], rows=table.X)
    rows, differences = run(export, table.X, "rows")
    assert differences == 0
    compare(rows, model, table.X, 1e-9)


@pytest.mark.parametrize("cell", ["2026-01-31T10:00:00+01:00", "31.01.2026", "2026-1-31", "2026-01-31 10", "tomorrow"])
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", *slow("postgres", "spark")])
def test_other_text_stops_the_query(dialect, cell, server):
    frame = pl.DataFrame({"day": ["2026-01-31 10:00:00", "2026-02-01 12:30:00"] * 4})
    export = to_sql(stored(weighted_parts(frame, {}), frame), dialect=dialect, keep=[], rows=frame)
    with pytest.raises(Exception, match=r"column day must contain a datetime|malformed JSON"):
        run(export, pl.DataFrame({"day": [frame["day"][0], cell]}), "rows", server(dialect))


def test_a_column_with_a_time_zone_stops_the_query():
    frame = pl.DataFrame({"day": [dt.datetime(2026, 1, 31, 10), dt.datetime(2026, 2, 1, 12)] * 4})
    export = to_sql(stored(weighted_parts(frame, {}), frame), keep=[], rows=frame)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS SELECT TIMESTAMPTZ '2026-01-31 10:00:00+00' AS day")
        with pytest.raises(duckdb.Error, match="without time zone"):
            connection.execute(export.query)


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        ([dt.timedelta(hours=1), dt.timedelta(hours=2)], "column 'a' contains durations"),
        (["1:30:00", "30:15:00"], "column 'a' contains durations"),
        (["2026-01-31T10:00:00+01:00", "2026-01-31T10:00:00Z"], "column 'a' contains timestamps with time zones"),
        ([dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None], "column 'a' contains timestamps with time zones"),
    ],
)
def test_durations_and_time_zones_are_refused_by_name(cells, named):
    frame = pl.DataFrame({"a": cells})
    model = make_pipeline(make_column_transformer((DateFeatures(), ["a"])), SimpleImputer(), LinearRegression())
    with pytest.raises(InputError, match=named):
        to_sql(stored(model.fit(frame, [1.0, 2.0]), frame), rows=frame)
