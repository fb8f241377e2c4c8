"""A scan of many columns gives the same findings, notes and audit as looking at each column by itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise.data import column_scan
from foldwise.data.column_scan import scan_columns
from foldwise.data.schema import Schema
from foldwise.data.table import Table
from foldwise.data.view import view
from tests.slow import slow


def wide_table(seed, n_rows=60, classes=("a", "b", "c")):
    """Columns of every kind, with missing cells, leaks, copies, constants and disguised missing values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(classes), n_rows)
    columns = {}
    for j in range(120):
        kind = rng.integers(0, 12)
        cells = rng.normal(size=n_rows) * 10.0 ** rng.integers(-3, 6)
        if kind == 1:
            cells = rng.integers(0, rng.integers(1, 50), n_rows).astype(float)
        elif kind == 2:
            cells = np.where(rng.random(n_rows) < 0.2, rng.choice([-999, 999, 0, -1]), rng.integers(20, 40, n_rows))
        elif kind == 3:
            cells = y + rng.normal(size=n_rows) * 1e-3  # determines the class by cuts
        elif kind == 4:
            cells = rng.permutation(len(classes))[y] * 1.0  # determines it by categories
        elif kind == 5:
            cells = np.full(n_rows, 7.0)
        elif kind == 6 and columns:
            cells = columns[rng.choice(list(columns))]
        elif kind == 7:
            cells = np.arange(n_rows) * 1.0
        elif kind == 8:
            cells = np.where(rng.random(n_rows) < 0.5, np.inf, cells)
        elif kind == 9:
            cells = np.round(cells)
        cells = np.array(cells, dtype=float)
        if rng.random() < 0.3:
            cells[rng.random(n_rows) < rng.random()] = np.nan
        columns[f"c{j}"] = cells
    X = pl.DataFrame(columns)
    as_integers = [name for name, c in columns.items() if np.isfinite(c).all() and (c == np.round(c)).all()][::2]
    X = X.with_columns(pl.col(as_integers).cast(pl.Int64)).with_columns(
        pl.col([name for name in X.columns if name not in as_integers][::2]).fill_nan(None)
    )
    labels = np.array(classes, dtype=object)[y]
    labels[:2] = None
    return X.with_columns(pl.Series("text", rng.choice(["p", "q"], n_rows))), labels


def integer_table(seed, n_rows=60):
    """Integers of every kind: counts, codes, identifiers, switches, zeros far from the rest, missing cells."""
    rng = np.random.default_rng(seed)
    columns = {}
    for j in range(150):
        kind, name = rng.integers(0, 12), rng.choice(["c", "user_id", "key", "rowId"])
        size = int(rng.choice([1, 2, 3, 4, 11, 60, 500]))
        cells = rng.integers(0, size, n_rows) + rng.choice([-1, 0, 1, 5])
        if kind == 1:
            cells = np.where(rng.random(n_rows) < 0.3, 0, rng.integers(3, 9, n_rows) * rng.choice([1, 2, 100]))
        elif kind == 2:
            cells = np.arange(n_rows) * rng.choice([1, -1, 3, 1000]) + rng.integers(0, 100)
        elif kind == 3:
            cells = rng.permutation(n_rows) * rng.choice([1, 7, 10**9])
        elif kind == 4:
            cells = np.where(rng.random(n_rows) < 0.1, 0, 10.0 ** rng.uniform(0, 6, n_rows)).astype(np.int64)
        elif kind == 5:
            cells = rng.integers(2**53 - 2, 2**53 + 2, n_rows)
        elif kind == 6:
            cells = np.where(rng.random(n_rows) < 0.1, rng.choice([-9, 99, 9999]), rng.integers(20, 90, n_rows))
        column = pl.Series(f"{j}_{name}", cells, dtype=pl.Int64)
        if rng.random() < 0.4:
            column = column.set(pl.Series(rng.random(n_rows) < rng.choice([0.005, 0.5, 1.1])), None)
        columns[column.name] = column.cast(rng.choice([pl.Int32, pl.Int64]), strict=False)
    labels = np.array(["no", "yes"], dtype=object)[rng.integers(0, 2, n_rows)]
    return pl.DataFrame(columns), labels


@pytest.mark.parametrize("n_rows", [12, 40, 150])
@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3)])
def test_a_scan_of_integers_changes_no_answer(seed, n_rows, monkeypatch):
    X, y = integer_table(seed, n_rows)
    same_answers(X, y, monkeypatch)


def test_integers_are_found_without_looking_at_single_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.poisson(rng.uniform(1, 200, 300), size=(50, 300)))
    table = Table(X, rng.choice(["a", "b"], 50), Schema(view(X).columns), "counts", "y")
    monkeypatch.setattr("foldwise.data.findings.find", None)
    assert {finding.kind for finding in table.findings} <= {"count", "numeric", "ordinal", "binary"}
    assert len(table._scan.undisguised((-1, 99, 999))) > 250


@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 6))])
@pytest.mark.parametrize("classes", [("a", "b", "c"), ("no", "yes")])
def test_a_scan_changes_no_answer(seed, classes, monkeypatch):
    X, y = wide_table(seed, classes=classes)
    same_answers(X, y, monkeypatch)


def same_answers(X, y, monkeypatch):
    schema = Schema(view(X).columns)
    scanned = Table(X, y, schema, "wide", "y")
    assert scanned._scan is not None
    monkeypatch.setattr(column_scan, "FEWEST_COLUMNS", 10_000)
    plain = Table(X, y, schema, "wide", "y")
    assert plain._scan is None
    assert scanned.findings == plain.findings
    assert str(scanned.notes) == str(plain.notes)
    assert scanned.audit().to_frame().equals(plain.audit().to_frame())


def test_a_scan_rules_out_most_columns_of_noise():
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(50, 100)))
    scan = scan_columns(X, rng.integers(0, 2, 50))
    assert len(scan.decimals) == len(scan.unique) == len(scan.complete) == 100
    assert len(scan.undetermining(0.05)) == 100


def test_only_wide_tables_are_scanned():
    assert scan_columns(pl.DataFrame(np.zeros((50, 10)))) is None
    assert scan_columns(pl.DataFrame(np.zeros((column_scan.MOST_ROWS + 1, 64)))) is None
