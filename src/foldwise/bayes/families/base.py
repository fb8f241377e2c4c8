"""Building blocks of a distribution family: base classes, scorers, smoothed shares, and rules for valid values.

A family handles all its columns as one block, so that kernels see whole rows. A new family needs a summary that can be
merged (or an existing one), a `DistributionFamily` that computes and finishes it, and a likelihood that scores and
explains rows (a `NumericLikelihood` for numbers). Register it in `foldwise.bayes.families.FAMILIES`, and test it with
`foldwise.testing.check_family`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
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
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.summaries.moments import check_finite
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.values import Values, values_of

SPARSE_ROWS = 16_384  # scored at a time


@dataclass(frozen=True)
class CellRule:
    """What the values of a family must be, and a hint for the error message. NaN is missing and always valid."""

    wanted: str
    hint: str
    bad: Callable[[Floats], NDArray[np.bool_]]

    def check(self, rows: Floats, names: tuple[str, ...], row: int) -> None:
        """Raise for the first invalid value; `row` is the index of the first of the rows."""
        bad = self.bad(rows)
        if bad.any():
            i, j = (int(index) for index in np.argwhere(bad)[0])
            raise self._error(names[j], float(rows[i, j]), f" in row {row + i}")

    def check_values(self, values: Floats, name: str) -> None:
        """Raise for the first invalid value of a column, whose rows are not known."""
        bad = values[self.bad(values)]
        if bad.size:
            raise self._error(name, float(bad[0]), "")

    def check_sparse(self, view: SparseView) -> None:
        """Raise for the first invalid stored value of a sparse matrix, in which NaN is invalid too."""
        data = np.asarray(view.matrix.data, dtype=np.float64)
        bad = np.flatnonzero(self.bad(data) | np.isnan(data))
        if bad.size:
            raise self._error(view.names[int(view.matrix.indices[bad[0]])], float(data[bad[0]]), "")

    def _error(self, name: str, value: float, where: str) -> InputError:
        # scikit-learn's estimator checks look for the words in parentheses
        negative = " (Negative values in data)" if value < 0 else ""
        return InputError(f"column {name!r} must contain {self.wanted}, got {value:g}{where}{negative}.", self.hint)


WHOLE = CellRule(
    "integers of at least 0",
    "correct the value, or use the family 'gaussian', which supports any finite number.",
    lambda rows: (rows < 0) | np.isinf(rows) | (np.floor(rows) != rows) & ~np.isnan(rows),
)

POSITIVE = CellRule(
    "finite numbers above 0",
    "correct the value, or use the family 'gaussian' or 'kde', which support any finite number.",
    lambda rows: (rows <= 0) | np.isinf(rows),
)


class DistributionFamily(ABC):
    """Computes facts from the values of columns, and likelihoods from facts."""

    name: ClassVar[str]
    summary_type: ClassVar[Any]  # the class of its facts

    @abstractmethod
    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> Summary:
        """Compute the facts of a range of rows."""

    @abstractmethod
    def finish(self, summary: Any, columns: Sequence[Column], totals: ClassTotals, setting: Setting) -> Likelihood:
        """Compute log-likelihoods from the facts of a block."""

    def present(self, summary: Any) -> tuple[Floats, Floats] | None:
        """Return total weight and number of the values that are present (K, d), for `missing="category"`.

        None if the family itself treats missing as one more level.
        """
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Summary:
        """Restore facts from the output of `Summary.to_dict`, and check them."""
        found: Summary = self.summary_type.from_dict(facts, n_classes, n_columns)
        return found


class ValuesFamily(DistributionFamily):
    """A family whose facts are the distinct values of each column, with their weights per class."""

    summary_type = Values
    rule: ClassVar[CellRule | None] = None  # valid values; None for any finite number

    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> Values:
        check = check_finite if self.rule is None else self.rule.check
        return values_of(dense(view, self.name), columns, share, check)


class NumericLikelihood(ABC):
    """The likelihood of a block of numeric columns; a subclass defines the tables and the formula."""

    family: ClassVar[str]
    rule: ClassVar[CellRule | None] = None  # valid values; None for any finite number
    names: tuple[str, ...]

    @abstractmethod
    def logs(self, cells: Floats) -> Floats:  # (d,) -> (K, d)
        """Compute the log-likelihoods of one value per column; the simple counterpart of `add`."""

    @abstractmethod
    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        """Add the log-likelihoods of a chunk of rows to scores (n, K); `start` is the index of its first row."""

    @abstractmethod
    def parameters(self) -> list[Parameter]:
        """Return the rows of the probability table."""

    def check(self, rows: Floats, start: int) -> None:
        """Raise for invalid values; `start` is the index of the first row."""
        (check_finite if self.rule is None else self.rule.check)(rows, self.names, start)

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        return chunk_scorer(dense(view, self.family).numbers(columns), self.add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        """Explain each row. Values that are invalid in scoring raise here too."""
        rows = self._rows(view, columns)
        self.check(rows, 0)
        # 1 is a valid value in every family
        logs = [self.logs(np.where(np.isnan(row), 1.0, row)).T for row in rows]
        return [
            [self.factor(j, float(value), log[j]) for j, value in enumerate(row)]
            for row, log in zip(rows, logs, strict=True)
        ]

    def _rows(self, view: AnyView, columns: Sequence[int]) -> Floats:
        cells = dense(view, self.family).numbers(columns)
        return cells.chunk(0, cells.n_rows).rows

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        """Explain one value, whose log-likelihoods are `log` (K,)."""
        if np.isnan(value):
            return neutral_factor(self.names[j], len(log))
        return Factor(self.names[j], value, tuple(log.tolist()))


class DensityLikelihood(NumericLikelihood):
    """A distribution whose parameters are estimated separately for each class and column."""

    uninformative: ClassVar[str] = "constant in the training rows"  # why a column is ignored
    informative: NDArray[np.bool_]  # (d,), whether a column has any influence
    summary: Any

    @abstractmethod
    def statistics(self) -> dict[str, Floats]:  # (K, d) each
        """Return the parameters for the probability table, by name."""

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
        """Replace by NaN where a class has no value in a column."""
        return np.where(self.summary.weight > 0, table, np.nan)


@dataclass(frozen=True)
class ShareTable:
    """Smoothed shares that keep numerator and denominator: 2/9 stays 2/9. The last axis of each array is the class."""

    over: Floats
    under: Floats
    log: Floats
    n_shares: float | Floats  # how many shares sum to 1

    @classmethod
    def of(cls, over: Floats, under: Floats, n_shares: float | Floats) -> ShareTable:
        """Divide counts by totals. If a total is 0, all `n_shares` shares are equal (the limit for alpha → 0)."""
        empty = under == 0
        if empty.any():
            over, under = np.where(empty, 1.0, over), np.where(empty, np.maximum(n_shares, 1.0), under)
        with np.errstate(divide="ignore"):
            return cls(over, under, np.asarray(np.log(over) - np.log(under)), n_shares)

    def slopes(self, alpha: float) -> ShareTable:
        """Replace the logarithms by their derivatives by log alpha; a logarithm of 0 has no influence, and keeps it."""
        slope = alpha / self.over - alpha * self.n_shares / self.under
        return replace(self, log=np.where(self.log == 0, 0.0, slope))

    def fractions(self, index: Any) -> tuple[Fraction, ...]:
        """Return the share of one entry in each class as fractions."""
        return Fraction.each(self.over[index], np.broadcast_to(self.under, self.over.shape)[index])

    def factor(self, column: str, value: Any, index: Any, note: str = "") -> Factor:
        return Factor(column, value, tuple(self.log[index].tolist()), self.fractions(index), note)

    def parameter(self, column: str, name: str, index: Any) -> Parameter:
        return Parameter(column, name, tuple(np.exp(self.log[index]).tolist()), self.fractions(index))


def chunk_scorer(cells: ChunkedCells, add: Callable[[Chunk, int, Floats], None]) -> Scorer:
    """Make a scorer from a function `add(chunk, first row, scores)`."""
    return Scorer(cells.chunk_rows, lambda start, stop, scores: add(cells.chunk(start, stop), start, scores))


def dense(view: AnyView, family: str) -> View:
    """Raise if the data is sparse."""
    if isinstance(view, SparseView):
        raise FoldwiseTypeError(
            f"Sparse data was passed, but the family {family!r} needs dense columns.",
            "pass X.toarray(), or use families='multinomial' or families='bernoulli'.",
        )
    return view


def names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def neutral_factor(column: str, n_classes: int, why: str = "missing", value: object = None) -> Factor:
    """Make the factor of a value without influence: 1 for every class."""
    return Factor(column, value, (0.0,) * n_classes, note=f"{why}, ignored")


def times(count: Floats, log: Floats) -> Floats:  # (d,), (K, d) -> (K, d)
    """Multiply counts by logarithms, where 0 times -inf is 0."""
    with np.errstate(over="ignore"):
        return np.multiply(count, log, out=np.zeros_like(log), where=count != 0)
