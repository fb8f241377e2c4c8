"""Rows on their way from an engine to a booster: prepared batch by batch, and kept in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.enlarging.training_rows import CannotLearnError, TrainingRows
from foldwise.arrays import Floats

Prepare = Callable[[pl.DataFrame], Any]


@dataclass(frozen=True)
class SpooledRows:
    """Features in a file that is mapped into memory, and the target."""

    X: Floats  # (rows, features)
    y: NDArray[Any]


@contextmanager
def spooled(rows: TrainingRows, prepare: Prepare, most: int) -> Iterator[SpooledRows]:
    """Read about `most` rows from the engine; the file is removed at the end."""
    with tempfile.TemporaryFile(prefix="foldwise-") as file:
        targets, width = [], 0
        for batch in rows.batches(most):
            if rows.left < 0:
                raise CannotLearnError("there was not enough time")
            X = np.ascontiguousarray(prepare(batch), dtype=np.float64)
            X.tofile(file)
            targets.append(rows.y_of(batch))
            width = X.shape[1]
        if not targets:
            raise CannotLearnError("the engine returned no rows")
        file.flush()
        y = np.concatenate(targets)
        found: Any = np.memmap(file, dtype=np.float64, mode="r", shape=(len(y), width))
        yield SpooledRows(found, y)
