"""`NodeTable`: all trees of a forest as one table of splits and one of leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from foldwise.exports.trees.splits import SplitTree

CellOf = Callable[[SplitTree, int], tuple[int, float]]  # tree, split -> cell, threshold


@dataclass(frozen=True)
class LeafSum:
    """A sum over consecutive trees of one of the numbers that their leaves predict.

    Attributes
    ----------
    value : int
        The index of the number.
    first, last : int
        The indices of the first and the last tree.
    """

    value: int
    first: int
    last: int


@dataclass
class NodeTable:
    """The nodes of a forest.

    A child is the index of a split, or -1 - i for leaf i. Leaves that predict the same are one leaf.

    Attributes
    ----------
    cell, threshold : list
        For each split: a row goes to the left child if this cell is at most the threshold. No cell is missing.
    left, right : list of int
        The children of each split.
    roots : list of int
        Where each tree begins.
    leaves : list of tuple of float
        What each leaf predicts.
    depth : int
        The largest number of splits from a root to a leaf.
    """

    cell: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    leaves: list[tuple[float, ...]] = field(default_factory=list)
    depth: int = 0

    @classmethod
    def of(cls, trees: Sequence[SplitTree], cell_of: CellOf) -> NodeTable:
        """Number the nodes of all trees."""
        found = cls()
        known: dict[tuple[float, ...], int] = {}
        for tree in trees:
            splits = [i for i, child in enumerate(tree.left) if child >= 0]
            index = {i: len(found.cell) + position for position, i in enumerate(splits)}
            for i in tree.leaves():
                values = tuple(np.atleast_1d(tree.values[i]).tolist())
                index[i] = -1 - known.setdefault(values, len(known))
            for i in splits:
                cell, threshold = cell_of(tree, i)
                found.cell.append(cell)
                found.threshold.append(threshold)
                found.left.append(index[tree.left[i]])
                found.right.append(index[tree.right[i]])
            found.roots.append(index[0])
            found.depth = max(found.depth, depth_of(tree))
        found.leaves = list(known)
        return found

    def with_siblings(self) -> SiblingTable:
        """Number the nodes so that the right child of a split comes directly after the left one."""
        found = SiblingTable([], [], [], [], [])
        waiting = list(self.roots)  # splits and leaves, in the order of their new numbers
        found.roots.extend(range(len(waiting)))
        for number, node in enumerate(waiting):  # grows while it is read
            is_leaf = node < 0
            found.step.append(0 if is_leaf else len(waiting) - number)
            found.cell.append(-1 if is_leaf else self.cell[node])
            found.threshold.append(0.0 if is_leaf else self.threshold[node])
            found.leaf.append(-1 - node if is_leaf else 0)
            waiting += [] if is_leaf else [self.left[node], self.right[node]]
        return found


@dataclass
class SiblingTable:
    """The nodes of a forest, in which a split at index i has the children i + step and i + step + 1.

    Attributes
    ----------
    step : list of int
        How far after a split its left child comes; 0 for a leaf.
    cell, threshold : list
        A row goes to the left child if this cell is at most the threshold. The cell of a leaf is -1.
    leaf : list of int
        The index of a leaf among the leaves of the forest; 0 for a split.
    roots : list of int
        Where each tree begins.
    """

    step: list[int]
    cell: list[int]
    threshold: list[float]
    leaf: list[int]
    roots: list[int]


def depth_of(tree: SplitTree) -> int:
    """Return the largest number of splits from the root to a leaf."""
    deepest, pending = 0, [(0, 0)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        if tree.left[node] >= 0:
            pending += [(tree.left[node], depth + 1), (tree.right[node], depth + 1)]
    return deepest
