"""Tables that are larger than the memory of a run, because the memory of the machine is pretended to be small."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
import pytest

from foldwise.app import engine_tables
from foldwise.app.enlarging.training_rows import TrainingRows
from foldwise.app.task import make_task
from foldwise.models import catalogue

N_ROWS, N_SAMPLE = 12_000, 2_000


def large_table(n: int = N_ROWS, seed: int = 5) -> pl.DataFrame:
    """Numbers with missing cells, categories, a flag, classes and a quantity. No row occurs twice."""
    rng = np.random.default_rng(seed)
    wide, skewed = rng.normal(size=n), rng.exponential(size=n)
    color = rng.choice(["red", "green", "blue", "it's"], n, p=[0.4, 0.3, 0.2, 0.1])
    flag = rng.random(n) < 0.4
    score = wide + (color == "red") - 0.5 * skewed + flag + rng.logistic(size=n)
    return pl.DataFrame(
        {
            "wide": [None if i % 19 == 0 else x for i, x in enumerate(wide.tolist())],
            "skewed": skewed,
            "color": [None if i % 23 == 0 else one for i, one in enumerate(color.tolist())],
            "flag": flag,
            "label": np.where(score > 0.3, "yes", "no"),
            "amount": 1e6 + 10 * score,
        }
    )


def small_memory(monkeypatch: pytest.MonkeyPatch, n_columns: int, n_sample: int = N_SAMPLE) -> None:
    """Let a run read so many rows of a table with so many columns."""
    monkeypatch.setattr(engine_tables, "memory_bytes", lambda: 20 * 16 * n_columns * n_sample)


def training_rows(table: Any, target: str) -> TrainingRows:
    """Draw a sample, and return the rows that models may learn from; there is a minute left."""
    task = make_task(table, target)
    assert task.large is not None
    return TrainingRows(task.large, task, time.monotonic() + 60)


def fitted_member(rows: TrainingRows, model: str, **params: Any) -> Any:
    """Fit a model of the catalog to the sample, as members of the final model are."""
    spec = catalogue()[model].suited(rows.task.outline.task)
    pipeline = spec.pipeline(rows.task.outline).set_params(**params)
    return pipeline.fit(rows.task.table.X, rows.task.y)


def keys(frame: pl.DataFrame) -> set[float]:
    """The column that has a different value in every row."""
    return set(frame["skewed"].to_list())
