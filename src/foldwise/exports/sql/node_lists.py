"""SQL of large forests in DuckDB and Spark: the nodes are lists, and a loop follows each row down every tree.

Joining the nodes level by level takes DuckDB three times as long and needs memory for every row and tree. Nested CASE
expressions of thousands of splits take about as long, but much longer to plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foldwise.exports.sql.node_steps import NodeStep


@dataclass(frozen=True)
class ListWords:
    """How a database writes lists and the functions of their elements.

    Attributes
    ----------
    first : int
        The index of the first element.
    literal : str
        A list of numbers, with `{values}` and their `{type}`.
    made : str
        A list of columns, with `{}` for them.
    mapped : str
        The list of what a function returns for each element, with the list, a name for the element, and the function.
    folded : str
        What remains if a function of the result so far and the next element is applied from the first element to the
        last, with the list, names for both, the function and the start.
    sliced : str
        Some elements of a list, with the list, the first and the last one, counted from 1, and their number `n`.
    numbers : str
        A list of so many numbers.
    whole : str
        The type of whole numbers.
    """

    first: int
    literal: str
    made: str
    mapped: str
    folded: str
    sliced: str
    numbers: str
    whole: str


WORDS = {
    "duckdb": ListWords(
        1,
        "CAST('[{values}]' AS {type}[])",
        "[{}]",
        "LIST_TRANSFORM({list}, LAMBDA {one}: {function})",
        "LIST_REDUCE({list}, LAMBDA {result}, {one}: {function}, {start})",
        "{list}[{first}:{last}]",
        "RANGE({})",
        "INTEGER",
    ),
    "spark": ListWords(
        0,
        "FROM_JSON('[{values}]', 'ARRAY<{type}>')",
        "ARRAY({})",
        "TRANSFORM({list}, {one} -> {function})",
        "AGGREGATE({list}, {start}, ({result}, {one}) -> {function})",
        "SLICE({list}, {first}, {n})",
        "SEQUENCE(1, {})",
        "INT",
    ),
}


class ListStep(NodeStep):
    """The step as a loop over lists of nodes."""

    @property
    def uses(self) -> set[str]:
        return set(self.cells)

    def write(self, step: str, before: str, passed: Sequence[str]) -> list[str]:
        """Write the named subqueries of this step: the lists, the leaves that a row reaches, and the sums."""
        words, double = WORDS[self.dialect.name], self.dialect.double
        lists = self._lists(words)
        at_leaf = words.made.format(", ".join([*self.cells, self.dialect.double_literal(-1.0)]))
        child = f"node + steps[node] + CAST(cells[cell_indices[node]] > thresholds[node] AS {words.whole})"
        levels = words.numbers.format(max(self.table.depth, 1))
        walk = words.folded.format(list=levels, result="node", one="level", function=child, start="root")
        reached = words.mapped.format(list="roots", one="root", function=walk)
        found = ", ".join([*passed, *(name for name in lists if name[0] == "v"), "leaves", f"{reached} AS nodes"])
        sums = []
        for name, one in self.sums.items():
            own = words.sliced.format(list="nodes", first=one.first + 1, last=one.last + 1, n=one.last - one.first + 1)
            values = words.mapped.format(list=own, one="node", function=f"v{one.value}[leaves[node]]")
            start = f"CAST(0 AS {double})"
            total = words.folded.format(list=values, result="total", one="own", function="total + own", start=start)
            sums.append(f"{total} AS {name}")
        written = ", ".join(f"{text} AS {name}" for name, text in lists.items())
        fence = "MATERIALIZED " if self.dialect.materializes else ""
        return [
            f"{step}_lists AS {fence}(SELECT {written})",
            f"{step}_cells AS (SELECT {step}_lists.*, {', '.join([*passed, f'{at_leaf} AS cells'])} "
            f"FROM {before} CROSS JOIN {step}_lists)",
            f"{step}_nodes AS (SELECT {found} FROM {step}_cells)",
            f"{step} AS (SELECT {', '.join([*passed, *sums])} FROM {step}_nodes)",
        ]

    def _lists(self, words: ListWords) -> dict[str, str]:
        """Write the lists by name. A leaf compares a cell that is -1 with 0, so a row that has reached it stays."""
        nodes, first = self.table.with_siblings(), words.first
        cell_indices = [(len(self.cells) if cell < 0 else cell) + first for cell in nodes.cell]
        whole = {
            "steps": nodes.step,
            "cell_indices": cell_indices,
            "leaves": [one + first for one in nodes.leaf],
            "roots": [one + first for one in nodes.roots],
        }
        columns = np.array(self.table.leaves).T.tolist()
        doubles = {"thresholds": nodes.threshold, **{f"v{k}": column for k, column in enumerate(columns)}}
        return {name: list_of(own, words, words.whole) for name, own in whole.items()} | {
            name: list_of(own, words, self.dialect.double) for name, own in doubles.items()
        }


def list_of(values: Sequence[float], words: ListWords, kind: str) -> str:
    """Write a list of numbers; 0.0 is written as 0."""
    return words.literal.format(values=",".join(repr(value) if value else "0" for value in values), type=kind)
