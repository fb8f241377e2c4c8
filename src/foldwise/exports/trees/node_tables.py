"""`NodeTable`: all trees of a forest as one table of splits and one of leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from foldwise.exports.trees.splits import SplitTree

CellOf = Callable[[SplitTree, int], tuple[int, float, bool]]  # tree, split -> cell, threshold, missing cells go left


@dataclass
class NodeTable:
    """The nodes of a forest.

    A child is the index of a split, or -1 - i for leaf i. Leaves that predict the same are one leaf.

    Attributes
    ----------
    cell, threshold, missing_left : list
        For each split: a row goes to the left child if this cell is at most the threshold, or if it is missing and
        missing cells go left.
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
    missing_left: list[int] = field(default_factory=list)
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
                cell, threshold, missing_left = cell_of(tree, i)
                found.cell.append(cell)
                found.threshold.append(threshold)
                found.missing_left.append(int(missing_left))
                found.left.append(index[tree.left[i]])
                found.right.append(index[tree.right[i]])
            found.roots.append(index[0])
            found.depth = max(found.depth, depth_of(tree))
        found.leaves = list(known)
        return found


def depth_of(tree: SplitTree) -> int:
    """Return the largest number of splits from the root to a leaf."""
    deepest, pending = 0, [(0, 0)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        if tree.left[node] >= 0:
            pending += [(tree.left[node], depth + 1), (tree.right[node], depth + 1)]
    return deepest
