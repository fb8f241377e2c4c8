"""Spark predicts what Python predicts, from the same query, on three tables."""

from __future__ import annotations

import pytest

from foldwise import to_sql
from tests.exports.databases import HOSTILE, compare, run
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
    export = to_sql(stored(model, table.X), dialect="spark", table=HOSTILE, keep=[], rows=table.X)
    rows, differences = run(export, table.X, HOSTILE, spark_session)
    assert differences == 0
    compare(rows, model, table.X, 1e-9)
