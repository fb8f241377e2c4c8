"""Sums of products of encoded columns, from which linear models are solved: numbers, and categories as indicators.

One statement sums the products of numbers. For each categorical column one sums the numbers of each category, and for
each pair of them one counts the rows of each pair of categories. So a table of 100 categories costs one scan, not 5,000
sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats
from foldwise.engines.asking import Asker
from foldwise.engines.statements import literal

PAIRS_PER_STATEMENT = 500
Expression = Callable[[Asker], Any]


@dataclass(frozen=True)
class EncodedColumns:
    """Columns that an engine computes from those of a table.

    Attributes
    ----------
    numbers : tuple of callables
        Numeric columns without missing cells: `number(asker)` returns an expression.
    codes : tuple of (callable, int)
        Codes of categories from 0 on, and how many there are.
    """

    numbers: tuple[Expression, ...]
    codes: tuple[tuple[Expression, int], ...]

    @property
    def width(self) -> int:
        """Number of columns of the products: a constant, the numbers, and one per code."""
        return 1 + len(self.numbers) + sum(n for _, n in self.codes)


def sums_of_products(table: Any, columns: EncodedColumns) -> Floats:  # (width, width)
    """Ask an engine for ZᵀZ, where Z has a column of ones, the numbers, and one indicator per code.

    Parameters
    ----------
    table : ibis.Table
        The rows.
    columns : EncodedColumns
        The columns to encode.

    Returns
    -------
    ndarray of shape (width, width)
        The sums of products.
    """
    asker = Asker(table)
    cells = {f"x{j}": make(asker).cast("float64") for j, make in enumerate(columns.numbers)}
    cells |= {f"c{j}": make(asker) for j, (make, _) in enumerate(columns.codes)}
    base = table.select(one=literal(asker, 1.0), **cells)
    names = ["one", *(f"x{j}" for j in range(len(columns.numbers)))]
    found, starts = np.zeros((columns.width, columns.width)), code_starts(columns)
    with asker.prepared():
        pairs = list(combinations_with_replacement(range(len(names)), 2))
        for first in range(0, len(pairs), PAIRS_PER_STATEMENT):
            some = pairs[first : first + PAIRS_PER_STATEMENT]
            sums = [(base[names[i]] * base[names[j]]).sum().name(f"p{i}_{j}") for i, j in some]
            for (i, j), value in zip(some, asker.ask(base.aggregate(sums)).row(0), strict=True):
                found[i, j] = found[j, i] = value or 0.0
        for j in range(len(columns.codes)):
            sums = [base[name].sum().name(f"s{i}") for i, name in enumerate(names)]
            answer = asker.ask(base.group_by(f"c{j}").aggregate(sums))
            rows = starts[j] + answer[f"c{j}"].to_numpy().astype(np.intp)
            block = answer.select(pl.exclude(f"c{j}")).to_numpy()
            found[rows, : len(names)], found[: len(names), rows] = block, block.T
            found[rows, rows] = block[:, 0]
        for i, j in combinations(range(len(columns.codes)), 2):
            answer = asker.ask(base.group_by([f"c{i}", f"c{j}"]).aggregate(base.count().name("n")))
            a, b = (starts[k] + answer[f"c{k}"].to_numpy().astype(np.intp) for k in (i, j))
            found[a, b] = found[b, a] = answer["n"].to_numpy()
    return found


def code_starts(columns: EncodedColumns) -> Sequence[int]:
    """Return the index of the first indicator of each column of codes."""
    sizes = [n for _, n in columns.codes]
    starts: list[int] = (1 + len(columns.numbers) + np.cumsum([0, *sizes])).tolist()
    return starts[:-1]
