"""A run learns from dates, times of day, timestamps with zones and durations, whether they have a type or are text."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from tests.app.fakes import fake_fit
from tests.slow import slow

N = 160
RNG = np.random.default_rng(0)
HOURS = RNG.integers(0, 24, N)
MINUTES = RNG.integers(1, 200, N)
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=int(k)) for k in RNG.integers(0, 360, N)]
LOCAL = pl.Series([dt.datetime(2024, 3, 1, int(hour)) for hour in HOURS]).dt.replace_time_zone("America/New_York")
WEEKEND = np.array([day.isoweekday() > 5 for day in DAYS])
# column, the same as text, and what the classes depend on
COLUMNS = {
    "date": (pl.Series(DAYS), [f"{day:%d.%m.%Y}" for day in DAYS], WEEKEND),
    "time": (pl.Series([dt.time(int(hour)) for hour in HOURS]), [f"{hour:02}:00" for hour in HOURS], HOURS >= 12),
    "zone": (LOCAL, [f"2024-03-01T{hour:02}:00:00-05:00" for hour in HOURS], HOURS >= 12),
    "duration": (
        pl.Series([dt.timedelta(minutes=int(k)) for k in MINUTES]),
        [f"{k} min" for k in MINUTES],
        MINUTES >= 100,
    ),
}


@pytest.mark.parametrize("as_text", [False, *slow(True)])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_run_learns_from_it(kind, as_text):
    typed, text, truth = COLUMNS[kind]
    frame = pl.DataFrame({"when": pl.Series(text) if as_text else typed, "y": np.where(truth, "a", "b")})
    run = fake_fit(frame, target="y", models=["decision_tree"], metric="accuracy", cv=3)
    assert run.estimate.value > 0.9
    assert np.mean(run.predict(frame.drop("y")) == frame["y"].to_numpy()) > 0.95
