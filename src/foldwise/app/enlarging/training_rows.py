"""The rows of a large table that the final model may learn from: all except those that the estimate is computed on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Timer
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.engine_tables import LargeTable
from foldwise.app.task import FitTask
from foldwise.data.target import written_labels
from foldwise.engines.asking import Asker
from foldwise.engines.drawing import row_batches, rows_to_learn_from
from foldwise.engines.scans import facts_of
from foldwise.engines.statements import number
from foldwise.engines.table_facts import TableFacts
from foldwise.errors import FoldwiseError

BATCH = 100_000  # rows that are read at a time


class CannotLearnError(FoldwiseError):
    """A model cannot be trained on more rows; the message says why."""


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a table in an engine that have a known target and are not kept out for the estimate."""

    large: LargeTable
    task: FitTask
    deadline: float  # of time.monotonic
    valued: tuple[str, ...] = ()  # columns whose values some member needs, so that all members share one answer
    asked: dict[tuple[Any, ...], TableFacts] = field(default_factory=dict)  # facts that several members share

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    @cached_property
    def kept_out(self) -> pl.DataFrame:
        """The labeled rows that no model may learn from; none if the run has a test table of its own."""
        found, target = self.large.drawn.kept_out, self.large.target
        assert found is not None
        if self.task.test is None or not self.task.test.outside:
            return found.clear()
        return found.filter(pl.Series([label in self.codes for label in found[target].to_list()], dtype=pl.Boolean))

    @property
    def n_rows(self) -> int:
        """About how many rows there are; a few may have no target."""
        return self.large.n_rows - self.kept_out.height

    @cached_property
    def labels(self) -> list[Any]:
        """The classes as the engine has them, in the order of their codes."""
        found = [one for one in self.large.drawn.sample[self.large.target].unique().to_list() if one is not None]
        order = {str(label): code for code, label in enumerate(self.task.classes.tolist())}
        return sorted((one for one in found if str(one) in order), key=lambda one: order[str(one)])

    @cached_property
    def codes(self) -> Any:
        """The codes of the classes, or a container of all finite numbers."""
        return (
            FiniteNumbers() if self.task.is_quantity else dict(zip(self.labels, range(len(self.labels)), strict=True))
        )

    def y_of(self, frame: pl.DataFrame) -> NDArray[Any]:
        """Return the codes of the classes of labeled rows, or their values."""
        target = frame[self.large.target]
        if self.task.is_quantity:
            return target.cast(pl.Float64).to_numpy()
        codes = target.replace_strict(self.labels, list(range(len(self.labels))), return_dtype=pl.Int64)
        return codes.to_numpy()

    def expression(self, blank: Sequence[str] = ()) -> Any:
        """All labeled rows of the table, also those that are kept out; `blank` columns are missing throughout."""
        table, asker = self.large.table, Asker(self.large.table)
        target = table[self.large.target]
        wanted = number(asker, target).notnull() if self.task.is_quantity else target.isin(self.labels)
        nothing = {name: asker.ibis.null(table[name].type()) for name in blank}
        rows = table.filter(wanted)
        return rows.mutate(**nothing) if nothing else rows

    def facts(self, columns: Sequence[str], values: Sequence[str], blank: Sequence[str]) -> TableFacts:
        """Ask for the facts of all labeled rows; their classes are codes."""
        values = sorted({*values, *self.valued})
        key = (tuple(columns), tuple(values), tuple(blank))
        if key not in self.asked:
            self.check_time()
            with self.interrupting():
                found = facts_of(
                    self.expression(blank), self.large.target, columns=columns, values=values, task="classification"
                )
            assert found.classes is not None
            if written_labels(found.classes).tolist() != written_labels(self.task.classes).tolist():
                raise CannotLearnError("its classes differ from those of the sample")
            self.asked[key] = TableFacts(**{**vars(found), "classes": np.arange(len(found.classes))})
        return self.asked[key]

    def batches(self, most: int) -> Iterator[pl.DataFrame]:
        """Yield about `most` labeled rows, none of which is kept out."""
        rows = rows_to_learn_from(self.large.table, self.large.drawn, self.large.seed, most)
        with self.interrupting():
            for batch in row_batches(rows, BATCH):
                known = pl.Series([label in self.codes for label in batch[self.large.target].to_list()])
                yield batch if known.all() else batch.filter(known)

    def check_time(self) -> None:
        """Raise if sums of all rows would take too long: they take about as long as drawing the sample did."""
        if self.left < self.large.seconds:
            raise CannotLearnError("there was not enough time")

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Interrupt the statement of the engine that is running at the deadline."""
        raw = getattr(self.large.table.get_backend(), "con", None)
        stop = getattr(raw, "interrupt", getattr(raw, "cancel", None))  # DuckDB and SQLite; PostgreSQL; not Spark
        timer = Timer(max(0.0, self.left), stop or (lambda: None))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class FiniteNumbers:
    """Contains all finite numbers."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and bool(np.isfinite(value))
