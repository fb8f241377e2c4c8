"""Nearest neighbors of one table for many training sets: lists found once, rows outside a split struck out."""

from foldwise.folds.nearest.distances import Distance, NumericTable, by_tree, is_known
from foldwise.folds.nearest.split import DistanceLists, KNNBatch, KNNProblem, KNNSetting, NeighborSplit

__all__ = [
    "Distance",
    "DistanceLists",
    "KNNBatch",
    "KNNProblem",
    "KNNSetting",
    "NeighborSplit",
    "NumericTable",
    "by_tree",
    "is_known",
]
