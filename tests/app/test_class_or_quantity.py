"""One rule says whether a target is classes or a quantity, whichever way a table comes in."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise import find_leaks
from foldwise.app.cli.table_task import target_counts
from foldwise.app.task import make_task
from foldwise.data.reading.tables import read_table
from foldwise.data.target import is_quantity

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
