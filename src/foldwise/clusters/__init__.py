"""Clusters: k-means for complete and incomplete tables."""

from foldwise.clusters.kmeans import KMeans

__all__ = ["KMeans"]
