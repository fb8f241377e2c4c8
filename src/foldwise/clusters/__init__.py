"""Clusters: k-means, medoids, mixtures and dense regions."""

from foldwise.clusters.choose_clusters import choose_clusters
from foldwise.clusters.density import DensityClusters
from foldwise.clusters.kmeans import KMeans
from foldwise.clusters.medoids import KMedoids
from foldwise.clusters.mixtures import MixtureStudy, choose_mixture
from foldwise.clusters.study import ClusterStudy

__all__ = ["ClusterStudy", "DensityClusters", "KMeans", "KMedoids", "MixtureStudy", "choose_clusters", "choose_mixture"]
