"""Indices of clusterings that need only centers: Calinski-Harabasz and Davies-Bouldin, as in scikit-learn."""

from __future__ import annotations

import numpy as np

from foldwise.arrays import Floats
from foldwise.clusters.assignment import ClusterLabels


def centroids(x: Floats, labels: ClusterLabels, k: int) -> tuple[Floats, Floats]:  # (k, d), (k,)
    """Return the mean and the number of rows of each cluster."""
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    sums = np.stack([np.bincount(labels, weights=column, minlength=k) for column in x.T], axis=1)
    return sums / np.maximum(sizes, 1.0)[:, None], sizes


def calinski_harabasz(x: Floats, labels: ClusterLabels, k: int) -> float:
    """Return the variance between clusters divided by that within clusters, each per degree of freedom."""
    means, sizes = centroids(x, labels, k)
    between = float(sizes @ ((means - x.mean(axis=0)) ** 2).sum(axis=1))
    within = float(((x - means[labels]) ** 2).sum())
    return 1.0 if within == 0.0 else between * (len(x) - k) / (within * (k - 1.0))


def davies_bouldin(x: Floats, labels: ClusterLabels, k: int) -> float:
    """Return the mean over clusters of the worst (spread a + spread b) / distance of the centers a and b."""
    means, sizes = centroids(x, labels, k)
    far = np.sqrt(((x - means[labels]) ** 2).sum(axis=1))
    spreads = np.bincount(labels, weights=far, minlength=k) / np.maximum(sizes, 1.0)
    apart = np.sqrt(((means[:, None] - means[None]) ** 2).sum(axis=2))
    if np.allclose(spreads, 0) or np.allclose(apart, 0):
        return 0.0
    apart[apart == 0] = np.inf
    return float(np.mean(np.max((spreads[:, None] + spreads[None]) / apart, axis=1)))
