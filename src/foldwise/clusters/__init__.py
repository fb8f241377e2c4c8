"""Clusters: k-means, medoids, mixtures and dense regions."""

from foldwise.clusters.density import DensityClusters
from foldwise.clusters.kmeans import KMeans
from foldwise.clusters.medoids import KMedoids
from foldwise.clusters.mixtures import MixtureStudy, choose_mixture

__all__ = ["DensityClusters", "KMeans", "KMedoids", "MixtureStudy", "choose_mixture"]
