"""When the time for checks is over, a sample of columns is checked and the audit says so."""

from __future__ import annotations

import numpy as np
import polars as pl

from foldwise.data import check_time
from foldwise.data.check_time import FEWEST, CheckTime
from foldwise.data.schema import Schema
from foldwise.data.table import Table
from foldwise.data.view import view


class TickingClock:
    """A clock that advances by one second each time it is read."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def leaky_table(n_columns=300, n_rows=60):
    """Text columns, of which every third one determines the target, and numbers that may mean missing."""
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], n_rows)
    texts = {
        f"t{j}": np.where(y == "no", "a", "b") if j % 3 == 0 else rng.choice(["p", "q"], n_rows)
        for j in range(n_columns)
    }
    zeros = {f"z{j}": np.where(rng.random(n_rows) < 0.2, -999.0, rng.normal(50, 1, n_rows)) for j in range(40)}
    X = pl.DataFrame({**texts, **zeros})
    return Table(X, y, Schema(view(X).columns), "leaky", "y")


def test_columns_until_the_time_is_over():
    names = [f"c{j}" for j in range(1000)]
    time = CheckTime(100, TickingClock())
    first = list(time.columns("leaks", names))
    assert FEWEST < len(first) < 130
    assert first != names[: len(first)]
    assert set(first) <= set(names)
    assert len(list(time.columns("rare categories", names))) == FEWEST
    assert time.sentences[0] == (
        f"There was not enough time for all checks: only {len(first)} of 1,000 columns, chosen at random, were checked "
        "for leaks."
    )
    assert len(time.sentences) == 2
    assert list(CheckTime(1e9, TickingClock()).columns("leaks", names[:3])) != []


def test_without_a_limit_every_column_is_checked_in_order():
    names = [f"c{j}" for j in range(1000)]
    time = CheckTime()
    assert list(time.columns("leaks", names)) == names
    assert time.sentences == ()


def test_an_audit_that_has_time_equals_one_without_a_limit():
    unlimited, limited = leaky_table().audit(), leaky_table().audit(seconds=1e6)
    assert limited == unlimited
    assert unlimited.unchecked == ()
    assert len(unlimited.of("target")) == 100
    assert len(unlimited.of("disguised")) == 40


def test_an_audit_without_time_checks_a_sample_and_says_so(monkeypatch):
    whole = leaky_table().audit()
    clock = TickingClock()
    monkeypatch.setattr(check_time.CheckTime.__init__, "__defaults__", (np.inf, clock))
    table = leaky_table()
    audit = table.audit(seconds=60)
    assert 0 < len(audit.of("target")) < 100
    assert set(audit.of("target")) < set(whole.of("target"))
    names = [concern.column for concern in audit.of("target")]
    assert names == sorted(names, key=table.X.columns.index)
    assert any("checked for leaks of the target" in text for text in audit.unchecked)
    assert "There was not enough time for all checks" in repr(audit)
    assert clock.now < 60 + 340 + 10
    assert len(table.notes.about("disguised missing")) == len(audit.of("disguised"))
