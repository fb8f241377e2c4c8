"""What the ways to walk through the nodes of a forest have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foldwise.exports.sql.dialects import SqlDialect
from foldwise.exports.trees.node_tables import LeafSum, NodeTable


@dataclass(frozen=True)
class NodeStep:
    """A step of a query that adds the sums of a forest to the columns of the step before.

    Attributes
    ----------
    table : NodeTable
        The nodes.
    cells : sequence of str
        The columns of the cells that the nodes compare, or one column with an array of them.
    sums : mapping of str to LeafSum
        The sums by the names of their columns.
    dialect : SqlDialect
        How the database walks through the nodes.
    """

    table: NodeTable
    cells: Sequence[str]
    sums: Mapping[str, LeafSum]
    dialect: SqlDialect

    @property
    def names(self) -> Sequence[str]:
        return list(self.sums)
