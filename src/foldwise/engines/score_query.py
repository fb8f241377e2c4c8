"""A query of the scores of classes, so that rows are scored where they are, each by the model of its fold.

The query is written as text: Ibis takes half a minute to compile thousands of terms. It contains only internal names,
numbers, and categories that are quoted by sqlglot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from foldwise.engines.asking import Asker

IMPOSSIBLE = -1e300  # the score of a class without training rows; engines treat minus infinity differently


class ScoreQuery:
    """The parts of the query: the cells of all rows, and the scores that refer to them.

    Attributes
    ----------
    cells : dict of str to expression
        The cells that scores refer to, by internal name.
    """

    def __init__(self, asker: Asker, fold: str, label: str, classes: NDArray[Any]) -> None:
        self.asker, self.fold, self.label, self.classes = asker, fold, label, classes
        self.cells: dict[str, Any] = {}

    def written(self, by_model: Sequence[Sequence[str]], joins: str = "") -> str:
        """Write the query of class, fold and scores, in columns j0, j1, …, from the scores of each model (K,)."""
        cases = []
        for c in range(len(self.classes)):  # engines evaluate only the branch of a case that applies
            branches = " ".join(f"WHEN {o} THEN {scores[c]}" for o, scores in enumerate(by_model))
            cases.append(f"CASE base.fold {branches} END AS j{c}")
        columns, fence = ", ".join(["label", "base.fold AS fold", *cases]), self.asker.kind.fence
        return f"SELECT {columns} FROM ({self.base()} {fence}) AS base {joins} {fence}"

    def base(self) -> str:
        """Write the query of the class, the fold and the cells of all rows."""
        table = self.asker.table
        cases = [(table[self.label] == label, c) for c, label in enumerate(self.classes.tolist())]
        index = self.asker.ibis.cases(*cases).cast("int64")
        return self.asker.compile(table.select(label=index, fold=table[self.fold].cast("int64"), **self.cells))

    def literal(self, value: float) -> str:
        """Write a constant of exactly this value."""
        return f"CAST('{float(value)!r}' AS {self.asker.kind.float_type})"
