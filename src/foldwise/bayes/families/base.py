"""What to build a distribution family from: its values and protocols, base classes, scorers, smoothed shares.

A family handles all its columns as one block, so that kernels see whole rows. To add one: a summary that merges (or an
existing one), a `DistributionFamily` that makes and finishes it, and a likelihood that scores and explains, for numbers
a `NumericLikelihood`; then one line in `foldwise.bayes.families.FAMILIES`. `foldwise.testing.check_family` checks it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.families.cell_rules import CellRule
from foldwise.bayes.families.protocol import (
    AnyView,
    ClassTotals,
    Factor,
    Fraction,
    Likelihood,
    Parameter,
    Scorer,
    Setting,
    Summary,
)
from foldwise.data.cells import Chunk, ChunkedCells
from foldwise.data.schema import Column
from foldwise.data.view import SparseView, View
from foldwise.errors import FoldwiseTypeError
from foldwise.summaries.moments import check_finite
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share


class DistributionFamily(ABC):
    """Makes facts from cells, and likelihoods from facts."""

    name: ClassVar[str]
    summary_type: ClassVar[Any]  # the class of its facts

    @abstractmethod
    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Summary:
        """Return the facts of a share of the rows."""

    @abstractmethod
    def finish(self, summary: Any, columns: Sequence[Column], totals: ClassTotals, setting: Setting) -> Likelihood:
        """Turn the facts of a block into log-likelihoods."""

    def present(self, summary: Any) -> tuple[Floats, Floats] | None:
        """Return weight and rows of the present cells (K, d), from which `missing="category"` makes its own factor.

        None where the family itself treats missing as one more level.
        """
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Summary:
        """Return the facts that `Summary.to_dict` wrote, checked."""
        found: Summary = self.summary_type.from_dict(facts, n_classes, n_columns)
        return found


class NumericLikelihood(ABC):
    """The likelihood of a block of numeric columns; a subclass holds the tables and the formula."""

    family: ClassVar[str]
    rule: ClassVar[CellRule | None] = None  # what cells may hold; None for any finite number
    names: tuple[str, ...]

    @abstractmethod
    def logs(self, cells: Floats) -> Floats:  # (d,) -> (K, d)
        """Return the log-likelihoods of one present cell per column: the plain twin of `add`."""

    @abstractmethod
    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        """Add the log-likelihoods of a chunk, whose first row has the number `start`, to scores (n, K)."""

    @abstractmethod
    def parameters(self) -> list[Parameter]:
        """Return the rows of the probability distribution table."""

    def check(self, rows: Floats, start: int) -> None:
        """Refuse cells that the family cannot have; `start` is the number of the first row."""
        (check_finite if self.rule is None else self.rule.check)(rows, self.names, start)

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        return ChunkScorer(dense(view, self.family).numbers(columns), self.add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        """Explain each row; what scoring refuses is refused here too."""
        rows = self._rows(view, columns)
        self.check(rows, 0)
        # 1 is a valid cell of every family
        logs = [self.logs(np.where(np.isnan(row), 1.0, row)).T for row in rows]
        return [
            [self.factor(j, float(value), log[j]) for j, value in enumerate(row)]
            for row, log in zip(rows, logs, strict=True)
        ]

    def _rows(self, view: AnyView, columns: Sequence[int]) -> Floats:
        cells = dense(view, self.family).numbers(columns)
        return cells.chunk(0, cells.n_rows).rows

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        """Explain one cell, whose log-likelihoods are `log` (K,)."""
        if np.isnan(value):
            return neutral_factor(self.names[j], len(log))
        return Factor(self.names[j], value, tuple(log.tolist()))


class DensityLikelihood(NumericLikelihood):
    """A distribution whose parameters are estimated in each class and column by itself."""

    uninformative: ClassVar[str] = "one value was seen at most"  # why a column is left out
    informative: NDArray[np.bool_]  # (d,), whether a column can distinguish between classes at all
    summary: Any

    @abstractmethod
    def statistics(self) -> dict[str, Floats]:  # (K, d) each
        """Return the rows of the probability table, by name."""

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        if not np.isnan(value) and not self.informative[j]:
            return neutral_factor(self.names[j], len(log), self.uninformative, value)
        return super().factor(j, value, log)

    def parameters(self) -> list[Parameter]:
        tables = {**self.statistics(), "count": self.summary.weight}
        return [
            Parameter(column, name, tuple(table[:, j].tolist()))
            for j, column in enumerate(self.names)
            for name, table in tables.items()
        ]

    def where_seen(self, table: Floats) -> Floats:  # (K, d)
        """NaN for classes that hold no cell of a column."""
        return np.where(self.summary.weight > 0, table, np.nan)


@dataclass(frozen=True)
class ShareTable:
    """Smoothed shares as they were counted: 2/9 stays 2/9. The last axis of each array is the class."""

    over: Floats
    under: Floats
    log: Floats

    @classmethod
    def of(cls, over: Floats, under: Floats, n_shares: float | Floats) -> ShareTable:
        """Divide counts by totals; where a total is 0, the limit for alpha → 0 is `n_shares` equal shares."""
        empty = under == 0
        if empty.any():
            over, under = np.where(empty, 1.0, over), np.where(empty, np.maximum(n_shares, 1.0), under)
        with np.errstate(divide="ignore"):
            return cls(over, under, np.asarray(np.log(over) - np.log(under)))

    def fractions(self, index: Any) -> tuple[Fraction, ...]:
        """The shares of one entry in each class."""
        return Fraction.each(self.over[index], np.broadcast_to(self.under, self.over.shape)[index])

    def factor(self, column: str, value: Any, index: Any, note: str = "") -> Factor:
        return Factor(column, value, tuple(self.log[index].tolist()), self.fractions(index), note)

    def parameter(self, column: str, name: str, index: Any) -> Parameter:
        return Parameter(column, name, tuple(np.exp(self.log[index]).tolist()), self.fractions(index))


class ChunkScorer:
    """Scores chunk by chunk with one function: `add(chunk, first row, scores)`."""

    def __init__(self, cells: ChunkedCells, add: Callable[[Chunk, int, Floats], None]) -> None:
        self._cells = cells
        self._add = add

    @property
    def chunk_rows(self) -> int:
        return self._cells.chunk_rows

    def add(self, start: int, stop: int, scores: Floats) -> None:
        self._add(self._cells.chunk(start, stop), start, scores)


def dense(view: AnyView, family: str) -> View:
    """The view of columns, where it is one."""
    if isinstance(view, SparseView):
        raise FoldwiseTypeError(
            f"Sparse data was passed, but the family {family!r} needs dense columns.",
            "pass X.toarray(), or use the family 'multinomial' or 'bernoulli'.",
        )
    return view


def names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def neutral_factor(column: str, n_classes: int, why: str = "missing", value: object = None) -> Factor:
    """The factor of a cell that has no influence: 1 for every class."""
    return Factor(column, value, (0.0,) * n_classes, note=f"{why}, left out")


def times(count: Floats, log: Floats) -> Floats:  # (d,), (K, d) -> (K, d)
    """count·log, where 0 times -inf is 0."""
    with np.errstate(over="ignore"):
        return np.multiply(count, log, out=np.zeros_like(log), where=count != 0)
