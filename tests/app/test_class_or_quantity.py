"""One rule says whether a target is classes or a quantity, whichever way a table comes in."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise import find_leaks
from foldwise.app.cli.table_task import target_counts
from foldwise.app.task import make_task
from foldwise.data.reading.tables import read_table
from foldwise.data.target import is_quantity, task_of
from foldwise.engines.asking import Asker
from foldwise.engines.checks import decide_task
from tests.engines.conftest import loader

TARGETS = {
    "20 whole numbers": (np.arange(400) % 20, False),
    "25 whole numbers": (np.arange(400) % 25, True),
    "25 words": (np.array([f"class {i % 25}" for i in range(400)]), False),
    "three fractions": (np.arange(400) % 3 / 2, True),
    "whole numbers as floats": (np.arange(400) % 3 + 0.0, False),
    "400 numbers": (np.linspace(0, 1, 400), True),
}


@pytest.mark.parametrize(("labels", "quantity"), TARGETS.values(), ids=TARGETS)
def test_every_entry_point_decides_alike(labels, quantity, tmp_path):
    frame = pl.DataFrame({"x": np.random.default_rng(0).normal(size=400), "y": labels})
    path = tmp_path / "table.csv"
    frame.write_csv(path)
    table = read_table(path, target="y")
    assert is_quantity(frame["y"]) == quantity
    assert bool(table.audit().of("balance")) != quantity
    assert find_leaks(table.X, table.y) is not None
    assert make_task(table, "y").is_quantity == quantity
    assert (target_counts(table, "y", None) is None) == quantity


WITH_GAPS = {
    "20 whole numbers and missing ones": ([*np.arange(399) % 20, None], pl.Int64, "classification"),
    "20 whole numbers, NaN and null": ([*(np.arange(398) % 20), float("nan"), None], pl.Float64, "classification"),
    "21 whole numbers as floats": ([*(np.arange(399) % 21), None], pl.Float64, "regression"),
    "two fractions and NaN": ([0.5, 1.0, float("nan"), None], pl.Float64, "regression"),
    "huge numbers": ([1e300, -1e19, float("inf")], pl.Float64, "classification"),
    "flags": ([True, False, None], pl.Boolean, "classification"),
    "one number": ([7, 7], pl.Int64, "classification"),
}


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_engines_decide_as_frames_do(engine, request, tmp_path):
    series = {name: pl.Series("y", labels) for name, (labels, _) in TARGETS.items()}
    series |= {name: pl.Series("y", labels, kind, strict=False) for name, (labels, kind, _) in WITH_GAPS.items()}
    expected = {name: "regression" if quantity else "classification" for name, (_, quantity) in TARGETS.items()}
    expected |= {name: task for name, (*_, task) in WITH_GAPS.items()}
    assert {name: task_of(one) for name, one in series.items()} == expected
    with loader(engine, request, tmp_path) as load:
        found = {name: decide_task(Asker(load(one.to_frame())), "y", None) for name, one in series.items()}
    assert found == expected


def test_decimals_with_fractions_are_a_quantity():
    import ibis

    for amounts, expected in (([1, 2, 3], "classification"), ([1, 2.5], "regression")):
        series = pl.Series("y", amounts, pl.Float64).cast(pl.Decimal(10, 2))
        assert task_of(series) == expected
        backend = ibis.duckdb.connect()
        table = backend.create_table("t", series.to_frame().to_arrow())
        assert decide_task(Asker(table), "y", None) == expected
        backend.disconnect()
