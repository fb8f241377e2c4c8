"""SQL of one decision tree: nested CASE expressions that lead each row to its leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foldwise.exports.sql.program import Feature, SqlProgram
from foldwise.exports.trees.splits import SplitTree

NEAR_ZERO = 1e-35  # cells up to this size are 0 for LightGBM


@dataclass(frozen=True)
class TreeNodes:
    """The nodes of a tree; the first one is the root.

    Attributes
    ----------
    left, right : sequence of int
        The children of each node; -1 for a leaf.
    goes_left : sequence of str
        The condition under which a row goes to the left child. A condition that is NULL means the right child.
    """

    left: Sequence[int]
    right: Sequence[int]
    goes_left: Sequence[str]

    def leaves(self) -> list[int]:
        return [i for i, child in enumerate(self.left) if child < 0]

    def case(self, leaf: Callable[[int], str], deepest: int, root: int = 0) -> tuple[str, list[int]]:
        """Write a tree from some node on, with what `leaf` says about the index of a leaf.

        A node that is `deepest` levels below the root is treated like a leaf; these nodes are returned, too.
        """
        parts: list[str] = []
        cut: list[int] = []
        pending: list[tuple[int | str, int]] = [(root, 0)]
        while pending:
            node, depth = pending.pop()
            if isinstance(node, str):
                parts.append(node)
            elif self.left[node] < 0 or depth == deepest:
                parts.append(leaf(node))
                cut += [node] if self.left[node] >= 0 else []
            else:
                parts.append(f"CASE WHEN {self.goes_left[node]} THEN ")
                pending += [(" END", 0), (self.right[node], depth + 1), (" ELSE ", 0), (self.left[node], depth + 1)]
        return "".join(parts), cut


def leaf_columns(trees: Sequence[TreeNodes], program: SqlProgram) -> list[str]:
    """Compute the index of the leaf of each tree; a deep tree takes several steps, each from some nodes downward."""
    deepest = program.dialect.deepest
    written = [tree.case(str, deepest) for tree in trees]
    columns = program.compute((text for text, _ in written), "leaf")
    cuts = {i: cut for i, (_, cut) in enumerate(written) if cut}
    while cuts:
        texts, later = [], {}
        for i, cut in cuts.items():
            below = [(node, *trees[i].case(str, deepest, node)) for node in cut]
            whens = " ".join(f"WHEN {columns[i]} = {node} THEN {text}" for node, text, _ in below)
            texts.append(f"CASE {whens} ELSE {columns[i]} END")
            later[i] = [node for _, _, more in below for node in more]
        for i, column in zip(cuts, program.compute(texts, "leaf"), strict=True):
            columns[i] = column
        cuts = {i: cut for i, cut in later.items() if cut}
    return columns


def at_most(feature: Feature, threshold: float, missing_left: bool, program: SqlProgram) -> str:
    """Compare a feature with a threshold: x ≤ t."""
    if feature.indicator:
        return of_indicator(feature, threshold >= 0.0, threshold >= 1.0, program)
    return with_missing(f"{feature.expression} <= {program.number(threshold)}", feature, missing_left)


def among(feature: Feature, values: Sequence[float], missing_left: bool, program: SqlProgram) -> str:
    """Test whether a feature is one of some values."""
    if not len(values):
        return f"{feature.expression} IS NULL" if missing_left and feature.nullable else "1 = 0"
    listed = ", ".join(map(program.number, values))
    return with_missing(f"{feature.as_value(program.dialect)} IN ({listed})", feature, missing_left)


def with_missing(condition: str, feature: Feature, missing_left: bool) -> str:
    return f"({condition} OR {feature.expression} IS NULL)" if missing_left and feature.nullable else condition


def of_indicator(feature: Feature, zero_left: bool, one_left: bool, program: SqlProgram) -> str:
    if zero_left == one_left:
        return "1 = 1" if zero_left else "1 = 0"
    condition = feature.is_level(program.dialect)
    return condition if one_left else f"NOT ({condition})"


def nodes_of(tree: SplitTree, features: Sequence[Feature], program: SqlProgram) -> TreeNodes:
    """Write the conditions of a tree."""
    tests = [test_of(tree, i, features, program) if child >= 0 else "" for i, child in enumerate(tree.left)]
    return TreeNodes(tree.left, tree.right, tests)


def test_of(tree: SplitTree, i: int, features: Sequence[Feature], program: SqlProgram) -> str:
    """Return the condition under which a row goes to the left child of a node."""
    feature, threshold, missing_left = features[tree.feature[i]], tree.threshold[i], tree.missing_left[i]
    if i in tree.among:
        return among(feature, tree.among[i], missing_left, program)
    if i in tree.near_zero:
        zero = (
            f"COALESCE(ABS({feature.as_value(program.dialect)}), {program.number(0.0)}) <= {program.number(NEAR_ZERO)}"
        )
        other = at_most(feature, threshold, False, program)
        return f"({zero} OR {other})" if missing_left else f"(NOT ({zero}) AND {other})"
    if np.isinf(threshold):  # splits missing from present cells
        return f"{feature.expression} IS NOT NULL" if not missing_left else "1 = 1"
    return at_most(feature, threshold, missing_left, program)
