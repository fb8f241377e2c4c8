"""Nearest neighbors for many training sets: lists among all rows, from which each set removes the other rows."""

from foldwise.adapters.nearest.distances import Distance, NumericTable, by_tree, is_known
from foldwise.adapters.nearest.split import DistanceLists, KNNBatch, KNNProblem, KNNSetting, NeighborSplit

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
