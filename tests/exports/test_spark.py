"""Spark predicts what Python predicts, from the same query, on three tables."""

from __future__ import annotations

import pytest

from foldwise import to_sql
from tests.exports.databases import compare
from tests.exports.test_sql import fitted, hostile_table, stored
from tests.models.tables import real

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("lightgbm", hostile_table),
        ("logistic_regression", lambda: real("wine")),
        ("random_forest", lambda: real("weather_numeric")),
    ],
)
def test_spark(name, make, spark_session):
    table = make()
    model = fitted(name, table)
    export = to_sql(stored(model, table.X), dialect="spark", table="cells", keep=[], rows=table.X)
    spark_session.createDataFrame(table.X.to_pandas()).createOrReplaceTempView("cells")
    rows = [tuple(row) for row in spark_session.sql(export.query).collect()]
    compare(rows, model, table.X, 1e-9)
    assert spark_session.sql(export.check).collect()[0][0] == 0
