"""SQL of scikit-learn's trees and of the ensembles that add them up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.sql.node_tables import is_large, summed_by_table
from foldwise.exports.sql.outputs import ClassOutput
from foldwise.exports.sql.program import Feature, Input, SqlProgram
from foldwise.exports.sql.trees import TreeNodes, leaf_columns, nodes_of
from foldwise.exports.trees.node_tables import LeafSum
from foldwise.exports.trees.splits import SplitTree, single_leaf, sklearn_tree, with_shared_splits

TREES_PER_STEP = 16


def tree_classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return ClassOutput(model.classes_, summed_shares([model.tree_], program.numbers(inputs), program))


def forest_classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    trees = [one.tree_ for one in model.estimators_]
    sums = summed_shares(trees, program.numbers(inputs), program)
    return ClassOutput(model.classes_, program.compute(f"{one} / {program.number(len(trees))}" for one in sums))


def summed_shares(trees: Sequence[Any], features: Sequence[Feature], program: SqlProgram) -> list[str]:
    """Add up the class shares of the leaves, tree after tree."""
    return summed_leaves([sklearn_tree(tree, tree.value[:, 0]) for tree in trees], features, program)


def summed_leaves(trees: Sequence[SplitTree], features: Sequence[Feature], program: SqlProgram) -> list[str]:
    """Add up trees whose leaves predict one number per class, tree after tree.

    In expressions, each tree is written once, as the index of its leaf; the numbers are looked up by that index.
    """
    n_classes = trees[0].values.shape[1]
    if is_large(trees, program):
        every = [LeafSum(k, 0, len(trees) - 1) for k in range(n_classes)]
        by_table = summed_by_table(trees, every, features, program)
        if by_table is not None:
            return by_table
    sums: list[str | None] = [None] * n_classes
    for start in range(0, len(trees), TREES_PER_STEP):
        some = trees[start : start + TREES_PER_STEP]
        nodes = [nodes_of(tree, features, program) for tree in some]
        leaves = leaf_columns(nodes, program)
        terms = [
            [
                share_of(leaf, one, tree.values[:, k].tolist(), program)
                for leaf, one, tree in zip(leaves, nodes, some, strict=True)
            ]
            for k in range(n_classes)
        ]
        sums = list(
            program.compute((" + ".join([*([s] if s else []), *t]) for s, t in zip(sums, terms, strict=True)), "s")
        )
    return [one for one in sums if one is not None]


def share_of(leaf: str, nodes: TreeNodes, values: Sequence[float], program: SqlProgram) -> str:
    """Look a value up by the index of the leaf; leaves of the most frequent value are not listed."""
    by_value: dict[float, list[int]] = {}
    for i in nodes.leaves():
        by_value.setdefault(float(values[i]), []).append(i)
    common = max(by_value, key=lambda value: len(by_value[value]))
    whens = " ".join(
        f"WHEN {leaf} IN ({', '.join(map(str, indices))}) THEN {program.number(value)}"
        for value, indices in by_value.items()
        if value != common
    )
    return f"CASE {whens} ELSE {program.number(common)} END" if whens else program.number(common)


def summed_values(
    forests: Sequence[Iterable[SplitTree]], starts: Sequence[float], features: Sequence[Feature], program: SqlProgram
) -> list[str]:
    """Add up the values of the leaves, tree after tree, for one forest per score."""
    read = [list(forest) for forest in forests]
    shared = with_shared_splits(read) if len(read) > 1 else None
    if shared is not None:
        return summed_leaves([single_leaf(starts), *shared], features, program)
    if is_large([tree for forest in read for tree in forest], program):
        started = [[single_leaf(start), *forest] for start, forest in zip(starts, read, strict=True)]
        ends = np.cumsum([len(forest) for forest in started]).tolist()
        sums = [LeafSum(0, end - len(forest), end - 1) for end, forest in zip(ends, started, strict=True)]
        by_table = summed_by_table([tree for forest in started for tree in forest], sums, features, program)
        if by_table is not None:
            return by_table
    totals = [program.number(start) for start in starts]
    for first in range(0, max(map(len, read)), TREES_PER_STEP):
        terms = [
            [total, *(value_case(tree, features, program) for tree in own[first : first + TREES_PER_STEP])]
            for total, own in zip(totals, read, strict=True)
        ]
        totals = program.compute((" + ".join(own) for own in terms), "s")
    return totals if all(map(str.isalnum, totals)) else program.compute(totals, "s")


def value_case(tree: SplitTree, features: Sequence[Feature], program: SqlProgram) -> str:
    """Write a tree with the values of its leaves. That of a deep tree is looked up by the index of its leaf."""
    nodes, values = nodes_of(tree, features, program), tree.values.tolist()
    text, cut = nodes.case(lambda i: program.number(float(values[i])), program.dialect.deepest)
    return share_of(leaf_columns([nodes], program)[0], nodes, values, program) if cut else text


def sklearn_values(trees: Iterable[Any], rate: float = 1.0) -> Iterable[SplitTree]:
    """Return each tree with its leaf values times a rate."""
    return (sklearn_tree(tree, rate * tree.value[:, 0, 0]) for tree in trees)


def tree_regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    return summed_values([sklearn_values([model.tree_])], [0.0], program.numbers(inputs), program)[0]


def forest_regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    trees = [one.tree_ for one in model.estimators_]
    (total,) = summed_values([sklearn_values(trees)], [0.0], program.numbers(inputs), program)
    return program.compute([f"{total} / {program.number(len(trees))}"])[0]


def boosted_regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    if type(model.init_).__name__ != "DummyRegressor":
        raise InputError("GradientBoostingRegressor with init= cannot be exported to SQL.", "fit it without init=.")
    start = float(np.ravel(model.init_.constant_)[0])
    trees = sklearn_values((one.tree_ for one in model.estimators_[:, 0]), model.learning_rate)
    return summed_values([trees], [start], program.numbers(inputs), program)[0]
