"""`ExploredTable`: the rows that questions are asked about. `QuestionAnswer`: what one of them found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.folds.protocol import Rows

SHOWN_COLUMNS = 12  # of a row that is shown


@dataclass(frozen=True)
class ExploredTable:
    """A table with a random order of its rows. Questions are asked about the first rows of this order."""

    frame: pl.DataFrame
    order: Rows

    @classmethod
    def of(cls, frame: pl.DataFrame, seed: int) -> ExploredTable:
        """Draw the order of the rows."""
        return cls(frame, np.random.default_rng(seed).permutation(frame.height).astype(np.intp))

    def sample(self, n_rows: int) -> tuple[pl.DataFrame, Rows]:
        """The first rows of the random order, in the order of the table, and their indices."""
        if n_rows >= self.frame.height:
            return self.frame, np.arange(self.frame.height, dtype=np.intp)
        rows = np.sort(self.order[:n_rows])
        return self.frame[rows], rows

    def to_send(self) -> ExploredTable:
        """What is sent to a worker: the table itself."""
        return self


@dataclass(frozen=True)
class QuestionAnswer:
    """What a question found: facts for the report, and columns with one value per row that was looked at."""

    facts: dict[str, Any]
    rows: Rows
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    model: Any = None  # assigns rows to clusters


def cells_of(frame: pl.DataFrame, row: int, names: list[str] | None = None) -> list[list[str]]:
    """The cells of one row as pairs of column and text, for a reader."""
    chosen = (frame.columns if names is None else names)[:SHOWN_COLUMNS]
    return [[name, cell_text(frame[name][row])] for name in chosen]


def cell_text(value: Any, most: int = 60) -> str:
    """A cell as a short text.

    >>> cell_text(0.123456789), cell_text(None), cell_text(3.0)
    ('0.123457', 'missing', '3')
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"
