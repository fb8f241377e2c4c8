"""SQL of large forests: the nodes are a table, and each row walks down all trees level by level.

As expressions, DuckDB takes a second to plan 4,300 splits and half a minute to plan 17,000. The table is a few literals
that are unpacked when the query runs, which every database reads in a fraction of a second. Leaves are added tree after
tree, as the libraries do, because another order may decide ties differently. This file has the joins of PostgreSQL and
the queue of SQLite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np

from foldwise.exports.sql.dialects import SqlDialect
from foldwise.exports.sql.node_lists import ListStep
from foldwise.exports.sql.node_steps import NodeStep
from foldwise.exports.sql.program import ROW, Feature, SqlProgram
from foldwise.exports.sql.trees import test_of
from foldwise.exports.trees.node_tables import LeafSum, NodeTable
from foldwise.exports.trees.splits import SplitTree

MOST_SPLITS = 2000  # of a forest that is written as expressions, times the numbers that a leaf predicts
MOST_CELLS = 1000  # that a table of nodes looks at: SQLite allows 2,000 columns
NodeColumns = Mapping[str, Sequence[float]]  # of a table that is unpacked from literals


def is_large(trees: Sequence[SplitTree], program: SqlProgram) -> bool:
    """Whether a forest is written as a table."""
    if not program.dialect.walk:
        return False
    n_splits = sum(child >= 0 for tree in trees for child in tree.left)
    return bool(n_splits * trees[0].values[0].size > MOST_SPLITS)


def summed_by_table(
    trees: Sequence[SplitTree], sums: Sequence[LeafSum], features: Sequence[Feature], program: SqlProgram
) -> list[str] | None:
    """Add up what the leaves predict, tree after tree; None if the trees look at too many cells."""
    expressions: dict[str, int] = {}

    def cell_of(tree: SplitTree, i: int) -> tuple[int, float]:
        if i in tree.among or i in tree.near_zero or np.isinf(tree.threshold[i]):
            left, right = program.number(0.0), program.number(1.0)
            text = f"CASE WHEN {test_of(tree, i, features, program)} THEN {left} ELSE {right} END"
            return expressions.setdefault(text, len(expressions)), 0.5
        text = filled(features[tree.feature[i]], tree.missing_left[i], program)
        return expressions.setdefault(text, len(expressions)), tree.threshold[i]

    table = NodeTable.of(trees, cell_of)
    if len(expressions) > MOST_CELLS:
        return None
    cells = [one.expression for one in program.numbers([Feature(text) for text in expressions])]
    if program.dialect.walk == "levels":
        cells = program.compute([f"ARRAY[{', '.join(cells)}]"])
    names = program.new_names(len(sums), "s")
    step = ListStep if program.dialect.walk == "lists" else ForestStep
    program.steps.append(step(table, cells, dict(zip(names, sums, strict=True)), program.dialect))
    return names


def filled(feature: Feature, missing_left: bool, program: SqlProgram) -> str:
    """Return a cell, or an infinite number that goes where missing cells go."""
    value = feature.as_value(program.dialect)
    if feature.indicator or not feature.nullable:
        return value
    return f"COALESCE({value}, {program.dialect.infinity(negative=missing_left)})"


class ForestStep(NodeStep):
    """The step as joins with a table of nodes, or as a queue."""

    @property
    def uses(self) -> set[str]:
        return {*self.cells, ROW}

    def write(self, step: str, before: str, passed: Sequence[str]) -> list[str]:
        """Write the named subqueries of this step."""
        write = self._queue if self.dialect.walk == "queue" else self._levels
        return write(step, before, passed)

    def _tables(self, step: str) -> list[str]:
        nodes, leaves = self.table, np.array(self.table.leaves)
        columns: dict[str, NodeColumns] = {
            "nodes": {
                "cell": nodes.cell,
                "threshold": nodes.threshold,
                "l": nodes.left,
                "r": nodes.right,
            },
            "trees": {"node": nodes.roots},
            "leaves": {f"v{k}": column for k, column in enumerate(leaves.T.tolist())},
        }
        return [f"{step}_{name} AS MATERIALIZED ({unpacked(own, self.dialect)})" for name, own in columns.items()]

    def _joined(self, step: str, before: str, passed: Sequence[str]) -> str:
        columns = ", ".join([*(f"{before}.{name}" for name in passed), *self.names])
        return f"{step} AS (SELECT {columns} FROM {before} JOIN {step}_sums ON {step}_sums.n = {before}.{ROW})"

    def _levels(self, step: str, before: str, passed: Sequence[str]) -> list[str]:
        """One join per level for all rows and trees, and sums in the order of the trees."""
        (cells,), at = self.cells, "[n.cell + 1]"
        start = f"SELECT x.{ROW} AS n, x.{cells} AS cells, t.id AS tree, t.node"
        found = [*self._tables(step), f"{step}_level0 AS ({start} FROM {before} AS x CROSS JOIN {step}_trees AS t)"]
        child = f"CASE WHEN x.cells{at} <= n.threshold THEN n.l ELSE n.r END"
        node = f"CASE WHEN n.id IS NULL THEN x.node ELSE {child} END AS node"
        for level in range(1, self.table.depth + 1):
            # OFFSET makes PostgreSQL plan one join after the other
            joined = f"{step}_level{level - 1} AS x LEFT JOIN {step}_nodes AS n ON n.id = x.node OFFSET 0"
            found.append(f"{step}_level{level} AS (SELECT x.n, x.cells, x.tree, {node} FROM {joined})")
        sums = ", ".join(
            f"SUM(v.v{one.value} ORDER BY x.tree) FILTER (WHERE x.tree BETWEEN {one.first} AND {one.last}) AS {name}"
            for name, one in self.sums.items()
        )
        last = f"{step}_level{self.table.depth} AS x JOIN {step}_leaves AS v ON v.id = -1 - x.node"
        return [
            *found,
            f"{step}_sums AS (SELECT x.n, {sums} FROM {last} GROUP BY x.n)",
            self._joined(step, before, passed),
        ]

    def _queue(self, step: str, before: str, passed: Sequence[str]) -> list[str]:
        """One split or leaf at a time, with the sums so far: SQLite keeps a queue and finds nodes by an index."""
        cells, sums = ", ".join(self.cells), ", ".join(self.names)
        zeros = ", ".join(["0.0"] * len(self.names))
        start = f"SELECT {ROW}, {cells}, 0, {self.table.roots[0]}, {zeros} FROM {before}"
        cell = " ".join(f"WHEN {j} THEN w.{name}" for j, name in enumerate(self.cells))
        child = f"CASE WHEN CASE n.cell {cell} END <= n.threshold THEN n.l ELSE n.r END"
        later = [
            "w.n",
            *(f"w.{name}" for name in self.cells),
            "w.tree + (w.node < 0)",
            f"CASE WHEN w.node < 0 THEN t.node ELSE {child} END",
            *(
                f"CASE WHEN w.node < 0 AND w.tree BETWEEN {one.first} AND {one.last} "
                f"THEN w.{name} + v.v{one.value} ELSE w.{name} END"
                for name, one in self.sums.items()
            ),
        ]
        joined = (
            f"{step}_walk AS w LEFT JOIN {step}_nodes AS n ON n.id = w.node LEFT JOIN {step}_leaves AS v "
            f"ON v.id = -1 - w.node LEFT JOIN {step}_trees AS t ON w.node < 0 AND t.id = w.tree + 1"
        )
        n_trees = len(self.table.roots)
        walk = f"{start}\n  UNION ALL SELECT {', '.join(later)}\n  FROM {joined} WHERE w.tree < {n_trees}"
        return [
            *self._tables(step),
            f"{step}_walk(n, {cells}, tree, node, {sums}) AS (\n  {walk}\n)",
            f"{step}_sums AS (SELECT n, {sums} FROM {step}_walk WHERE tree = {n_trees})",
            self._joined(step, before, passed),
        ]


def unpacked(columns: NodeColumns, dialect: SqlDialect) -> str:
    """Write a SELECT of columns that are stored in literals, and of their index `id`."""
    whole = {name: all(isinstance(value, int) for value in own) for name, own in columns.items()}
    if dialect.name == "sqlite":
        return unpacked_json(columns, whole)
    types = {name: "INTEGER" if whole[name] else dialect.double for name in columns}
    listed = {name: ",".join(map(repr, own)) for name, own in columns.items()}
    arrays = ", ".join(f"'{{{listed[name]}}}'::{types[name]}[]" for name in columns)
    found = ", ".join([*columns, "i"])
    source = f"UNNEST({arrays}) WITH ORDINALITY AS a({found})"
    return f"SELECT CAST(i - 1 AS INTEGER) AS id, {', '.join(columns)} FROM {source}"


def unpacked_json(columns: NodeColumns, whole: Mapping[str, bool]) -> str:
    """The same for SQLite. It may read a double wrongly, so each is a whole number times a power of two."""
    rows, found, index = [], [], 0
    for name, own in columns.items():
        if whole[name]:
            found.append(f"JSON_EXTRACT(value, '$[{index}]') AS {name}")
            rows.append(own)
            index += 1
        else:
            found.append(
                f"JSON_EXTRACT(value, '$[{index}]') * POW(2.0, JSON_EXTRACT(value, '$[{index + 1}]')) AS {name}"
            )
            rows += list(zip(*map(whole_and_power, own), strict=True))
            index += 2
    text = json.dumps(list(zip(*rows, strict=True)), separators=(",", ":"))
    return f"SELECT key AS id, {', '.join(found)} FROM JSON_EACH('{text}')"


def whole_and_power(value: float) -> tuple[int, int]:
    """Return the smallest whole number m, and the power p, with m · 2^p equal to a double.

    >>> whole_and_power(0.75)
    (3, -2)
    """
    mantissa, power = math.frexp(value)
    whole, power = int(mantissa * 2**53), power - 53
    while whole and not whole & 1:
        whole, power = whole >> 1, power + 1
    return whole, power if whole else 0
