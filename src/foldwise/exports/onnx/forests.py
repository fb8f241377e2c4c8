"""ONNX of trees and of the ensembles that add them up: the operator TreeEnsemble in double precision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.exports.onnx.columns import ColumnTensors
from foldwise.exports.onnx.graph import OnnxGraph, onnx_module
from foldwise.exports.onnx.outputs import ClassTensors
from foldwise.exports.trees.splits import SplitTree, sklearn_tree

AT_MOST, MEMBER = 0, 6  # modes of nodes
SUM = 1  # how trees are combined
NO_CODE = -2_000_000_000.0  # no category is encoded by it


class EnsembleWriter:
    """Collects trees for one node of the operator.

    Inner nodes and leaves of the operator are numbered separately. Every tree needs an inner node, so a tree of one
    leaf gets a node with two equal leaves.
    """

    def __init__(self) -> None:
        self.features: list[int] = []
        self.modes: list[int] = []
        self.splits: list[float] = []
        self.members: list[float] = []
        self.missing: list[int] = []
        self.children: tuple[list[int], list[int]] = [], []
        self.is_leaf: tuple[list[int], list[int]] = [], []
        self.targets: list[int] = []
        self.weights: list[float] = []
        self.roots: list[int] = []

    def add_tree(self, tree: SplitTree, target: int, values: Sequence[float]) -> None:
        """Add a tree that adds the value of its leaf to a target."""
        if tree.near_zero:
            raise InputError(
                "LightGBM with zero_as_missing=True cannot be exported to ONNX.", "fit it with zero_as_missing=False."
            )
        self.roots.append(len(self.features))
        if tree.left[0] < 0:
            leaf = self.add_leaf(target, values[0])
            self.add_node(0, AT_MOST, 0.0, False)
            for side in (0, 1):
                self.children[side].append(leaf)
                self.is_leaf[side].append(1)
            return
        inner = [i for i, child in enumerate(tree.left) if child >= 0]
        index = {i: len(self.features) + position for position, i in enumerate(inner)}
        for i in inner:
            values_left = tree.among.get(i)
            mode = AT_MOST if values_left is None else MEMBER
            self.add_node(tree.feature[i], mode, 0.0 if mode == MEMBER else tree.threshold[i], tree.missing_left[i])
            if values_left is not None:
                self.members += [*whole_numbers(values_left or [NO_CODE]), np.nan]
        for i in inner:
            for side, child in ((0, tree.left[i]), (1, tree.right[i])):
                is_leaf = tree.left[child] < 0
                self.children[side].append(self.add_leaf(target, values[child]) if is_leaf else index[child])
                self.is_leaf[side].append(int(is_leaf))

    def add_node(self, feature: int, mode: int, split: float, missing_left: bool) -> None:
        self.features.append(feature)
        self.modes.append(mode)
        self.splits.append(split)
        self.missing.append(int(missing_left))

    def add_leaf(self, target: int, value: float) -> int:
        self.targets.append(target)
        self.weights.append(float(value))
        return len(self.weights) - 1

    def write(self, cells: str, n_targets: int, graph: OnnxGraph) -> str:
        """Return the sums of all trees: a tensor of shape (rows, targets)."""
        if not self.roots:
            return graph.repeated(np.zeros(n_targets))
        as_tensor = onnx_module().numpy_helper.from_array
        given: dict[str, Any] = {}
        if self.members:
            given["membership_values"] = as_tensor(np.array(self.members), "members")
        return str(
            graph.add(
                "TreeEnsemble",
                cells,
                domain="ai.onnx.ml",
                aggregate_function=SUM,
                post_transform=0,
                n_targets=n_targets,
                nodes_featureids=self.features,
                nodes_modes=as_tensor(np.array(self.modes, dtype=np.uint8), "modes"),
                nodes_splits=as_tensor(np.array(self.splits, dtype=np.float64), "splits"),
                nodes_missing_value_tracks_true=self.missing,
                nodes_truenodeids=self.children[0],
                nodes_trueleafs=self.is_leaf[0],
                nodes_falsenodeids=self.children[1],
                nodes_falseleafs=self.is_leaf[1],
                leaf_targetids=self.targets,
                leaf_weights=as_tensor(np.array(self.weights, dtype=np.float64), "weights"),
                tree_roots=self.roots,
                **given,
            )
        )


def whole_numbers(values: Sequence[float]) -> Sequence[float]:
    """Refuse categories that the operator cannot look up."""
    if not all(value == int(value) and abs(value) < 2**31 for value in values):
        raise InputError(
            "categories of boosted trees that are not whole numbers cannot be exported to ONNX.",
            "encode them as 0, 1, … first.",
        )
    return values


def summed_values(cells: str, forests: Sequence[Iterable[SplitTree]], starts: Any, graph: OnnxGraph) -> str:
    """Add up leaf values, for one forest per score."""
    writer = EnsembleWriter()
    for k, forest in enumerate(forests):
        for tree in forest:
            writer.add_tree(tree, k, tree.values.tolist())
    sums = writer.write(cells, len(forests), graph)
    return str(graph.add("Add", sums, np.atleast_2d(np.asarray(starts, dtype=np.float64))))


def mean_shares(trees: Sequence[Any], table: ColumnTensors, graph: OnnxGraph) -> str:
    """Return the mean class frequencies of the leaves.

    A leaf of the operator has one value, so trees find the index of their leaf, which is looked up in one table.
    """
    writer, shares, n_leaves = EnsembleWriter(), [], 0
    for t, tree in enumerate(trees):
        read = sklearn_tree(tree, tree.value[:, 0])
        index = np.zeros(len(read.left))
        leaves = read.leaves()
        index[leaves] = n_leaves + np.arange(len(leaves))
        n_leaves += len(leaves)
        shares.append(read.values[leaves])
        writer.add_tree(read, t, index.tolist())
    found = writer.write(graph.matrix(table).tensor, len(trees), graph)
    rows = graph.add("Gather", np.concatenate(shares), graph.add("Cast", found, to=7))  # (rows, trees, classes)
    return str(graph.add("Div", graph.sum_of(rows, 1, keepdims=False), float(len(trees))))


def tree_classifier(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    return ClassTensors(model.classes_, mean_shares([model.tree_], table, graph))


def forest_classifier(model: Any, table: ColumnTensors, graph: OnnxGraph) -> ClassTensors:
    return ClassTensors(model.classes_, mean_shares([one.tree_ for one in model.estimators_], table, graph))


def tree_regressor(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    tree = sklearn_tree(model.tree_, model.tree_.value[:, 0, 0])
    return summed_values(graph.matrix(table).tensor, [[tree]], [0.0], graph)


def forest_regressor(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    trees = [sklearn_tree(one.tree_, one.tree_.value[:, 0, 0]) for one in model.estimators_]
    total = summed_values(graph.matrix(table).tensor, [trees], [0.0], graph)
    return str(graph.add("Div", total, float(len(trees))))


def boosted_regressor(model: Any, table: ColumnTensors, graph: OnnxGraph) -> str:
    if type(model.init_).__name__ != "DummyRegressor":
        raise InputError("GradientBoostingRegressor with init= cannot be exported to ONNX.", "fit it without init=.")
    start = float(np.ravel(model.init_.constant_)[0])
    found = (one.tree_ for one in model.estimators_[:, 0])
    trees = [sklearn_tree(tree, model.learning_rate * tree.value[:, 0, 0]) for tree in found]
    return summed_values(graph.matrix(table).tensor, [trees], [start], graph)
