"""Outliers: scores of cells and rows, p-values from their tails or from reference rows, and the reasons."""
