"""Questions about a table without a target: what occurs together, which columns vary together, what it looks like."""

from foldwise.unsupervised.associations.itemsets import FrequentItemsets, frequent_itemsets
from foldwise.unsupervised.associations.rule_list import AssociationRule, AssociationRules
from foldwise.unsupervised.associations.rules import association_rules
from foldwise.unsupervised.cluster_descriptions import describe_clusters
from foldwise.unsupervised.cluster_profiles import ClusterDescriptions, ClusterProfile, ColumnContrast
from foldwise.unsupervised.factors.find import find_factors
from foldwise.unsupervised.factors.result import Factors
from foldwise.unsupervised.lookalikes import CellDifference, SimilarRows, similar
from foldwise.unsupervised.maps.make import map_table
from foldwise.unsupervised.maps.result import TableMap
from foldwise.unsupervised.outliers.finding import find_outliers
from foldwise.unsupervised.outliers.result import Outlier, OutlierCell, Outliers
from foldwise.unsupervised.ranking import RowRanking, rank_rows

__all__ = [
    "AssociationRule",
    "AssociationRules",
    "CellDifference",
    "ClusterDescriptions",
    "ClusterProfile",
    "ColumnContrast",
    "Factors",
    "FrequentItemsets",
    "Outlier",
    "OutlierCell",
    "Outliers",
    "RowRanking",
    "SimilarRows",
    "TableMap",
    "association_rules",
    "describe_clusters",
    "find_factors",
    "find_outliers",
    "frequent_itemsets",
    "map_table",
    "rank_rows",
    "similar",
]
