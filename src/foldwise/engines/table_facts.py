"""`TableFacts`: what an engine said about the rows of a table, by class and fold, as mergeable summaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.schema import Schema, listing
from foldwise.data.target import encode_labels
from foldwise.engines.key_folds import KeyFolds
from foldwise.errors import InputError
from foldwise.summaries.alignment import spread
from foldwise.summaries.counts import Counts
from foldwise.summaries.gram import Gram
from foldwise.summaries.moments import Moments
from foldwise.summaries.values import Values

Cell = tuple[int, ...]  # the outer fold, and the inner one if folds are nested; empty without folds


@dataclass(frozen=True)
class CellFacts:
    """The facts about some rows, by class. The rows of a quantity are one class."""

    class_rows: Floats  # (K,)
    moments: Moments  # of the numeric columns
    counts: Counts  # of the categorical columns
    values: Values  # of the numeric columns whose distinct values were asked for
    grams: tuple[Gram, ...] | None  # (K,), of the numeric columns, then a quantity
    bins: Values = field(default_factory=lambda: Values(()))  # of those with too many: rows between cut points

    def __add__(self, other: CellFacts) -> CellFacts:
        grams = None
        if self.grams is not None and other.grams is not None:
            grams = tuple(a + b for a, b in zip(self.grams, other.grams, strict=True))
        return CellFacts(
            self.class_rows + other.class_rows,
            self.moments + other.moments,
            self.counts + other.counts,
            self.values + other.values,
            grams,
            self.bins + other.bins,
        )

    def expand(self, indices: NDArray[np.int64], n_classes: int) -> CellFacts:
        """Return the same facts for more classes; class i moves to `indices[i]`."""
        grams = None
        if self.grams is not None:
            wide = [Gram.empty(len(self.grams[0].high))] * n_classes
            for i, gram in zip(indices.tolist(), self.grams, strict=True):
                wide[i] = gram
            grams = tuple(wide)
        return CellFacts(
            spread(self.class_rows, indices, n_classes),
            self.moments.expand(indices, n_classes),
            self.counts.expand(indices, n_classes),
            self.values.expand(indices, n_classes),
            grams,
            self.bins.expand(indices, n_classes),
        )


@dataclass(frozen=True)
class TableFacts:
    """Facts about the rows of a table in an engine, from which models are finished without reading a row.

    `facts_of` makes them. `+` merges the facts of two parts of a table.

    Attributes
    ----------
    schema : Schema
        The columns, without target and key.
    target : str
        Name of the target.
    classes : ndarray or None
        The sorted classes; None if the target is a quantity.
    numeric : tuple of str
        Names of the numeric columns.
    categorical : tuple of str
        Names of the categorical columns.
    valued : tuple of str
        Names of the numeric columns with known distinct values.
    cells : mapping
        The facts of each fold, by its index; one entry with the key () without folds.
    folds : KeyFolds or None
        How rows were assigned to folds.
    statements : tuple of str
        The SQL statements that were run.
    cuts : mapping
        The cut points of each numeric column with too many distinct values, from its least to its largest value.

    Examples
    --------
    >>> from foldwise.engines import facts_of, table_of
    >>> facts = facts_of(table_of("examples/weather.csv"), "play")
    >>> facts.n_rows, facts.classes.tolist()
    (14, [False, True])
    >>> (facts + facts).n_rows
    28
    """

    schema: Schema
    target: str
    classes: NDArray[Any] | None
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    valued: tuple[str, ...]
    cells: Mapping[Cell, CellFacts]
    folds: KeyFolds | None = None
    statements: tuple[str, ...] = field(default=(), repr=False)
    cuts: Mapping[str, Floats] = field(default_factory=dict, repr=False)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.total.class_rows.sum())

    @property
    def total(self) -> CellFacts:
        """Return the facts of all rows: a merge of all folds."""
        return reduce(add, self.cells.values())

    def sql(self) -> str:
        """Return the SQL statements that were run.

        Returns
        -------
        str
            All statements, separated by semicolons.
        """
        return ";\n\n".join(self.statements)

    def train(self, outer: int, inner: int | None = None) -> TableFacts:
        """Return the facts of the training rows of a fold.

        Parameters
        ----------
        outer : int
            Index of the outer fold, whose rows are left out.
        inner : int, optional
            Index of the inner fold, whose rows are left out as well.

        Returns
        -------
        TableFacts
            The facts of the other rows.
        """
        self._check_folds(outer, inner)
        return self._where(lambda cell: cell[0] != outer and (inner is None or cell[1] != inner))

    def test(self, outer: int, inner: int | None = None) -> TableFacts:
        """Return the facts of the test rows of a fold.

        Parameters
        ----------
        outer : int
            Index of the outer fold.
        inner : int, optional
            Index of the inner fold. If given, the facts are those of its rows that are not in the outer fold.

        Returns
        -------
        TableFacts
            The facts of these rows.
        """
        self._check_folds(outer, inner)
        if inner is None:
            return self._where(lambda cell: cell[0] == outer)
        return self._where(lambda cell: cell[0] != outer and cell[1] == inner)

    def _check_folds(self, outer: int, inner: int | None) -> None:
        """Raise for a fold that does not exist."""
        if self.folds is None:
            raise InputError("these facts have no folds.", "pass folds=KeyFolds(...) to facts_of.")
        if inner is not None and self.folds.inner is None:
            raise InputError("these facts have no inner folds.", "pass folds=KeyFolds(..., inner=...) to facts_of.")
        for name, index, n in zip(("outer", "inner"), (outer, inner), self.folds.sizes, strict=False):
            if index is not None and not 0 <= index < n:
                raise InputError(f"{name} must be an index from 0 to {n - 1}, got {index!r}.")

    def _where(self, wanted: Callable[[Cell], bool]) -> TableFacts:
        found = [facts for cell, facts in self.cells.items() if wanted(cell)]
        if not found:
            raise InputError("no row is in these folds.", "use fewer folds.")
        return replace(self, cells={(): reduce(add, found)}, folds=None)

    def __add__(self, other: TableFacts) -> TableFacts:
        """Merge the facts of two parts of a table."""
        if not isinstance(other, TableFacts):
            return NotImplemented
        for what, (ours, theirs) in self._parts_to_compare(other).items():
            if ours != theirs:
                raise InputError(
                    f"only facts with the same {what} can be merged; got {in_words(ours)} and {in_words(theirs)}.",
                    "call facts_of with the same arguments for both.",
                )
        a, b = self, other
        if self.classes is not None and other.classes is not None:
            classes = encode_labels(np.array([*self.classes.tolist(), *other.classes.tolist()])).classes
            a, b = self.over(classes), other.over(classes)
        cells = dict(a.cells)
        for cell, facts in b.cells.items():
            cells[cell] = cells[cell] + facts if cell in cells else facts
        return replace(a, cells=cells, statements=(*self.statements, *other.statements))

    def _parts_to_compare(self, other: TableFacts) -> dict[str, tuple[Any, Any]]:
        """Return what must be equal if facts are merged."""
        tasks = tuple("a quantity" if one.classes is None else "classes" for one in (self, other))
        return {
            "columns": (self.schema.names, other.schema.names),
            "numeric columns": (self.numeric, other.numeric),
            "target": (self.target, other.target),
            "kind of target": (tasks[0], tasks[1]),
            "folds": (self.folds, other.folds),
            "columns with counted values": (self.valued, other.valued),
            "columns with cut points": (tuple(self.cuts), tuple(other.cuts)),
        }

    def over(self, classes: NDArray[Any]) -> TableFacts:
        """Express the facts in terms of more classes.

        Parameters
        ----------
        classes : ndarray
            All classes, sorted.

        Returns
        -------
        TableFacts
            The same facts; a class without rows has counts of 0.
        """
        if self.classes is None or self.classes.tolist() == classes.tolist():
            return self
        index = {label: i for i, label in enumerate(classes.tolist())}
        indices = np.array([index[label] for label in self.classes.tolist()], dtype=np.int64)
        cells = {cell: facts.expand(indices, len(classes)) for cell, facts in self.cells.items()}
        return replace(self, classes=classes, cells=cells)


def in_words(part: Any) -> str:
    """Write a part of the facts that differs."""
    if isinstance(part, tuple):
        return listing(part) if part else "none"
    return str(part)
