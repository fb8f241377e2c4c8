"""Nearest neighbours of one table for many training sets: lists found once, rows outside a split struck out."""

from foldwise.folds.nearest.measures import Cells, Measure, by_tree, is_known
from foldwise.folds.nearest.split import Asked, Measured, Plain, Problem, Split

__all__ = ["Asked", "Cells", "Measure", "Measured", "Plain", "Problem", "Split", "by_tree", "is_known"]
