"""`SplitTree`: the splits of one decision tree, with thresholds that compare doubles as the library compares its cells.

scikit-learn, XGBoost and CatBoost round cells to single precision first. Exports do not round them, so each threshold
is moved to the double that gives the same comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SplitTree:
    """The nodes of a tree; the first one is the root.

    Attributes
    ----------
    left, right : sequence of int
        The children of each node; -1 for a leaf.
    feature : sequence of int
        The feature that a node looks at.
    threshold : sequence of float
        A row goes to the left child if its cell is at most the threshold, which may be infinite.
    missing_left : sequence of bool
        Whether a row whose cell is missing goes to the left child.
    values : ndarray of shape (n_nodes,) or (n_nodes, n_classes)
        What a leaf predicts.
    among : mapping of int to sequence of float
        Nodes that look at a category, and the values with which a row goes to the left child instead.
    near_zero : frozenset of int
        Nodes for which a cell of 0 counts as missing.
    """

    left: Sequence[int]
    right: Sequence[int]
    feature: Sequence[int]
    threshold: Sequence[float]
    missing_left: Sequence[bool]
    values: NDArray[np.float64]
    among: Mapping[int, Sequence[float]] = field(default_factory=dict)
    near_zero: frozenset[int] = frozenset()

    @property
    def splits(self) -> tuple[Any, ...]:
        """Everything but the values."""
        return (
            *map(list, (self.left, self.right, self.feature, self.threshold, self.missing_left)),
            {i: list(values) for i, values in self.among.items()},
            self.near_zero,
        )

    def leaves(self) -> list[int]:
        return [i for i, child in enumerate(self.left) if child < 0]


@dataclass(frozen=True)
class BoostedTrees:
    """Trees whose leaf values are added up, one sequence of trees per score.

    Attributes
    ----------
    starts : sequence of float
        Where each sum begins.
    forests : sequence of iterable of SplitTree
        The trees of each score, in the order of the library.
    known : mapping of int to sequence of float
        Features that contain categories: cells with other values count as missing.
    """

    starts: Sequence[float]
    forests: Sequence[Iterable[SplitTree]]
    known: Mapping[int, Sequence[float]] = field(default_factory=dict)


def double_threshold(threshold: float) -> float:
    """Return the double t' with x ≤ t' for exactly the doubles x that a tree of single-precision cells sends to x ≤ t.

    A cell is rounded to the nearest float32, and to an even one if two are equally near.
    """
    with np.errstate(over="ignore"):
        low = np.float32(threshold)
    if float(low) > threshold:
        low = np.nextafter(low, np.float32(-np.inf))
    high = np.nextafter(low, np.float32(np.inf))
    if not np.isfinite(high):
        return float(np.finfo(np.float64).max)
    middle = (float(low) + float(high)) / 2
    is_even = not int(np.abs(low).view(np.int32)) & 1
    return middle if is_even else float(np.nextafter(middle, -np.inf))


def below_as_at_most(threshold: float) -> float:
    """Return the float32 t' with x ≤ t' for exactly the float32 x with x < t."""
    return float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))


def single_leaf(value: float | Sequence[float]) -> SplitTree:
    """Return a tree that predicts the same number, or the same numbers, for every row."""
    return SplitTree([-1], [-1], [0], [0.0], [False], np.array([value]))


def with_shared_splits(forests: Sequence[Sequence[SplitTree]]) -> list[SplitTree] | None:
    """Return several forests as one, whose leaves predict one number per forest; None if their splits differ.

    CatBoost asks the same questions for all classes.
    """
    if len({len(forest) for forest in forests}) != 1:
        return None
    found = []
    for first, *others in zip(*forests, strict=True):
        if any(other.splits != first.splits for other in others):
            return None
        values = np.column_stack([tree.values for tree in (first, *others)])
        found.append(replace(first, values=values))
    return found


def sklearn_tree(tree: Any, values: NDArray[np.float64]) -> SplitTree:
    """Read a tree of scikit-learn, whose cells are rounded to single precision."""
    missing: NDArray[Any] = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=bool))
    thresholds = [
        double_threshold(float(t)) if child >= 0 else 0.0
        for t, child in zip(tree.threshold, tree.children_left, strict=True)
    ]
    left, right, feature = (one.tolist() for one in (tree.children_left, tree.children_right, tree.feature))
    return SplitTree(left, right, feature, thresholds, missing.astype(bool).tolist(), values)
